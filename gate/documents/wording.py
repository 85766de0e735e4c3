"""How a user's word is shown inside a message: between backticks, on one line, never raw control characters.

Pure. It must not decide what is wrong with the word; the callers do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 80


def quoted(word: object) -> str:
    """`word` between backticks; what a terminal would not print becomes its escape, long text is cut."""
    text = str(word)
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown)
    return f"`{shown}`"


def listed(words: Iterable[object]) -> str:
    """The words in their order, each between backticks, separated by commas."""
    return ", ".join(quoted(word) for word in words)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A hint that names the one known word nearest to `word`, or an empty string when none is near."""
    if not isinstance(word, str) or len(word) > _LONGEST:
        return ""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {quoted(near[0])}?" if near else ""
