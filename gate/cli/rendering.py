"""What people and programs are shown: JSON documents, aligned fields, tables, and text that cannot disguise itself.

Writes to stdout and stderr and does nothing else. Nothing here decides what is shown, only how.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

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
# Enough spaces to push the end of a value to where the eye takes it for a line of its own.
_GAP = re.compile(" {3,}")


def visible(text: str) -> str:
    """`text` with every character escaped as `\\uXXXX` that would be hidden, reorder others or move the cursor.

    Where one text runs in both directions, its right-to-left characters are escaped too: they move their neighbours.
    """
    if text.isascii() and text.isprintable():
        return text
    directions = {unicodedata.bidirectional(char) for char in text}
    mixed = bool(directions & _RIGHT_TO_LEFT) and bool(directions & _LEFT_TO_RIGHT)
    return "".join(char if _shown(char, mixed) else _escaped(char) for char in text)


def _shown(char: str, mixed: bool) -> bool:
    return (
        char.isprintable()
        and char not in _HIDDEN
        and unicodedata.combining(char) != _OVERLAY
        and not (mixed and unicodedata.bidirectional(char) in _RIGHT_TO_LEFT)
    )


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def quoted(value: Any) -> str:
    """`value` as JSON on one line that `visible` has been over: two different values never look the same."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _GAP.sub(lambda gap: _escaped(" ") * len(gap.group()), visible(text))


def cell(value: str | None) -> str:
    """A word for a table: as it is when it is plain, quoted when it is not, `-` when there is none."""
    if value is None:
        return "-"
    shown = quoted(value)
    return value if shown == f'"{value}"' and value.strip() == value and value not in ("", "-") else shown


def emit_json(document: Any) -> None:
    """The one document of a command's JSON output."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False))


def emit_fields(fields: Iterable[tuple[str, str]], *, indent: str = "") -> None:
    """One `name  value` a line, values aligned; the values have been made safe to show."""
    pairs = list(fields)
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        click.echo(f"{indent}{name.ljust(width)}  {value}".rstrip())


def emit_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on a terminal; elsewhere one tab-separated line a row under a line of names."""
    if not sys.stdout.isatty():
        click.echo("\t".join(columns))
        for row in rows:
            click.echo("\t".join(row))
        return
    table = Table(*columns)
    for row in rows:
        table.add_row(*(Text(word, overflow="fold") for word in row))
    Console().print(table)


def note(text: str) -> None:
    """A remark on stderr that is neither result nor error."""
    click.echo(f"note: {visible(text)}", err=True)


def timestamp(at_ms: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC, whole seconds; the bare number when no calendar has it."""
    try:
        return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return str(at_ms)
