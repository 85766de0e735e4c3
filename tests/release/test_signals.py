"""Signals of an operator: what is understood, and the texts for what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.errors import EXIT_USAGE
from gate.release.signals import SignalError, all_signals, checked_signals, parsed_signal, signals_in


@pytest.mark.parametrize("word", ["1", "true", "yes", "on", "TRUE", " Yes "])
def test_word_for_true_is_true(word: str) -> None:
    assert parsed_signal(f" a_signal ={word}") == ("a_signal", True)


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "False"])
def test_word_for_false_is_false(word: str) -> None:
    assert parsed_signal(f"a_signal={word}") == ("a_signal", False)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (17, "Signal must be a string"),
        (None, "Signal must be a string"),
        ("a_signal", "Signal must use key=value format: 'a_signal'"),
        ("", "Signal must use key=value format: ''"),
        ("=true", "Signal key must not be empty: '=true'"),
        ("  =true", "Signal key must not be empty: '  =true'"),
        ("a=", "Unsupported boolean value in signal: 'a='"),
        ("a=maybe", "Unsupported boolean value in signal: 'a=maybe'"),
        ("a=true=true", "Unsupported boolean value in signal: 'a=true=true'"),
    ],
)
def test_signal_that_cannot_be_understood_is_refused_in_the_known_words(raw: Any, text: str) -> None:
    with pytest.raises(SignalError) as caught:
        parsed_signal(raw)
    assert (caught.value.message, caught.value.exit_code) == (text, EXIT_USAGE)


@pytest.mark.parametrize(
    ("signals", "text"),
    [
        ([], "Assessment signals must be a mapping"),
        (None, "Assessment signals must be a mapping"),
        ({17: True}, "Assessment signal key must be a string"),
        ({" ": True}, "Assessment signal key must not be empty"),
        ({"a": True, " a": True}, "Assessment signal keys must be unique"),
        ({"a": 1}, "Assessment signal value must be a boolean: a"),
        ({"a": "true"}, "Assessment signal value must be a boolean: a"),
        ({"a": None}, "Assessment signal value must be a boolean: a"),
    ],
)
def test_signals_that_are_no_truths_are_refused_in_the_known_words(signals: Any, text: str) -> None:
    with pytest.raises(SignalError) as caught:
        checked_signals(signals)
    assert caught.value.message == text


def test_signals_are_kept_without_outer_space() -> None:
    assert checked_signals({" a ": True, "b": False}) == {"a": True, "b": False}


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("- a\n", "Assessment signals must be a mapping", 1),
        ("", "Assessment signals must be a mapping", 1),
        ("a: true\n17: true\n", "Assessment signal key must be a string", 2),
        ("a: true\nb: true\na: true\n", "Assessment signal keys must be unique", 3),
        ("a: yes\n", "the signals cannot be read: `yes` is not quoted and would be read as the boolean true", 1),
    ],
)
def test_file_of_signals_that_cannot_be_read_names_the_place(tmp_path: Path, text: str, said: str, line: int) -> None:
    path = tmp_path / "signals.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SignalError) as caught:
        signals_in(path)
    assert caught.value.message == said
    assert f"{path}:{line}:" in caught.value.hint


def test_file_of_signals_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SignalError, match="the file cannot be read"):
        signals_in(tmp_path / "nothing.yaml")


def test_single_signal_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "signals.yaml"
    path.write_text("a: true\nb: true\n", encoding="utf-8")
    assert all_signals(path, ["b=no", "c=yes"]) == {"a": True, "b": False, "c": True}
    assert all_signals(None, []) == {}


def test_signal_given_twice_is_refused() -> None:
    with pytest.raises(SignalError, match="Assessment signal keys must be unique"):
        all_signals(None, ["a=yes", "a=no"])
