"""What a forge shows beside the code: workflow commands of GitHub, and SARIF.

Renders messages and places; finds none.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_PROPERTY = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), (":", "%3A"), (",", "%2C"))


def workflow_command(
    level: str, message: str, *, title: str, file: str | None, line: int | None, column: int | None = None
) -> str:
    """A workflow command of `level` (`error`, `warning`, `notice`), with the characters escaped that end one."""
    text = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    where = {"file": file, "line": line, "col": column, "title": title}
    properties = ",".join(f"{name}={_escaped(str(value))}" for name, value in where.items() if value is not None)
    return f"::{level} {properties}::{text}"


def _escaped(value: str) -> str:
    for char, escape in _PROPERTY:
        value = value.replace(char, escape)
    return value


def sarif_log(results: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """A SARIF 2.1.0 log of one run of this program."""
    found = list(results)
    return {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gate",
                        "rules": [{"id": code} for code in sorted({result["ruleId"] for result in found})],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": found,
            }
        ],
    }


def sarif_result(rule: str, level: str, message: str, places: Iterable[tuple[str, int, int | None]]) -> dict[str, Any]:
    """One result; each place is a file, a 1-based line and a column where it is known."""
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(file)},
                    "region": {"startLine": line, **({"startColumn": column} if column is not None else {})},
                }
            }
            for file, line, column in places
        ],
    }


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
