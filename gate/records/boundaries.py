"""Boundaries of a run's context: one envelope each, written, sealed, and resumed once; in the caller's transaction.

Opens no transaction and decides nothing. A boundary is written only over the very records that the decision read: the
head of the run's event chain says whether they moved, so nothing of the chain is read again to write one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, RowMapping, func, insert, select, update

from gate import canonical
from gate.records import checks, open_actions, progress, runs
from gate.records.clock import now_ms
from gate.records.model import Event, RunRecord
from gate.records.runs import LockedRun
from gate.records.tables import BOUNDARIES, RUNS


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChild:
    """The run that a resume of a fork starts: in a session of its own, with nothing of its parent but its identity."""

    run_id: str
    session_id: str


class BoundaryStatus(StrEnum):
    """The closed set of statuses of a boundary."""

    OPEN = "open"
    """Written; the summary is not known yet."""
    SEALED = "sealed"
    RESUMED = "resumed"
    ABANDONED = "abandoned"
    """Another boundary took its place before it was resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRange:
    """The part of a run's event chain that a boundary stands on."""

    first_seq: int
    last_seq: int
    head_hash: str
    """Hash of event `last_seq`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryRecord:
    """One boundary. `body` is the sealed envelope; everything else here is how it is found and what became of it."""

    tenant_id: str
    envelope_id: str
    run_id: str
    session_id: str
    source_trace_id: str
    reason: str
    status: BoundaryStatus
    requested: bool
    """False for a boundary that nobody asked for."""
    epoch: int
    """Of the run when the boundary was written."""
    first_seq: int
    last_seq: int
    body: str
    """Canonical JSON of the envelope, unverified."""
    seal: str | None
    """Canonical JSON of the seal over `body`, unverified."""
    summary_sha256: str | None
    written_at_ms: int
    version: int
    resumed_by: str | None = None


def find(tx: Connection, tenant_id: str, envelope_id: str) -> BoundaryRecord | None:
    """The boundary, or None when this tenant has none of that id."""
    query = select(BOUNDARIES).where(BOUNDARIES.c.tenant_id == tenant_id, BOUNDARIES.c.envelope_id == envelope_id)
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else _record(row)


def count(tx: Connection, tenant_id: str, run_id: str) -> int:
    """How many boundaries the run has had, whatever became of them."""
    query = select(func.count()).where(BOUNDARIES.c.tenant_id == tenant_id, BOUNDARIES.c.run_id == run_id)
    return int(tx.execute(query).scalar_one())


def next_first_seq(tx: Connection, tenant_id: str, run_id: str) -> int:
    """Where the range of the next boundary begins: after the one that was resumed last."""
    query = select(func.max(BOUNDARIES.c.last_seq)).where(
        BOUNDARIES.c.tenant_id == tenant_id,
        BOUNDARIES.c.run_id == run_id,
        BOUNDARIES.c.status == BoundaryStatus.RESUMED.value,
    )
    found = tx.execute(query).scalar_one()
    return 1 if found is None else int(found) + 1


def write(
    tx: Connection, new: BoundaryRecord, *, run_version: int, frozen: EventRange, supersedes: bool
) -> tuple[BoundaryRecord, Event]:
    """Writes a boundary: from here on nothing runs in the run until it is resumed.

    `supersedes`: an earlier one that is not resumed is abandoned. Raises `ConflictError`: `run_unknown`, `run_closed`,
    `run_changed` when anything of the run moved since it was read, `boundary_open`, and for a requested boundary
    `claim_in_flight`.
    """
    run = runs.locked(tx, new.tenant_id, new.run_id)
    run.require_open()
    if run.row["version"] != run_version or run.head != (frozen.last_seq, frozen.head_hash):
        raise checks.conflict("run_changed", "the run was changed after the decision")
    now = now_ms(tx)
    if new.requested and open_actions.in_flight(tx, new.tenant_id, new.run_id, now):
        raise checks.conflict("claim_in_flight", "an effect of the run is being carried out", "wait until it is over")
    earlier = run.row["boundary_id"]
    if earlier is not None:
        if not supersedes:
            raise checks.conflict("boundary_open", "a boundary of the run is not resumed", "resume it first")
        _abandon(tx, run, earlier)
    row = {column.name: getattr(new, column.name) for column in BOUNDARIES.c}
    row |= {"status": new.status.value, "requested": int(new.requested)}
    written = tx.execute(insert(BOUNDARIES).values(row).returning(*BOUNDARIES.c)).mappings().one()
    _move_run(tx, run, boundary_id=new.envelope_id)
    return _record(written), run.append("boundary_written", _event_fields(written), at_ms=now)


def seal(
    tx: Connection,
    tenant_id: str,
    envelope_id: str,
    *,
    expected_version: int,
    body: str,
    summary_sha256: str,
    sealed_with: str,
) -> tuple[BoundaryRecord, Event]:
    """Binds the summary to an open boundary. Raises `ConflictError`: `boundary_unknown`, `boundary_changed`."""
    run, row = _locked(tx, tenant_id, envelope_id)
    if row["version"] != expected_version or row["status"] != BoundaryStatus.OPEN:
        raise _changed(envelope_id)
    changes = {"body": body, "seal": sealed_with, "summary_sha256": summary_sha256}
    moved = _move(tx, row, BoundaryStatus.SEALED, **changes)
    return _record(moved), run.append("boundary_sealed", _event_fields(moved))


def resume(
    tx: Connection,
    tenant_id: str,
    envelope_id: str,
    *,
    expected_version: int,
    run_version: int,
    head: tuple[int, str],
    resumed_by: str,
    agent_id: str | None = None,
    child: NewChild | None = None,
) -> tuple[BoundaryRecord, int, Event]:
    """Resumes a sealed boundary, once, and starts the next epoch, which is returned beside it with the event.

    `agent_id`: who has the run from now on, None when that stays; `child`: the run that is started beside it. Raises
    `ConflictError`: `boundary_unknown`, `boundary_changed` for one that somebody else resumed or replaced,
    `run_changed` when anything of the run moved since the decision read it, `run_exists` for a child that does.
    """
    run, row = _locked(tx, tenant_id, envelope_id)
    if row["version"] != expected_version or row["status"] != BoundaryStatus.SEALED:
        raise _changed(envelope_id)
    if run.row["boundary_id"] != envelope_id or run.row["epoch"] != row["epoch"]:
        raise _changed(envelope_id)
    if run.row["version"] != run_version or run.head != head:
        raise checks.conflict("run_changed", "the run was changed after the decision")
    epoch = int(run.row["epoch"]) + 1
    moved = _move(tx, row, BoundaryStatus.RESUMED, resumed_by=resumed_by)
    handed = {} if agent_id is None else {"agent_id": agent_id}
    _move_run(tx, run, boundary_id=None, epoch=epoch, **handed)
    started = {} if child is None else {"child_run_id": child.run_id}
    fields = {**_event_fields(moved), "new_epoch": epoch, "resumed_by": resumed_by, **handed, **started}
    event = run.append("boundary_resumed", fields)
    if child is not None:
        _start_child(tx, run.row, child, envelope_id)
    return _record(moved), epoch, event


def _start_child(tx: Connection, parent: RowMapping, child: NewChild, envelope_id: str) -> None:
    """A run with the parent's identity, objective and checkpoint; approvals, claims, budget and sandbox stay behind."""
    same = ("tenant_id", "agent_id", "principal_id", "trace_id", "authorization_mode")
    runs.create(
        tx,
        RunRecord(
            **{name: parent[name] for name in same},
            run_id=child.run_id,
            session_id=child.session_id,
            delegated_principal_id=parent["delegated_principal_id"],
            delegated_scope=parent["delegated_scope"],
            parent_run_id=parent["run_id"],
            forked_from=envelope_id,
        ),
    )
    then = progress.find(tx, parent["tenant_id"], parent["run_id"])
    carried = progress.Progress(objective=then.objective, checkpoint_ref=then.checkpoint_ref)
    progress.record(tx, parent["tenant_id"], child.run_id, carried)


def _locked(tx: Connection, tenant_id: str, envelope_id: str) -> tuple[LockedRun, RowMapping]:
    found = find(tx, tenant_id, envelope_id)
    if found is None:
        raise checks.conflict("boundary_unknown", f"there is no envelope `{envelope_id}`", "check its id")
    run = runs.locked(tx, tenant_id, found.run_id)
    query = select(BOUNDARIES).where(BOUNDARIES.c.tenant_id == tenant_id, BOUNDARIES.c.envelope_id == envelope_id)
    row = tx.execute(query.with_for_update()).mappings().one_or_none()
    if row is None or row["run_id"] != found.run_id:
        raise checks.contended()
    return run, row


def _abandon(tx: Connection, run: LockedRun, envelope_id: str) -> None:
    query = select(BOUNDARIES).where(
        BOUNDARIES.c.tenant_id == run.row["tenant_id"], BOUNDARIES.c.envelope_id == envelope_id
    )
    row = tx.execute(query.with_for_update()).mappings().one_or_none()
    # A row that was deleted behind the gate leaves nothing to abandon; the event says what took its place.
    if row is not None and row["status"] in (BoundaryStatus.OPEN, BoundaryStatus.SEALED):
        row = _move(tx, row, BoundaryStatus.ABANDONED)
    run.append("boundary_abandoned", {"envelope_id": envelope_id})


def _move(tx: Connection, row: RowMapping, status: BoundaryStatus, **changes: Any) -> RowMapping:
    moved = tx.execute(
        update(BOUNDARIES)
        .where(BOUNDARIES.c.tenant_id == row["tenant_id"], BOUNDARIES.c.envelope_id == row["envelope_id"])
        .values(status=status.value, version=row["version"] + 1, **changes)
        .returning(*BOUNDARIES.c)
    )
    return moved.mappings().one()


def _move_run(tx: Connection, run: LockedRun, **changes: Any) -> None:
    tx.execute(
        update(RUNS)
        .where(RUNS.c.tenant_id == run.row["tenant_id"], RUNS.c.run_id == run.row["run_id"])
        .values(version=run.row["version"] + 1, **changes)
    )


def _event_fields(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        "envelope_id": row["envelope_id"],
        "source_trace_id": row["source_trace_id"],
        "reason": row["reason"],
        "requested": bool(row["requested"]),
        "status": row["status"],
        "epoch": row["epoch"],
        "first_seq": row["first_seq"],
        "last_seq": row["last_seq"],
        "summary_sha256": row["summary_sha256"],
        "body_digest": canonical.digest_bytes(row["body"].encode("utf-8")),
    }


def _changed(envelope_id: str) -> Exception:
    return checks.conflict("boundary_changed", f"the boundary `{envelope_id}` was resumed or replaced by somebody else")


def _record(row: RowMapping) -> BoundaryRecord:
    fields = {**row, "status": BoundaryStatus(row["status"]), "requested": row["requested"] == 1}
    return BoundaryRecord(**fields)
