"""Long-task rows and their links in the run's hash chain; in the caller's transaction.

Opens no transaction and decides nothing. Content lives in these tables and only digests in the chain, so that content
can be erased while the chain still verifies.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, RowMapping, func, insert, select

from gate import canonical
from gate.errors import StoreError
from gate.records import checks, marks, runs
from gate.records.clock import now_ms
from gate.records.longtask_model import (
    ArtifactStatus,
    LedgerEntry,
    LocatorResult,
    NewTaskEvent,
    TaskArtifact,
    TaskCheckpoint,
    TaskEvent,
    TaskLocator,
    TaskPacket,
)
from gate.records.runs import LockedRun
from gate.records.tables import (
    EVENTS,
    TASK_ARTIFACTS,
    TASK_CHECKPOINTS,
    TASK_EVENTS,
    TASK_LEDGER,
    TASK_LOCATORS,
    TASK_PACKETS,
    TASK_RECEIPTS,
)

TASK_EVENT = "task_event"
"""Type of the chain's link that stands for one long-task event."""

_IDS_AT_ONCE = 500
_EVENT = tuple(TaskEvent.__dataclass_fields__)


def require_derivable(tx: Connection, run: LockedRun) -> None:
    """Raises `ConflictError` `session_forgotten` once the run's session is being or was forgotten."""
    query = select(TASK_RECEIPTS.c.status).where(
        TASK_RECEIPTS.c.tenant_id == run.row["tenant_id"], TASK_RECEIPTS.c.session_id == run.row["session_id"]
    )
    if tx.execute(query).first() is not None:
        raise checks.conflict("session_forgotten", "the session was forgotten", "start a new session")


def append(tx: Connection, tenant_id: str, run_id: str, events: Iterable[NewTaskEvent]) -> list[TaskEvent]:
    """Appends events to a run, all or none.

    Raises `ConflictError`: `run_unknown`, `run_closed`, `session_forgotten`, `duplicate_event_id`,
    `non_monotonic_event_sequence`.
    """
    run = runs.locked(tx, tenant_id, run_id)
    run.require_open()
    require_derivable(tx, run)
    last = select(TASK_EVENTS.c.sequence, TASK_EVENTS.c.position).where(*_of(TASK_EVENTS, tenant_id, run_id))
    found = tx.execute(last.order_by(TASK_EVENTS.c.sequence.desc()).limit(1)).first()
    sequence, position = (0, 0) if found is None else (int(found[0]), int(found[1]))
    new, now = list(events), now_ms(tx)
    _refuse_known(tx, tenant_id, run_id, [event.event_id for event in new])
    salted: list[tuple[NewTaskEvent, int, str, str]] = []
    for event in new:
        if event.sequence <= sequence:
            raise checks.conflict("non_monotonic_event_sequence", "the sequence of an event does not follow the last")
        sequence, position, salt = event.sequence, position + 1, secrets.token_hex(16)
        salted.append((event, position, salt, event_digest(event.body, salt)))
    links = run.extend(
        TASK_EVENT,
        ({"sequence": e.sequence, "position": place, "digest": digest} for e, place, _, digest in salted),
        at_ms=now,
    )
    appended = [
        TaskEvent(
            tenant_id=tenant_id,
            run_id=run_id,
            sequence=event.sequence,
            position=place,
            event_id=event.event_id,
            event_type=event.event_type,
            digest=digest,
            chain_seq=link.seq,
            size_bytes=len(event.body.encode("utf-8")),
            recorded_at_ms=now,
            body=event.body,
            salt=salt,
        )
        for (event, place, salt, digest), link in zip(salted, links, strict=True)
    ]
    if appended:
        tx.execute(insert(TASK_EVENTS), [{name: getattr(event, name) for name in _EVENT} for event in appended])
    return appended


def _refuse_known(tx: Connection, tenant_id: str, run_id: str, event_ids: list[str]) -> None:
    """Raises `ConflictError` `duplicate_event_id` for an id that the run has, or that is there twice."""
    seen: set[str] = set()
    for start in range(0, len(event_ids), _IDS_AT_ONCE):
        part = event_ids[start : start + _IDS_AT_ONCE]
        query = select(TASK_EVENTS.c.event_id).where(
            *_of(TASK_EVENTS, tenant_id, run_id), TASK_EVENTS.c.event_id.in_(part)
        )
        known = tx.execute(query).scalars().first()
        twice = None
        for one in part:
            twice = one if one in seen else twice
            seen.add(one)
        if known is not None or twice is not None:
            raise checks.conflict("duplicate_event_id", f"the run has an event `{known or twice}` already")


def event_digest(body: str, salt: str) -> str:
    """What the chain holds of an event: it says nothing about the body once the salt is gone."""
    hashed = canonical.digest_bytes(body.encode("utf-8"))
    if salt.isascii() and salt.isalnum():
        # What the canonical form of those two is, as nothing in them needs an escape: this is done for every event.
        return canonical.digest_bytes(f'{{"body":"{hashed}","salt":"{salt}"}}'.encode())
    return canonical.digest({"salt": salt, "body": hashed})


def events(tx: Connection, tenant_id: str, run_id: str, *, first: int, last: int) -> list[TaskEvent]:
    """The events of that range of sequences, each held against its link in the chain.

    Raises `StoreError`: `task_log_broken` for a row that is missing, moved, swapped or not the one that was hashed,
    `task_log_erased` when the content is gone.
    """
    query = (
        select(TASK_EVENTS, EVENTS.c.seq, EVENTS.c.prev_hash, EVENTS.c.hash, EVENTS.c.payload, EVENTS.c.at_ms)
        .add_columns(EVENTS.c.event_type.label("link_type"))
        .outerjoin(
            EVENTS,
            (EVENTS.c.tenant_id == TASK_EVENTS.c.tenant_id)
            & (EVENTS.c.run_id == TASK_EVENTS.c.run_id)
            & (EVENTS.c.seq == TASK_EVENTS.c.chain_seq),
        )
        .where(*_of(TASK_EVENTS, tenant_id, run_id))
        .where(TASK_EVENTS.c.sequence >= first, TASK_EVENTS.c.sequence <= last)
        .order_by(TASK_EVENTS.c.sequence)
    )
    read: list[TaskEvent] = []
    position, links = _position_before(tx, tenant_id, run_id, first), marks.Links(tenant_id, run_id)
    for row in tx.execute(query, execution_options={"yield_per": 1000}).mappings():
        position += 1
        read.append(_checked(row, position, links))
    return read


def last_event(tx: Connection, tenant_id: str, run_id: str) -> TaskEvent | None:
    """The newest event, after making sure that the chain knows of none that comes later.

    Raises `StoreError` `task_log_broken`.
    """
    query = select(TASK_EVENTS).where(*_of(TASK_EVENTS, tenant_id, run_id))
    row = tx.execute(query.order_by(TASK_EVENTS.c.sequence.desc()).limit(1)).mappings().one_or_none()
    later = select(EVENTS.c.seq).where(*_of(EVENTS, tenant_id, run_id), EVENTS.c.event_type == TASK_EVENT)
    later = later.where(EVENTS.c.seq > (0 if row is None else row["chain_seq"])).limit(1)
    if tx.execute(later).first() is not None:
        raise _broken(run_id)
    return None if row is None else TaskEvent(**row)


def _position_before(tx: Connection, tenant_id: str, run_id: str, first: int) -> int:
    query = select(TASK_EVENTS.c.position).where(*_of(TASK_EVENTS, tenant_id, run_id), TASK_EVENTS.c.sequence < first)
    # The last row before the range, by the key: a maximum would walk the whole log.
    return int(tx.execute(query.order_by(TASK_EVENTS.c.sequence.desc()).limit(1)).scalar_one_or_none() or 0)


def _checked(row: RowMapping, position: int, links: marks.Links) -> TaskEvent:
    event = TaskEvent(**{name: row[name] for name in _EVENT})
    # The one text that `append` gave such an event as its payload: held to it, no payload has to be parsed.
    said = f'{{"digest":"{event.digest}","position":{position},"sequence":{event.sequence}}}'
    sound = (
        event.position == position
        and type(event.sequence) is int
        and canonical.is_digest(event.digest)
        and type(row["at_ms"]) is int
        and (row["link_type"], row["payload"], row["seq"]) == (TASK_EVENT, said, event.chain_seq)
        and links.digest(event.chain_seq, row["prev_hash"], TASK_EVENT, said, row["at_ms"]) == row["hash"]
    )
    if not sound:
        raise _broken(event.run_id)
    if event.body is None or event.salt is None:
        raise StoreError(
            f"the content of the events of run `{event.run_id}` was erased",
            code="task_log_erased",
            hint="what was forgotten cannot be regenerated",
        )
    if event_digest(event.body, event.salt) != event.digest:
        raise _broken(event.run_id)
    return event


def persist_artifact(
    tx: Connection, new: TaskArtifact, locators: Iterable[TaskLocator], *, envelope_id: str | None
) -> TaskArtifact:
    """Stores an artifact that nothing refers to yet; the same one again is the one that is there.

    `envelope_id`: the boundary of the run that must be open; None for one made outside of a boundary. Raises
    `ConflictError`: `run_unknown`, `session_forgotten`, `artifact_id_conflict`, `boundary_changed`.
    """
    run = runs.locked(tx, new.tenant_id, new.run_id)
    require_derivable(tx, run)
    if envelope_id is not None and run.row["boundary_id"] != envelope_id:
        raise checks.conflict("boundary_changed", "the boundary was resumed or replaced by somebody else")
    found = artifact(tx, new.tenant_id, new.artifact_id)
    if found is not None:
        if (found.digest, found.run_id, found.body) == (new.digest, new.run_id, new.body):
            return found
        raise checks.conflict("artifact_id_conflict", f"another artifact has the id `{new.artifact_id}`")
    size = len((new.body or "").encode("utf-8"))
    row = asdict(new) | {"status": new.status.value, "created_at_ms": now_ms(tx), "size_bytes": size, "version": 1}
    written = tx.execute(insert(TASK_ARTIFACTS).values(row).returning(*TASK_ARTIFACTS.c)).mappings().one()
    for each in locators:
        values = asdict(each) | {"result": each.result.value, "tenant_id": new.tenant_id}
        tx.execute(insert(TASK_LOCATORS).values(values | {"artifact_id": new.artifact_id}))
    run.append("artifact_persisted", _artifact_fields(written))
    return _artifact(written)


def commit_checkpoint(tx: Connection, run: LockedRun, new: TaskCheckpoint) -> TaskCheckpoint:
    """Makes the checkpoint and the artifact it names the run's committed pair.

    Raises `ConflictError`: `session_forgotten`, `checkpoint_artifact_missing`, `checkpoint_artifact_mismatch`,
    `checkpoint_id_conflict`.
    """
    require_derivable(tx, run)
    found = artifact(tx, new.tenant_id, new.artifact_id)
    if found is None or found.body is None:
        raise checks.conflict("checkpoint_artifact_missing", "the checkpoint names an artifact that is not stored")
    if found.digest != new.artifact_digest or digest_of(found.body) != found.digest or found.run_id != new.run_id:
        raise checks.conflict("checkpoint_artifact_mismatch", "the checkpoint names another artifact than is stored")
    if found.status not in (ArtifactStatus.STORED, ArtifactStatus.HELD):
        raise checks.conflict("artifact_tainted", "the artifact is tainted", "regenerate it from the log")
    same = checkpoint(tx, new.tenant_id, new.run_id, new.checkpoint_id)
    if same is not None:
        if same.digest == new.digest and same.artifact_digest == new.artifact_digest:
            return same
        raise checks.conflict("checkpoint_id_conflict", f"another checkpoint has the id `{new.checkpoint_id}`")
    row = asdict(new) | {
        "ordinal": _next(tx, TASK_CHECKPOINTS, new.tenant_id, new.run_id),
        "committed_at_ms": now_ms(tx),
    }
    written = tx.execute(insert(TASK_CHECKPOINTS).values(row).returning(*TASK_CHECKPOINTS.c)).mappings().one()
    run.append(
        "task_checkpoint_committed",
        {name: written[name] for name in ("checkpoint_id", "digest", "artifact_id", "artifact_digest", "event_cursor")},
    )
    return TaskCheckpoint(**written)


def artifact(tx: Connection, tenant_id: str, artifact_id: str) -> TaskArtifact | None:
    """The artifact, or None when this tenant has none of that id."""
    query = select(TASK_ARTIFACTS).where(
        TASK_ARTIFACTS.c.tenant_id == tenant_id, TASK_ARTIFACTS.c.artifact_id == artifact_id
    )
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else _artifact(row)


def locators(tx: Connection, tenant_id: str, artifact_id: str) -> tuple[TaskLocator, ...]:
    """The locators of an artifact, by id."""
    query = select(TASK_LOCATORS).where(
        TASK_LOCATORS.c.tenant_id == tenant_id, TASK_LOCATORS.c.artifact_id == artifact_id
    )
    rows = tx.execute(query.order_by(TASK_LOCATORS.c.locator_id)).mappings()
    names = TaskLocator.__dataclass_fields__
    return tuple(TaskLocator(**{n: row[n] for n in names} | {"result": LocatorResult(row["result"])}) for row in rows)


def checkpoint(tx: Connection, tenant_id: str, run_id: str, checkpoint_id: str) -> TaskCheckpoint | None:
    """The checkpoint, or None."""
    query = select(TASK_CHECKPOINTS).where(
        *_of(TASK_CHECKPOINTS, tenant_id, run_id), TASK_CHECKPOINTS.c.checkpoint_id == checkpoint_id
    )
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else TaskCheckpoint(**row)


def checkpoints(
    tx: Connection, tenant_id: str, run_id: str, *, envelope_id: str | None = None
) -> Iterator[TaskCheckpoint]:
    """The committed checkpoints of the run, or of one boundary of it, newest first, a few at a time."""
    query = select(TASK_CHECKPOINTS).where(*_of(TASK_CHECKPOINTS, tenant_id, run_id))
    if envelope_id is not None:
        query = query.where(TASK_CHECKPOINTS.c.envelope_id == envelope_id)
    query = query.order_by(TASK_CHECKPOINTS.c.ordinal.desc())
    for row in tx.execute(query, execution_options={"yield_per": 4}).mappings():
        yield TaskCheckpoint(**row)


def log_packet(tx: Connection, new: TaskPacket) -> TaskPacket:
    """Records that a packet was built. Raises `ConflictError`: `run_unknown`, `session_forgotten`."""
    run = runs.locked(tx, new.tenant_id, new.run_id)
    require_derivable(tx, run)
    row = asdict(new) | {"ordinal": _next(tx, TASK_PACKETS, new.tenant_id, new.run_id), "built_at_ms": now_ms(tx)}
    written = tx.execute(insert(TASK_PACKETS).values(row).returning(*TASK_PACKETS.c)).mappings().one()
    run.append(
        "packet_built",
        {name: written[name] for name in ("packet_digest", "artifact_id", "checkpoint_id", "size_bytes")},
    )
    return TaskPacket(**written)


def log(tx: Connection, new: LedgerEntry) -> LedgerEntry:
    """Adds a line to the ledger. Raises `ConflictError` `run_unknown`."""
    runs.locked(tx, new.tenant_id, new.run_id)
    row = asdict(new) | {"ordinal": _next(tx, TASK_LEDGER, new.tenant_id, new.run_id), "recorded_at_ms": now_ms(tx)}
    written = tx.execute(insert(TASK_LEDGER).values(row).returning(*TASK_LEDGER.c)).mappings().one()
    return LedgerEntry(**written)


def steps_since_failure(tx: Connection, tenant_id: str, run_id: str) -> int | None:
    """See `LongTaskStore.steps_since_failed_compaction`."""
    last = select(TASK_LEDGER.c.outcome, TASK_LEDGER.c.recorded_at_ms).where(
        *_of(TASK_LEDGER, tenant_id, run_id), TASK_LEDGER.c.kind == "compaction"
    )
    found = tx.execute(last.order_by(TASK_LEDGER.c.ordinal.desc()).limit(1)).first()
    if found is None or found[0] == "ok":
        return None
    # From the end of the log back to what was there before the failure: a count would walk the whole log.
    query = select(TASK_EVENTS.c.position).where(*_of(TASK_EVENTS, tenant_id, run_id))
    query = query.order_by(TASK_EVENTS.c.sequence.desc()).limit(1)
    before = tx.execute(query.where(TASK_EVENTS.c.recorded_at_ms < found[1])).scalar_one_or_none()
    return int(tx.execute(query).scalar_one_or_none() or 0) - int(before or 0)


def digest_of(body: str) -> str:
    """`sha256:` of a stored body."""
    return canonical.digest_bytes(body.encode("utf-8", "surrogatepass"))


def _next(tx: Connection, table: Any, tenant_id: str, run_id: str) -> int:
    # The run's row is locked, so nobody else takes the same number.
    query = select(func.max(table.c.ordinal)).where(*_of(table, tenant_id, run_id))
    return int(tx.execute(query).scalar_one() or 0) + 1


def _of(table: Any, tenant_id: str, run_id: str) -> tuple[Any, Any]:
    return (table.c.tenant_id == tenant_id, table.c.run_id == run_id)


def _artifact(row: RowMapping) -> TaskArtifact:
    return TaskArtifact(**{**row, "status": ArtifactStatus(row["status"])})


def _artifact_fields(row: RowMapping) -> dict[str, Any]:
    names = ("artifact_id", "digest", "source_digest", "first_sequence", "last_sequence", "generation", "status")
    return {name: row[name] for name in names} | {"parent_artifact_id": row["parent_artifact_id"]}


def _broken(run_id: str) -> StoreError:
    return StoreError(
        f"the long-task log of run `{run_id}` is not what was recorded",
        code="task_log_broken",
        hint="keep the store as it is, and find out which side can be trusted",
    )
