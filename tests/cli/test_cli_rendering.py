from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.cli.rendering import cell, emit_table, quoted, timestamp
from gate.documents import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Opening hours", "Opening hours"),
        ("Größe, 票", "Größe, 票"),
        ("תקלה בחשבון", "תקלה בחשבון"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("pay\u200b100", "pay\\u200b100"),
        ("a\u00a0b", "a\\u00a0b"),
        ("a\u3164b", "a\\u3164b"),
        ("a\ufe0fb", "a\\ufe0fb"),
        ("1\u0338", "1\\u0338"),
        ("a\x1b[31mb\r\n\tc", "a\\u001b[31mb\\u000d\\u000a\\u0009c"),
        ("a\U000e0041", "a\\udb40\\udc41"),
        ("\ud800", "\\ud800"),
        ("from 1 א to 2", "from 1 \\u05d0 to 2"),
    ],
)
def test_visible_text_hides_nothing(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_visible_text_is_printable_whatever_it_was(text: str) -> None:
    assert visible(text).isprintable()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_quoted_value_is_one_line_of_json_that_means_the_value(value: object) -> None:
    shown = quoted(value)
    assert shown.isprintable()
    assert json.loads(shown) == value


def test_quoted_run_of_spaces_is_counted() -> None:
    assert quoted("ok    x  y") == '"ok\\u0020\\u0020\\u0020\\u0020x  y"'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        ("user-42", "user-42"),
        ("-", '"-"'),
        ("", '""'),
        (" a", '" a"'),
        ("a\tb", '"a\\tb"'),
        ("a\\u202eb", '"a\\\\u202eb"'),
        ("a\u202eb", '"a\\u202eb"'),
    ],
)
def test_cell_tells_different_words_apart(value: str | None, shown: str) -> None:
    assert cell(value) == shown


@pytest.mark.parametrize(
    ("at_ms", "shown"), [(0, "1970-01-01T00:00:00Z"), (1775560000999, "2026-04-07T11:06:40Z"), (10**18, str(10**18))]
)
def test_timestamp_is_rfc_3339_where_there_is_a_calendar(at_ms: int, shown: str) -> None:
    assert timestamp(at_ms) == shown


def test_table_on_a_terminal_too_narrow_for_one_is_lines_that_lose_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    emit_table(("version", "revision", "approver"), [("1.0", "b@1.0", "ana")])
    assert capsys.readouterr().out == "version\trevision\tapprover\n1.0\tb@1.0\tana\n"
