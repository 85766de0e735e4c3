"""Text that cannot disguise itself: what a person reads is what the bytes say.

Pure. Changes nothing that is decided, digested or run; it is for eyes only.
"""

from __future__ import annotations

import functools
import re
import unicodedata

# Printable by category and yet nothing to see: fillers, variation selectors, the blank Braille pattern.
_HIDDEN = frozenset(
    chr(code)
    for first, last in (
        *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800)),
        *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF)),
    )
    for code in range(first, last + 1)
)
_OVERLAY = 1
"""Canonical combining class of marks that are drawn across the letter before them."""
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
_LEFT_TO_RIGHT = frozenset({"L", "EN"})
_WORD = re.compile(r"[^\W\d_]+")
_EAST_ASIAN = frozenset({"HAN", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
"""Scripts that are written in one word."""


def visible(text: str) -> str:
    """`text` with every character escaped as `\\uXXXX` that would be hidden, reorder others or move the cursor.

    Where one text runs in both directions, its right-to-left characters are escaped too: they move their neighbours.
    """
    if text.isascii() and text.isprintable():
        return text
    directions = {unicodedata.bidirectional(char) for char in text}
    mixed = bool(directions & _RIGHT_TO_LEFT) and bool(directions & _LEFT_TO_RIGHT)
    disguised = look_alikes(text)
    return "".join(
        char if _shown(char, mixed) and place not in disguised else escaped(char) for place, char in enumerate(text)
    )


def look_alikes(text: str) -> frozenset[int]:
    """The places in `text` at which a character passes for another one: a Cyrillic letter in a Latin word, a slash."""
    if text.isascii():
        return frozenset()
    found = {place for place, char in enumerate(text) if not char.isascii() and not _word(char) and _like_ascii(char)}
    for match in _WORD.finditer(text):
        found |= {match.start() + place for place in _disguised(match.group())}
    return frozenset(found)


def _disguised(word: str) -> set[int]:
    scripts = {place: _script(char) for place, char in enumerate(word)}
    foreign = {place for place, script in scripts.items() if script not in ("LATIN", "COMMON", "INHERITED")}
    disguised = {
        p for p, script in scripts.items() if script == "LATIN" and not word[p].isascii() and _like_ascii(word[p])
    }
    if len({scripts[place] for place in foreign} - _EAST_ASIAN) > 1 or (
        foreign and "LATIN" in scripts.values() and not {scripts[place] for place in foreign} <= _EAST_ASIAN
    ):
        return disguised | foreign
    if foreign and all(_like_ascii(word[place]) for place in foreign):
        return disguised | foreign
    return disguised


def _word(char: str) -> bool:
    return unicodedata.category(char)[0] in "LM"


@functools.lru_cache(maxsize=4096)
def _like_ascii(char: str) -> bool:
    # Its table is large and most texts need none of it.
    from confusable_homoglyphs import confusables

    found = confusables.is_confusable(char, greedy=True) or []
    likes = [like["c"] for one in found for like in one["homoglyphs"]]
    return any(len(like) == 1 and like.isascii() for like in [*likes, unicodedata.normalize("NFKC", char)])


@functools.lru_cache(maxsize=4096)
def _script(char: str) -> str:
    from confusable_homoglyphs import categories

    return str(categories.alias(char))


def _shown(char: str, mixed: bool) -> bool:
    return (
        char.isprintable()
        and char not in _HIDDEN
        and unicodedata.combining(char) != _OVERLAY
        and not (mixed and unicodedata.bidirectional(char) in _RIGHT_TO_LEFT)
    )


def escaped(char: str) -> str:
    """`char` as `\\uXXXX`, twice outside the basic plane."""
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
