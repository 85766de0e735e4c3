"""Forgetting a session, tainting an artifact, cleaning up orphans; in the caller's transaction.

Content goes and digests stay: the hash chain of every run still verifies. Rows of ids are kept, so that no id is ever
used a second time. Opens no transaction and decides nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, exists, func, insert, or_, select, update

from gate import canonical
from gate.records import checks, longtask_rows, runs
from gate.records.clock import now_ms
from gate.records.longtask_model import ArtifactStatus, DeletionReceipt, TaskArtifact
from gate.records.statuses import RunStatus
from gate.records.tables import (
    BOUNDARIES,
    EFFECTS,
    RUN_PROGRESS,
    RUNS,
    TASK_ARTIFACTS,
    TASK_CHECKPOINTS,
    TASK_EVENTS,
    TASK_LOCATORS,
    TASK_PACKETS,
    TASK_RECEIPTS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """What an artifact that turned out bad has touched."""

    artifacts: tuple[str, ...]
    """The artifact and everything that was made of it."""
    runs: tuple[str, ...]
    """Runs that made, had or read one of them, and what was forked from those since; stopped, unless they were over."""
    packets: tuple[str, ...]
    """Digests of the packets that were built of them."""
    effects: tuple[tuple[str, str, str], ...]
    """(run, capability, status) of every effect of those runs: to be looked at, and reconciled, by people."""


def freeze(tx: Connection, tenant_id: str, session_id: str, *, requested_by: str, reason: str) -> DeletionReceipt:
    """Stops all derivation in the session."""
    found = receipt(tx, tenant_id, session_id)
    if found is not None:
        return found
    row = {
        "tenant_id": tenant_id,
        "session_id": session_id,
        "receipt_id": f"del-{secrets.token_hex(12)}",
        "status": "frozen",
        "requested_by": requested_by,
        "reason": reason,
        "counts": "{}",
        "frozen_at_ms": now_ms(tx),
        "version": 1,
        "digest": None,
        "erased_at_ms": None,
    }
    # Every run of the session is locked, so that whoever is deriving in one is done, or will see the receipt.
    for run in runs.all_locked(tx, tenant_id, _runs_of(tx, tenant_id, session_id)).values():
        run.append("session_frozen", {"receipt_id": row["receipt_id"]})
    tx.execute(insert(TASK_RECEIPTS).values(row))
    return DeletionReceipt(**row)  # type: ignore[arg-type]  # the row has exactly the fields


def erase(tx: Connection, tenant_id: str, session_id: str) -> DeletionReceipt:
    """Erases content and writes the receipt. Raises `ConflictError`: `session_not_frozen`."""
    found = receipt(tx, tenant_id, session_id)
    if found is None:
        raise checks.conflict("session_not_frozen", "the session is not frozen", "freeze it first")
    if found.status == "erased":
        return found
    if tx.dialect.name == "sqlite":
        # Else the bytes stay in the file's free space until it is used again.
        tx.exec_driver_sql("PRAGMA secure_delete = ON")
    own = _runs_of(tx, tenant_id, session_id)
    # A fork may go on in a session of its own, with what it was given of this one.
    locked = _locked_with_forks(tx, tenant_id, own, since_ms=0)
    run_ids = sorted(locked)
    counts = {name: _blank(tx, table, tenant_id, run_ids, values) for name, table, values in _ERASED}
    mine = select(TASK_ARTIFACTS.c.artifact_id).where(
        TASK_ARTIFACTS.c.tenant_id == tenant_id, TASK_ARTIFACTS.c.run_id.in_(run_ids)
    )
    places = update(TASK_LOCATORS).where(TASK_LOCATORS.c.tenant_id == tenant_id, TASK_LOCATORS.c.artifact_id.in_(mine))
    counts["locators"] = tx.execute(places.values(ref=None)).rowcount
    changes: dict[str, Any] = {"status": "erased", "counts": json.dumps(counts, sort_keys=True)}
    changes |= {"erased_at_ms": now_ms(tx), "version": found.version + 1}
    said = {**asdict(found), **changes}
    said.pop("digest")
    changes["digest"] = canonical.digest(said)
    for run in locked.values():
        run.append("session_erased", {"receipt_id": found.receipt_id, "digest": changes["digest"]})
        runs.end(tx, run, RunStatus.STOPPED, "its session was forgotten")
    where = (TASK_RECEIPTS.c.tenant_id == tenant_id, TASK_RECEIPTS.c.session_id == session_id)
    tx.execute(update(TASK_RECEIPTS).where(*where).values(changes))
    return DeletionReceipt(**{**asdict(found), **changes})


_ERASED: tuple[tuple[str, Any, dict[str, Any]], ...] = (
    ("events", TASK_EVENTS, {"body": None, "salt": None}),
    ("artifacts", TASK_ARTIFACTS, {"body": None, "status": ArtifactStatus.ERASED.value, "status_reason": "forgotten"}),
    ("checkpoints", TASK_CHECKPOINTS, {"body": None}),
    ("packets", TASK_PACKETS, {"items": None}),
    ("progress", RUN_PROGRESS, {"objective": ""}),
)
# What holds content, and what it is left with.


def receipt(tx: Connection, tenant_id: str, session_id: str) -> DeletionReceipt | None:
    """The receipt of the session, or None."""
    query = select(TASK_RECEIPTS).where(
        TASK_RECEIPTS.c.tenant_id == tenant_id, TASK_RECEIPTS.c.session_id == session_id
    )
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else DeletionReceipt(**row)


def taint(tx: Connection, tenant_id: str, artifact_id: str, *, reason: str) -> Taint:
    """Taints the artifact and its descendants. Raises `ConflictError` `artifact_unknown`."""
    if longtask_rows.artifact(tx, tenant_id, artifact_id) is None:
        raise _unknown(artifact_id)
    reached, edge = [artifact_id], [artifact_id]
    while edge:
        children = select(TASK_ARTIFACTS.c.artifact_id).where(
            TASK_ARTIFACTS.c.tenant_id == tenant_id, TASK_ARTIFACTS.c.parent_artifact_id.in_(edge)
        )
        edge = [each for each in sorted(tx.execute(children).scalars()) if each not in reached]
        reached += edge
    owners = _distinct(tx, TASK_ARTIFACTS, "run_id", tenant_id, reached)
    users = _distinct(tx, TASK_CHECKPOINTS, "run_id", tenant_id, reached)
    packets = _distinct(tx, TASK_PACKETS, "packet_digest", tenant_id, reached)
    readers = _distinct(tx, TASK_PACKETS, "run_id", tenant_id, reached)
    made = select(func.min(TASK_ARTIFACTS.c.created_at_ms)).where(
        TASK_ARTIFACTS.c.tenant_id == tenant_id, TASK_ARTIFACTS.c.artifact_id.in_(reached)
    )
    # What was forked before there was such an artifact knows nothing of it.
    since_ms = int(tx.execute(made).scalar_one() or 0)
    locked = _locked_with_forks(tx, tenant_id, [*owners, *users, *readers], since_ms=since_ms)
    touched = sorted(locked)
    for run in locked.values():
        run.append("artifact_tainted", {"artifacts": reached[:64], "reason": reason[:256]})
        runs.end(tx, run, RunStatus.STOPPED, f"artifact {artifact_id} is tainted")
    tx.execute(
        update(TASK_ARTIFACTS)
        .where(TASK_ARTIFACTS.c.tenant_id == tenant_id, TASK_ARTIFACTS.c.artifact_id.in_(reached))
        .where(TASK_ARTIFACTS.c.status.in_((ArtifactStatus.STORED.value, ArtifactStatus.HELD.value)))
        .values(status=ArtifactStatus.TAINTED.value, status_reason=reason, version=TASK_ARTIFACTS.c.version + 1)
    )
    effects = select(EFFECTS.c.run_id, EFFECTS.c.capability, EFFECTS.c.status).where(
        EFFECTS.c.tenant_id == tenant_id, EFFECTS.c.run_id.in_(touched)
    )
    rows = sorted((str(run), str(capability), str(status)) for run, capability, status in tx.execute(effects))
    return Taint(artifacts=tuple(reached), runs=tuple(touched), packets=tuple(packets), effects=tuple(rows))


def hold(tx: Connection, tenant_id: str, artifact_id: str, *, reason: str) -> TaskArtifact:
    """Moves a stored artifact to `held`, and says so in the chain of its run."""
    run = _run_of(tx, tenant_id, artifact_id)
    held = _moved(tx, tenant_id, artifact_id, ArtifactStatus.HELD, reason)
    run.append("artifact_held", {"artifact_id": artifact_id, "reason": reason[:256]})
    return held


def release(tx: Connection, tenant_id: str, artifact_id: str) -> TaskArtifact:
    """Moves a held artifact back to `stored`, and says so in the chain of its run."""
    run = _run_of(tx, tenant_id, artifact_id)
    released = _moved(tx, tenant_id, artifact_id, ArtifactStatus.STORED, "", since=ArtifactStatus.HELD)
    run.append("artifact_released", {"artifact_id": artifact_id})
    return released


def _run_of(tx: Connection, tenant_id: str, artifact_id: str) -> runs.LockedRun:
    found = longtask_rows.artifact(tx, tenant_id, artifact_id)
    if found is None:
        raise _unknown(artifact_id)
    return runs.locked(tx, tenant_id, found.run_id)


def orphans(tx: Connection, tenant_id: str, *, grace_ms: int) -> tuple[TaskArtifact, ...]:
    """See `LongTaskStore.orphans`."""
    child = TASK_ARTIFACTS.alias("child")
    referred = exists().where(
        TASK_CHECKPOINTS.c.tenant_id == TASK_ARTIFACTS.c.tenant_id,
        TASK_CHECKPOINTS.c.artifact_id == TASK_ARTIFACTS.c.artifact_id,
    )
    parent = exists().where(
        child.c.tenant_id == TASK_ARTIFACTS.c.tenant_id,
        child.c.parent_artifact_id == TASK_ARTIFACTS.c.artifact_id,
        child.c.status != ArtifactStatus.CLEANED.value,
    )
    # A boundary that is open may be on its way from the artifact to the checkpoint.
    committing = exists().where(
        BOUNDARIES.c.tenant_id == TASK_ARTIFACTS.c.tenant_id,
        BOUNDARIES.c.run_id == TASK_ARTIFACTS.c.run_id,
        BOUNDARIES.c.status == "open",
    )
    query = (
        select(TASK_ARTIFACTS)
        .where(TASK_ARTIFACTS.c.tenant_id == tenant_id, TASK_ARTIFACTS.c.status == ArtifactStatus.STORED.value)
        .where(TASK_ARTIFACTS.c.created_at_ms <= now_ms(tx) - grace_ms)
        .where(~or_(referred, parent, committing))
        .order_by(TASK_ARTIFACTS.c.artifact_id)
    )
    return tuple(_record(row) for row in tx.execute(query).mappings())


def clean(tx: Connection, tenant_id: str, *, grace_ms: int) -> tuple[TaskArtifact, ...]:
    """See `LongTaskStore.clean_orphans`."""
    found = orphans(tx, tenant_id, grace_ms=grace_ms)
    locked = runs.all_locked(tx, tenant_id, (each.run_id for each in found))
    # Looked at again under the locks: a commit may have taken one up meanwhile.
    still = {each.artifact_id for each in orphans(tx, tenant_id, grace_ms=grace_ms)}
    gone = tuple(each for each in found if each.artifact_id in still)
    for each in gone:
        _moved(tx, tenant_id, each.artifact_id, ArtifactStatus.CLEANED, "no checkpoint names it", body=None)
        locked[each.run_id].append(
            "artifact_cleaned",
            {
                "artifact_id": each.artifact_id,
                "digest": each.digest,
                "first_sequence": each.first_sequence,
                "last_sequence": each.last_sequence,
                "created_at_ms": each.created_at_ms,
                "reason": "no checkpoint names it",
            },
        )
    return gone


def retire(tx: Connection, tenant_id: str, run_id: str, *, older_than_ms: int) -> int:
    """See `LongTaskStore.retire_task_events`."""
    run = runs.locked(tx, tenant_id, run_id)
    cursor = _newest_cursor(tx, tenant_id, run_id)
    unneeded = _unneeded(tx, tenant_id, run_id, cursor, older_than_ms)
    erased = tx.execute(update(TASK_EVENTS).where(*unneeded).values(body=None, salt=None)).rowcount
    if erased:
        run.append("task_events_retired", {"count": erased, "cursor": cursor, "regenerable": False})
    return int(erased)


def retirable(tx: Connection, tenant_id: str, run_id: str, *, older_than_ms: int) -> int:
    """See `LongTaskStore.retirable_task_events`."""
    if runs.head(tx, tenant_id, run_id) is None:
        raise checks.conflict("run_unknown", f"there is no run `{run_id}`", "check its id")
    cursor = _newest_cursor(tx, tenant_id, run_id)
    query = select(func.count()).where(*_unneeded(tx, tenant_id, run_id, cursor, older_than_ms))
    return int(tx.execute(query).scalar_one())


def _newest_cursor(tx: Connection, tenant_id: str, run_id: str) -> int:
    query = select(func.max(TASK_CHECKPOINTS.c.event_cursor)).where(*_checkpoints_of(tenant_id, run_id))
    return int(tx.execute(query).scalar_one() or 0)


def _unneeded(tx: Connection, tenant_id: str, run_id: str, cursor: int, older_than_ms: int) -> tuple[Any, ...]:
    """What holds of an event that has content, is that old, and that nothing which is kept was made of.

    Kept is the newest pair, every pair as young as that, and what somebody holds.
    """
    before = now_ms(tx) - older_than_ms
    newest = select(func.max(TASK_CHECKPOINTS.c.ordinal)).where(*_checkpoints_of(tenant_id, run_id)).scalar_subquery()
    kept = select(TASK_CHECKPOINTS.c.artifact_id).where(
        *_checkpoints_of(tenant_id, run_id),
        or_(TASK_CHECKPOINTS.c.ordinal == newest, TASK_CHECKPOINTS.c.committed_at_ms > before),
    )
    needed = exists().where(
        TASK_ARTIFACTS.c.tenant_id == tenant_id,
        TASK_ARTIFACTS.c.run_id == run_id,
        or_(TASK_ARTIFACTS.c.artifact_id.in_(kept), TASK_ARTIFACTS.c.status == ArtifactStatus.HELD.value),
        TASK_ARTIFACTS.c.first_sequence <= TASK_EVENTS.c.sequence,
        TASK_ARTIFACTS.c.last_sequence >= TASK_EVENTS.c.sequence,
    )
    return (
        TASK_EVENTS.c.tenant_id == tenant_id,
        TASK_EVENTS.c.run_id == run_id,
        TASK_EVENTS.c.body.is_not(None),
        TASK_EVENTS.c.sequence <= cursor,
        ~needed,
        TASK_EVENTS.c.recorded_at_ms <= before,
    )


def _checkpoints_of(tenant_id: str, run_id: str) -> tuple[Any, Any]:
    return TASK_CHECKPOINTS.c.tenant_id == tenant_id, TASK_CHECKPOINTS.c.run_id == run_id


def _moved(
    tx: Connection,
    tenant_id: str,
    artifact_id: str,
    status: ArtifactStatus,
    reason: str,
    *,
    since: ArtifactStatus = ArtifactStatus.STORED,
    **changes: Any,
) -> TaskArtifact:
    moved = tx.execute(
        update(TASK_ARTIFACTS)
        .where(TASK_ARTIFACTS.c.tenant_id == tenant_id, TASK_ARTIFACTS.c.artifact_id == artifact_id)
        .where(TASK_ARTIFACTS.c.status == since.value)
        .values(status=status.value, status_reason=reason, version=TASK_ARTIFACTS.c.version + 1, **changes)
        .returning(*TASK_ARTIFACTS.c)
    )
    row = moved.mappings().one_or_none()
    if row is None:
        raise _unknown(artifact_id)
    return _record(row)


def _blank(tx: Connection, table: Any, tenant_id: str, run_ids: list[str], values: dict[str, Any]) -> int:
    changed = update(table).where(table.c.tenant_id == tenant_id, table.c.run_id.in_(run_ids)).values(values)
    return int(tx.execute(changed).rowcount)


def _runs_of(tx: Connection, tenant_id: str, session_id: str) -> list[str]:
    query = select(RUNS.c.run_id).where(RUNS.c.tenant_id == tenant_id, RUNS.c.session_id == session_id)
    found = sorted(tx.execute(query).scalars())
    if not found:
        raise checks.conflict("session_unknown", f"no run has the session `{session_id}`", "check its id")
    return found


def _locked_with_forks(
    tx: Connection, tenant_id: str, run_ids: Iterable[str], *, since_ms: int
) -> dict[str, runs.LockedRun]:
    """These runs and all that were forked from them since, locked. Raises `ConflictError` `store_contended`."""
    family = _with_forks(tx, tenant_id, run_ids, since_ms)
    locked = runs.all_locked(tx, tenant_id, family)
    if _with_forks(tx, tenant_id, run_ids, since_ms) != family:
        raise checks.contended()
    return locked


def _with_forks(tx: Connection, tenant_id: str, run_ids: Iterable[str], since_ms: int) -> list[str]:
    family = edge = set(run_ids)
    while edge:
        children = (
            select(RUNS.c.run_id)
            .join(
                BOUNDARIES,
                (BOUNDARIES.c.tenant_id == RUNS.c.tenant_id) & (BOUNDARIES.c.envelope_id == RUNS.c.forked_from),
            )
            .where(RUNS.c.tenant_id == tenant_id, RUNS.c.parent_run_id.in_(sorted(edge)))
            .where(BOUNDARIES.c.written_at_ms >= since_ms)
        )
        edge = set(tx.execute(children).scalars()) - family
        family = family | edge
    return sorted(family)


def _distinct(tx: Connection, table: Any, column: str, tenant_id: str, artifact_ids: list[str]) -> list[str]:
    query = select(table.c[column]).where(table.c.tenant_id == tenant_id, table.c.artifact_id.in_(artifact_ids))
    return sorted(set(tx.execute(query).scalars()))


def _record(row: RowMapping) -> TaskArtifact:
    return TaskArtifact(**{**row, "status": ArtifactStatus(row["status"])})


def _unknown(artifact_id: str) -> Exception:
    return checks.conflict("artifact_unknown", f"there is no artifact `{artifact_id}` to do that to", "check its id")
