"""What is measured beside the published rows, in files of its own: sections of rows, and what they were to show.

Writes two files and judges nothing but whether each expectation came out. No published figure depends on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gate.errors import InputError
from gate.lab.longtask.cases import UNSUPPORTED
from gate.lab.longtask.report import SCOPE, cell, table_row

Value = str | int | float | bool | None
"""What a cell holds; None: not measured."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A statement that the rows were to bear out, and whether they did."""

    statement: str
    held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One experiment: rows of the same columns. Sizes are canonical UTF-8 bytes."""

    name: str
    about: str
    rows: tuple[Mapping[str, Value], ...]
    expectations: tuple[Expectation, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the cells, in order."""
        return tuple(self.rows[0]) if self.rows else ()


@dataclass(frozen=True, slots=True)
class Supplement:
    """All sections, in order."""

    sections: tuple[Section, ...]

    @property
    def unmet(self) -> tuple[str, ...]:
        """Statements that did not hold."""
        return tuple(one.statement for section in self.sections for one in section.expectations if not one.held)

    def as_json(self) -> str:
        """One JSON document."""
        document = {
            "comparison_scope": SCOPE,
            "sections": [
                {
                    "section": section.name,
                    "about": section.about,
                    "rows": [dict(row) for row in section.rows],
                    "expectations": [{"statement": e.statement, "held": e.held} for e in section.expectations],
                }
                for section in self.sections
            ],
            "unsupported_claims": list(UNSUPPORTED),
            "run_status": "failed" if self.unmet else "passed",
        }
        return json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n"

    def as_markdown(self) -> str:
        """A table a section."""
        lines = ["# Beside the published rows", "", f"Scope: {SCOPE}", ""]
        for section in self.sections:
            lines += [f"## {section.name}", "", section.about, ""]
            lines += [table_row(section.columns), table_row("---" for _ in section.columns)]
            lines += [table_row(cell(row[name]) for name in section.columns) for row in section.rows]
            lines += ["", *(f"- [{'x' if e.held else ' '}] {e.statement}" for e in section.expectations), ""]
        lines.append(f"Run status: `{'failed' if self.unmet else 'passed'}`")
        return "\n".join(lines) + "\n"

    def write(self, folder: Path, name: str = "context-continuity-supplement") -> tuple[Path, Path]:
        """Writes the two files into `folder`; their paths. Raises `InputError` (`report_unwritable`)."""
        files = ((folder / f"{name}.json", self.as_json()), (folder / f"{name}.md", self.as_markdown()))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path, text in files:
                path.write_text(text, "utf-8", newline="\n")
        except OSError as exc:
            raise InputError("the report cannot be written", code="report_unwritable") from exc
        return files[0][0], files[1][0]


def listed(names: Iterable[str]) -> str:
    """Names as one cell, sorted; empty for none."""
    return ", ".join(sorted(names))
