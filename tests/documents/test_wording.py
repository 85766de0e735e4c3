"""How a user's word appears in a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.documents.wording import did_you_mean, listed, quoted


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("plain", "`plain`"),
        ("", "``"),
        ("two words", "`two words`"),
        ("Zoë", "`Zoë`"),
        ("a\nb\x1b[0m", r"`a\nb\x1b[0m`"),
        ("r\u200bm", r"`r\u200bm`"),
        ("\ud800", r"`\ud800`"),
        ("x" * 200, "`" + "x" * 79 + "…`"),
        (7, "`7`"),
    ],
)
def test_word_is_shown_between_backticks_and_escaped(word: object, shown: str) -> None:
    assert quoted(word) == shown


@given(st.text())
def test_any_word_stays_on_one_printable_line(word: str) -> None:
    assert quoted(word).isprintable()


def test_words_are_listed_in_their_order() -> None:
    assert listed(["b", "a", 1]) == "`b`, `a`, `1`"


@pytest.mark.parametrize(
    ("word", "hint"),
    [("alow", "did you mean `allow`?"), ("zzz", ""), (3, ""), (None, ""), ("a" * 10_000, "")],
)
def test_near_word_is_suggested_and_only_then(word: object, hint: str) -> None:
    assert did_you_mean(word, ["allow", "deny"]) == hint
