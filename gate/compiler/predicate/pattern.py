"""The patterns of `matches`: the part of RE2's syntax that OPA, rego-cpp and a reader understand alike.

Pure. Literals, `.`, `^`, `$`, `|`, `( )`, `(?: )`, classes, the escapes below, and the quantifiers `* + ? {m} {m,}
{m,n}`, each greedy or lazy. Everything else is refused with its offset: flags and Unicode classes mean other things
elsewhere, and look-around and back-references do not exist in RE2. Written here because RE2's own binding cannot be
loaded beside rego-cpp: the two disagree over who frees memory, and every evaluation then leaks (seen on google-re2
1.1 with regopy 1.5.2).
"""

from __future__ import annotations

import re

from gate.errors import GateError

MAX_REPEAT = 1000
"""RE2's limit of one repetition, and of nested ones multiplied."""

_ESCAPES = frozenset("dDwWsSbBtnrf")
_CLASS_ESCAPES = frozenset("dDwWsStnrf")
_META = frozenset(r"\.+*?()|[]{}^$/-")
_COUNT = re.compile(r"\{(\d{1,4})(,(\d{1,4})?)?\}")


class PatternError(GateError):
    """A pattern outside the common syntax; `offset` is the 0-based character it is about."""

    code = "pattern_invalid"

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def check_pattern(pattern: str) -> None:
    """Raises `PatternError` unless every engine reads `pattern` alike."""
    for offset, character in enumerate(pattern):
        if not " " <= character <= "~":
            raise PatternError("a pattern is printable ASCII; spell a control character as an escape", offset)
    reader = _Reader(pattern)
    reader.alternation(0)
    if reader.at < len(pattern):
        raise PatternError("`)` closes nothing", reader.at)


class _Reader:
    """Recursive descent; each method reads one construct and returns the greatest repetition inside it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def alternation(self, depth: int) -> int:
        if depth > 20:
            raise PatternError("groups are nested over 20 deep", self.at)
        repeat = self._sequence(depth)
        while self._peek() == "|":
            self.at += 1
            repeat = max(repeat, self._sequence(depth))
        return repeat

    def _sequence(self, depth: int) -> int:
        greatest = 1
        while self._peek() not in {"", "|", ")"}:
            inner, repeatable = self._atom(depth)
            greatest = max(greatest, self._quantified(inner, repeatable))
        return greatest

    def _atom(self, depth: int) -> tuple[int, bool]:
        start, character = self.at, self._peek()
        self.at += 1
        match character:
            case "(":
                return self._group(start, depth), True
            case "[":
                self._class(start)
                return 1, True
            case "\\":
                escaped = self._escape(start, _ESCAPES)
                return 1, escaped not in "bB"
            case "^" | "$":
                return 1, False
            case "*" | "+" | "?" | "{":
                raise PatternError(f"`{character}` repeats nothing", start)
            case "]" | "}":
                raise PatternError(f"write `\\{character}` for the character itself", start)
        return 1, True

    def _group(self, start: int, depth: int) -> int:
        if self._peek() == "?":
            if self._text[self.at : self.at + 2] != "?:":
                raise PatternError("flags, names and look-around are read differently; only `(?:` is taken", start)
            self.at += 2
        inner = self.alternation(depth + 1)
        if self._peek() != ")":
            raise PatternError("`(` is not closed", start)
        self.at += 1
        return inner

    def _class(self, start: int) -> None:
        if self._peek() == "^":
            self.at += 1
        empty = True
        while self._peek() != "]":
            low = self._class_part(start)
            empty = False
            if self._peek() == "-" and self._text[self.at + 1 : self.at + 2] != "]":
                self.at += 1
                high = self._class_part(start)
                if low is None or high is None or low > high:
                    raise PatternError("a range runs from a lower to a higher character", start)
        if empty:
            raise PatternError("a class is empty", start)
        self.at += 1

    def _class_part(self, start: int) -> str | None:
        """One character of a class; None for an escape that stands for many."""
        character = self._peek()
        if character == "":
            raise PatternError("`[` is not closed", start)
        self.at += 1
        if character == "[":
            raise PatternError("write `\\[` inside a class", self.at - 1)
        if character == "\\":
            escaped = self._escape(self.at - 1, _CLASS_ESCAPES)
            return None if escaped in _CLASS_ESCAPES else escaped
        return character

    def _escape(self, start: int, known: frozenset[str]) -> str:
        character = self._peek()
        if character == "" or character not in known | _META:
            raise PatternError(f"`\\{character}` is not an escape both engines know", start)
        self.at += 1
        return character

    def _quantified(self, inner: int, repeatable: bool) -> int:
        start, character = self.at, self._peek()
        count = _COUNT.match(self._text, self.at)
        if character not in {"*", "+", "?"} and count is None:
            return inner
        if not repeatable:
            raise PatternError(f"`{character}` repeats nothing", start)
        self.at = self.at + 1 if count is None else count.end()
        if self._peek() == "?":
            self.at += 1
        if self._peek() in {"*", "+", "?"} or _COUNT.match(self._text, self.at):
            raise PatternError("a repetition is repeated", self.at)
        return inner if count is None else self._counted(count, inner, start)

    def _counted(self, count: re.Match[str], inner: int, start: int) -> int:
        low, high = int(count[1]), int(count[3] or count[1])
        if low > high:
            raise PatternError("a repetition runs from less to more", start)
        if max(high, 1) * inner > MAX_REPEAT:
            raise PatternError(f"repetitions multiply to over {MAX_REPEAT}", start)
        return max(high, 1) * inner

    def _peek(self) -> str:
        return self._text[self.at : self.at + 1]
