"""The characters of a YAML file before any YAML: encoding, byte order mark, control characters, tabs.

Pure. It must not interpret the YAML; for tabs it is told which spans are scalars. What it reports it also
replaces by a harmless character of the same width, so that the parser can go on and find the rest.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from gate.errors import BundleError, Problem

_BOM = "\ufeff"
# Also what PyYAML calls unprintable, what some readers take for a line break, and the overrides that show a
# reviewer another order of characters than the one that is compiled.
_FORBIDDEN = re.compile(
    "(?:\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff])+"
)
CONTROL_IN_VALUE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters that an escape may not put into a value; tab, line feed and carriage return may be."""

MAX_YAML_BYTES = 8 * 1_048_576
"""Size limit of one governed document in bytes: a catalog of 10,000 capabilities has five million."""


@dataclass(slots=True)
class Spans:
    """Where the scalars of a text stand, as [start, end) offsets in the order of the text."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    quoted: list[bool] = field(default_factory=list)

    def add(self, start: int, end: int, *, quoted: bool) -> None:
        """Note a scalar; `quoted` is true for '…' and "…" only."""
        self.starts.append(start)
        self.ends.append(end)
        self.quoted.append(quoted)

    def at(self, offset: int) -> bool | None:
        """None outside every scalar, else whether the scalar at `offset` is quoted."""
        index = bisect_right(self.starts, offset) - 1
        return self.quoted[index] if index >= 0 and offset < self.ends[index] else None


class Lines:
    """Finds the line and column of an offset without counting from the top each time."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        """1-based line and column of `offset`."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def decode(source: str | bytes, file: str) -> str:
    """`source` as text. Raises `BundleError` when it is too large or not UTF-8: the rest cannot be judged."""
    try:
        raw = source.encode("utf-8") if isinstance(source, str) else source
        if len(raw) > MAX_YAML_BYTES:
            message = f"the document is over {MAX_YAML_BYTES} bytes"
            raise BundleError([Problem(file, 1, 1, "yaml_too_large", message)])
        return source if isinstance(source, str) else source.decode("utf-8")
    except UnicodeDecodeError as exc:
        before = exc.object[: exc.start].decode("utf-8")
        raise BundleError([_not_utf8(file, *Lines(before).at(len(before)))]) from exc
    except UnicodeEncodeError as exc:
        raise BundleError([_not_utf8(file, *Lines(exc.object).at(exc.start))]) from exc


def _not_utf8(file: str, line: int, column: int) -> Problem:
    return Problem(file, line, column, "yaml_not_utf8", "the document is not UTF-8", "save it as UTF-8")


def without_forbidden(text: str, file: str) -> tuple[str, list[Problem]]:
    """`text` with a placeholder for each character that has no place in a document, and the problems."""
    problems: list[Problem] = []
    if text.startswith(_BOM):
        message = "the document starts with a byte order mark"
        problems.append(Problem(file, 1, 1, "yaml_bom", message, "save it as UTF-8 without BOM"))
        text = text[1:]
    lines = Lines(text)
    for run in _FORBIDDEN.finditer(text):
        character = run[0][0]
        code = "yaml_bom" if character == _BOM else "yaml_control_character"
        message = f"a character U+{ord(character):04X} has no place in a document"
        problems.append(Problem(file, *lines.at(run.start()), code, message, "remove it"))
    if problems:
        text = _FORBIDDEN.sub(lambda run: "x" * len(run[0]), text)
    return text, problems


def tabs_outside_quotes(text: str, spans: Spans, end: int) -> list[int]:
    """Offsets before `end` of the tabs that stand neither in a quoted scalar nor in a comment."""
    found: list[int] = []
    line_start = 0
    while (tab := text.find("\t", line_start, end)) >= 0:
        line_start = text.rfind("\n", line_start, tab) + 1 or line_start
        line_end = text.find("\n", tab)
        line_end = end if line_end < 0 else min(line_end, end)
        comment = _comment_start(text, line_start, line_end, spans)
        for offset in range(tab, comment):
            if text[offset] == "\t" and not spans.at(offset):
                found.append(offset)
        line_start = line_end
    return found


def _comment_start(text: str, line_start: int, line_end: int, spans: Spans) -> int:
    at = line_start - 1
    while (at := text.find("#", at + 1, line_end)) >= 0:
        if (at == line_start or text[at - 1] in " \t\n") and spans.at(at) is None:
            return at
    return line_end
