"""Steps in the history of a run: appended to its event chain only while the history is what the decision saw.

Opens no transaction and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select, text

from gate.records import chains, checks, marks, runs
from gate.records.model import Event, HistoryStep, RunHistory
from gate.records.runs import LockedRun
from gate.records.tables import EVENTS

STEP = "trajectory_step"
"""Type of the event that records one step."""

# As the index `events_told` says it, and with the literal in it: with a parameter no database would use the index.
_TOLD = text("events.event_type <> 'task_event'")


def checked(step: HistoryStep) -> HistoryStep:
    """`step` after every field was looked at. Raises `InputError`."""
    if step.version is not None:
        checks.whole("version", step.version)
    checks.json_object("payload", dict(step.payload))
    return step


def append(
    tx: Connection, run: LockedRun, step: HistoryStep, fields: Mapping[str, Any], *, at_ms: int | None = None
) -> Event:
    """Adds the step to the chain of the locked run. Raises `ConflictError` `history_changed`."""
    query = (
        select(func.count())
        .select_from(EVENTS)
        .where(
            EVENTS.c.tenant_id == run.row["tenant_id"],
            EVENTS.c.run_id == run.row["run_id"],
            EVENTS.c.event_type == STEP,
            _TOLD,
        )
    )
    if step.version is not None and tx.execute(query).scalar_one() != step.version:
        raise checks.conflict("history_changed", "the run took another step after the decision")
    return run.append(STEP, {**step.payload, **fields}, at_ms=at_ms)


def read(tx: Connection, tenant_id: str, run_id: str) -> RunHistory | None:
    """What the run did, once its chain was seen to hold; None when the tenant has no such run.

    Without the links that stand for events of a long task, and without marks: neither says what was done. Costs what
    the run did, and not what its log holds: see `chains.holds`.
    """
    if runs.head(tx, tenant_id, run_id) is None and not _has_events(tx, tenant_id, run_id):
        return None
    if not chains.holds(tx, tenant_id, run_id):
        return RunHistory("corrupt", ())
    query = select(EVENTS).where(EVENTS.c.tenant_id == tenant_id, EVENTS.c.run_id == run_id, _TOLD)
    told = []
    for row in tx.execute(query.order_by(EVENTS.c.seq), execution_options={"yield_per": 1000}).mappings():
        payload = chains.payload_of(row)
        if payload is None:
            return RunHistory("corrupt", ())
        if row["event_type"] != marks.MARK:
            told.append(Event(**{**row, "payload": payload}))
    return RunHistory("verified", tuple(told))


def _has_events(tx: Connection, tenant_id: str, run_id: str) -> bool:
    """Whether there are events of a run whose row is gone."""
    query = select(EVENTS.c.seq).where(EVENTS.c.tenant_id == tenant_id, EVENTS.c.run_id == run_id)
    return tx.execute(query.limit(1)).first() is not None
