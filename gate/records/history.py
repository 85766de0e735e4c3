"""Steps in the history of a run: appended to its event chain only while the history is what the decision saw.

Opens no transaction and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select

from gate.errors import StoreError
from gate.records import chains, checks, runs
from gate.records.model import Event, HistoryStep, RunHistory
from gate.records.runs import LockedRun
from gate.records.tables import EVENTS

STEP = "trajectory_step"
"""Type of the event that records one step."""


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
        )
    )
    if step.version is not None and tx.execute(query).scalar_one() != step.version:
        raise checks.conflict("history_changed", "the run took another step after the decision")
    return run.append(STEP, {**step.payload, **fields}, at_ms=at_ms)


def read(tx: Connection, tenant_id: str, run_id: str) -> RunHistory | None:
    """The events of the run after a walk of their chain; None when the tenant has no such run."""
    try:
        chains.verify(tx, tenant_id, run_id)
    except StoreError as exc:
        if exc.code == "run_unknown":
            return None
        if exc.code == "event_chain_broken":
            return RunHistory("corrupt", ())
        raise
    return RunHistory("verified", tuple(runs.events(tx, tenant_id, run_id)))
