from __future__ import annotations

import pytest

from gate.documents import look_alikes, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # A letter of another script in a Latin word, and a whole word of such letters.
        ("p\u0430ypal", "p\\u0430ypal"),
        ("\u0440\u0430\u0443\u0440\u0430l.com", "\\u0440\\u0430\\u0443\\u0440\\u0430l.com"),
        ("\u0441\u043e\u0440", "\\u0441\\u043e\\u0440"),
        ("\u03a9mega", "\\u03a9mega"),
        # Latin letters and signs that pass for ASCII ones.
        ("\u0251lice", "\\u0251lice"),
        ("\uff50aypal", "\\uff50aypal"),
        ("a\u2215b", "a\\u2215b"),
        ("a\u2024b", "a\\u2024b"),
        # Honest words stay readable.
        ("paypal.com/a", "paypal.com/a"),
        ("Gr\u00f6\u00dfe, Jos\u00e9", "Gr\u00f6\u00dfe, Jos\u00e9"),
        (
            "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440",
            "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440",
        ),
        ("\u0395\u03bb\u03bb\u03ac\u03b4\u03b1", "\u0395\u03bb\u03bb\u03ac\u03b4\u03b1"),
        ("\u65e5\u672c\u8a9e\u30c6\u30ad\u30b9\u30c8", "\u65e5\u672c\u8a9e\u30c6\u30ad\u30b9\u30c8"),
    ],
)
def test_visible_text_shows_what_passes_for_something_else(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_look_alikes_are_places_in_the_text() -> None:
    assert look_alikes("ok p\u0430y a\u2215b") == frozenset({4, 8})
    assert look_alikes("plain") == frozenset()
