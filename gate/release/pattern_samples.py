"""Texts that a pattern of `matches` finds something in: one for each way through its alternatives.

Pure. Reads the pattern language of `gate.compiler.predicate`; a text it makes is kept only when the pattern finds it.
"""

from __future__ import annotations

import itertools
import re

_MOST = 16
_ESCAPED = {"d": "0", "D": "x", "w": "a", "W": " ", "s": " ", "S": "x", "t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def samples(pattern: str) -> tuple[str, ...]:
    """At most 16 texts that `pattern` matches; none when it is not in the language."""
    try:
        made = _Sampler(pattern).alternation()
        compiled = re.compile(pattern)
    except (IndexError, ValueError, re.error):
        return ()
    return tuple(text for text in dict.fromkeys(made) if compiled.search(text))[:_MOST]


class _Sampler:
    """Recursive descent; each method reads one construct and returns texts for it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def alternation(self) -> list[str]:
        found = self._sequence()
        while self._peek() == "|":
            self._at += 1
            found += self._sequence()
        return found[:_MOST]

    def _sequence(self) -> list[str]:
        made = [""]
        while self._peek() not in ("", "|", ")"):
            parts = self._repeated(self._atom())
            made = ["".join(pair) for pair in itertools.islice(itertools.product(made, parts), _MOST)]
        return made

    def _atom(self) -> list[str]:
        character = self._next()
        match character:
            case "(":
                if self._text.startswith("?:", self._at):
                    self._at += 2
                inner = self.alternation()
                self._at += 1
                return inner
            case "[":
                return [self._class()]
            case "\\":
                escaped = self._next()
                return [""] if escaped in "bB" else [_ESCAPED.get(escaped, escaped)]
            case "^" | "$":
                return [""]
            case ".":
                return ["x"]
        return [character]

    def _class(self) -> str:
        negated = self._peek() == "^"
        start = self._at
        self._at += 1  # what stands first is never the end
        while self._peek() != "]":
            self._at += 2 if self._peek() == "\\" else 1
            if self._at > len(self._text):
                raise ValueError(self._text)
        self._at += 1
        body = self._text[start : self._at]
        compiled = re.compile("[" + body)
        wanted = (chr(code) for code in (*range(0x61, 0x7B), *range(0x20, 0x7F)) if compiled.match(chr(code)))
        if negated:
            return next(wanted)
        first = body[1] if body[0] == "\\" else body[0]
        return first if compiled.match(first) else next(wanted)

    def _repeated(self, parts: list[str]) -> list[str]:
        count = re.match(r"\{(\d+)(,\d*)?\}", self._text[self._at :])
        if count:
            self._at += count.end()
            parts = [part * int(count[1]) for part in parts]
        elif self._peek() in ("*", "?"):
            self._at += 1
            parts = ["", *parts]
        elif self._peek() == "+":
            self._at += 1
        else:
            return parts
        if self._peek() == "?":
            self._at += 1
        return parts

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._text[self._at]
        self._at += 1
        return character
