"""The report of the experiments: JSON, Markdown and a JSONL trace, the same bytes on every run.

Writes three files and judges nothing but whether the published trajectory gave the published rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.errors import InputError
from gate.lab.longtask.cases import ExperimentCase, Group, TraceRecord
from gate.lab.longtask.trace_contract import graded
from gate.longtask.canonical_form import canonical_text, plain

SCOPE = "deterministic semantic-continuity contract; not model or product ranking"

_COLUMNS: tuple[tuple[str, str], ...] = (
    ("Experiment", "---"),
    ("Variant", "---"),
    ("Sample count", "---:"),
    ("Bytes before", "---:"),
    ("Bytes after", "---:"),
    ("Goal", "---"),
    ("Acceptance", "---:"),
    ("Constraint", "---:"),
    ("Negative constraint", "---:"),
    ("Open issue", "---:"),
    ("Rejected hypothesis", "---:"),
    ("Locator integrity", "---:"),
    ("Resume", "---"),
    ("Duplicate work", "---:"),
    ("False completion", "---"),
    ("Packet", "---"),
    ("Trace", "---"),
    ("Decision", "---"),
)


@dataclass(frozen=True, slots=True)
class Report:
    """All cases and their trace, in the order of the report."""

    cases: tuple[ExperimentCase, ...]
    trace: tuple[TraceRecord, ...]
    passed: bool

    @property
    def run_status(self) -> str:
        """passed or failed."""
        return "passed" if self.passed else "failed"

    def as_json(self) -> str:
        """The cases as one JSON document."""
        document = {
            "comparison_scope": SCOPE,
            "cases": [plain(case) for case in self.cases],
            "run_status": self.run_status,
        }
        return json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n"

    def as_markdown(self) -> str:
        """The cases as a table."""
        lines = [
            "# Chapter 6 deterministic context-continuity report",
            "",
            f"Scope: {SCOPE}",
            "",
            "All rows use `sample_count=1`. Byte columns are canonical UTF-8 bytes, not provider tokens.",
            "",
            table_row(name for name, _ in _COLUMNS),
            table_row(rule for _, rule in _COLUMNS),
            *(table_row(map(cell, _values(case))) for case in self.cases),
            "",
            f"Run status: `{self.run_status}`",
        ]
        return "\n".join(lines) + "\n"

    def as_trace(self) -> str:
        """The trace, one JSON object a line."""
        return "".join(canonical_text(entry) + "\n" for entry in self.trace)

    def write(self, folder: Path, name: str = "context-continuity") -> tuple[Path, Path, Path]:
        """Writes the three files into `folder`, which is made when it is not there; their paths.

        Raises `InputError` (`report_unwritable`).
        """
        files = (
            (folder / f"{name}.json", self.as_json()),
            (folder / f"{name}.md", self.as_markdown()),
            (folder / f"{name}-trace.jsonl", self.as_trace()),
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path, text in files:
                path.write_text(text, "utf-8", newline="\n")
        except OSError as exc:
            raise InputError("the report cannot be written", code="report_unwritable") from exc
        return files[0][0], files[1][0], files[2][0]


def report(groups: Sequence[Group], *, passed: bool) -> Report:
    """The groups as one report, sorted; it fails as well when the trace of a case is not complete."""
    trace = sorted((entry for group in groups for entry in group.trace), key=_order)
    cases = sorted(
        (graded(case, trace) for group in groups for case in group.cases),
        key=lambda case: (case.experiment, case.variant),
    )
    complete = all(case.grade.trace_contract_passed for case in cases)
    return Report(tuple(cases), tuple(trace), passed and complete)


def _order(entry: TraceRecord) -> tuple[str, ...]:
    key = entry.item_key or ""
    return (entry.experiment, entry.variant, entry.stage, entry.outcome, key, entry.evidence_digest)


def _values(case: ExperimentCase) -> tuple[Any, ...]:
    found = case.grade
    return (
        *(case.experiment, case.variant, case.sample_count),
        *(case.serialized_bytes_before, case.serialized_bytes_after),
        *(found.goal_retained, found.acceptance_retention, found.constraint_retention),
        *(found.negative_constraint_retention, found.open_issue_retention, found.rejected_hypothesis_retention),
        *(found.locator_integrity, found.resume_correct, found.duplicate_work_count, found.false_completion),
        *(found.packet_contract_passed, found.trace_contract_passed, case.decision_kind),
    )


def cell(value: object) -> str:
    """A value as the cell of a table; what was not measured is a dash."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def table_row(cells: Iterable[str]) -> str:
    """Cells as one line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"
