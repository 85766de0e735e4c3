"""What people and programs are shown: JSON documents, aligned fields, tables, and text that cannot disguise itself.

Writes to stdout and stderr and does nothing else. Nothing here decides what is shown, only how.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gate.documents import escaped, visible

# Enough spaces to push the end of a value to where the eye takes it for a line of its own.
_GAP = re.compile(" {3,}")
_NARROWEST = 10
"""Characters a column needs: of a narrower one, frame included, nothing is left to be read."""


def quoted(value: Any) -> str:
    """`value` as JSON on one line that `visible` has been over: two different values never look the same."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _GAP.sub(lambda gap: escaped(" ") * len(gap.group()), visible(text))


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
    """A table on a terminal wide enough for one; elsewhere one tab-separated line a row under a line of names."""
    console = Console()
    if not sys.stdout.isatty() or console.width < _NARROWEST * len(columns):
        click.echo("\t".join(columns))
        for row in rows:
            click.echo("\t".join(row))
        return
    table = Table(*columns)
    for row in rows:
        table.add_row(*(Text(word, overflow="fold") for word in row))
    console.print(table)


def note(text: str) -> None:
    """A remark on stderr that is neither result nor error."""
    click.echo(f"note: {visible(text)}", err=True)


def timestamp(at_ms: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC, whole seconds; the bare number when no calendar has it."""
    try:
        return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return str(at_ms)
