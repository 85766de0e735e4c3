"""Boundaries that nobody asked for: a crash, or a compaction by the model's provider. Recorded as what they are.

Repairs nothing and takes nothing from prose: the envelope is written from the records, whatever state they are in, and
whether the run may go on is decided when it is resumed.
"""

from __future__ import annotations

from gate.continuity.boundary import OPERATIONS, UNREQUESTED, Boundary, checked_summary, write
from gate.continuity.desk import Desk, Recipient
from gate.errors import InputError
from gate.evidence import Run

RECOVERY = "process_recovery"
"""The reason of a boundary that follows a crash: the only kind without a summary."""


def recover(desk: Desk, run: Run) -> Boundary:
    """Writes an envelope of `process_recovery` from the records; one that was not resumed is abandoned for it.

    Raises as `gate.continuity.boundary.prepare` does.
    """
    return write(desk, run, RECOVERY, operation=UNREQUESTED, summary=None)


def note(
    desk: Desk,
    run: Run,
    reason: str,
    *,
    summary: object = None,
    envelope_id: str | None = None,
    to: Recipient | None = None,
) -> Boundary:
    """Records that a context was cut without anybody asking; `summary` is what stands in its place, None if not known.

    `reason` is context_compaction, context_reset, handoff or fork. Without a summary the boundary stays open until
    `seal_summary`. Raises `InputError`: `boundary_reason_unknown`, and for a summary that is blank or not text.
    """
    if reason not in OPERATIONS:
        raise InputError(f"`{reason!a}` is not a reason for a boundary", code="boundary_reason_unknown")
    text = None if summary is None else checked_summary(summary)
    return write(desk, run, reason, operation=UNREQUESTED, summary=text, envelope_id=envelope_id, to=to)
