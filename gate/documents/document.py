"""A governed document as plain values, with the line and column every value and key came from.

Pure: it holds what `gate.documents.yaml_source` read and must not read files or judge values itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gate.errors import Problem


@dataclass(slots=True, kw_only=True)
class Place:
    """Where one value stands, and where what is inside it stands. All numbers are 1-based."""

    line: int
    column: int
    key_line: int
    """Line of the key that names the value; the value's own line when nothing names it."""
    key_column: int
    # A tree, not a table of pointers: a long key would be copied into the pointer of everything below it.
    children: dict[str, Place] = field(default_factory=dict)
    """By key, or by index written in decimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One governed document that strict YAML accepted. No schema has been applied to it yet."""

    file: str
    """The path as the user gave it: what every problem of this document is filed under."""
    value: dict[str, Any] = field(repr=False)
    """The root mapping: str, int, float, bool, None, dict with string keys, and list only."""
    root: Place = field(repr=False, compare=False)

    def position(self, pointer: str, *, key: bool = False) -> tuple[int, int]:
        """1-based (line, column) of the value at the RFC 6901 `pointer`, or of its key when `key` is true.

        A pointer to something that is not there gives the position of its nearest ancestor that is.
        """
        place = self.root
        for token in tokens_of(pointer):
            child = place.children.get(token)
            if child is None:
                break
            place = child
        return (place.key_line, place.key_column) if key else (place.line, place.column)

    def problem(self, pointer: str, code: str, message: str, hint: str = "", key: bool = False) -> Problem:
        """A `Problem` of this document at `pointer`; `key` puts it on the key instead of the value."""
        line, column = self.position(pointer, key=key)
        return Problem(self.file, line, column, code, message, hint)


def tokens_of(pointer: str) -> list[str]:
    """The tokens of an RFC 6901 JSON pointer; the inverse of `pointer_of`."""
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def pointer_of(*tokens: str | int) -> str:
    """The RFC 6901 JSON pointer made of `tokens`; none gives the whole document, an empty string."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)
