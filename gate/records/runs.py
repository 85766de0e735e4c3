"""Runs and their hash-chained event logs, inside a transaction that the caller holds.

Opens no transaction and decides nothing. Every query names the tenant.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, RowMapping, insert, select, update

from gate import canonical
from gate.errors import InputError, StoreError
from gate.records import checks
from gate.records.database import now_ms
from gate.records.model import RUN_MOVES, Event, RunRecord, RunStatus
from gate.records.tables import EVENTS, RUNS

GENESIS = "sha256:" + "0" * 64
"""`prev_hash` of the first event of every run."""

MAX_EVENT_BYTES = 16_384
"""Size limit of one event payload in bytes: an event names things, it does not carry them."""


def create(tx: Connection, new: RunRecord) -> RunRecord:
    """Inserts a running run with its first event. Raises `ConflictError` `run_exists`, `InputError`."""
    if new.status is not RunStatus.RUNNING or new.version != 1:
        raise InputError("a new run is `running` at version 1", code="record_field_invalid")
    row: dict[str, Any] = {
        field: checks.name(field, getattr(new, field))
        for field in (
            "tenant_id", "run_id", "agent_id", "principal_id", "session_id", "trace_id", "authorization_mode"
        )
    }  # fmt: skip
    for field in ("delegated_principal_id", "delegated_scope"):
        row[field] = checks.optional_name(field, getattr(new, field))
    row |= {
        "status": RunStatus.RUNNING.value,
        "status_reason": checks.text("status_reason", new.status_reason),
    }
    row |= {"version": 1, "head_seq": 0, "head_hash": GENESIS}
    if _row(tx, row["tenant_id"], row["run_id"]) is not None:
        raise checks.conflict("run_exists", f"the run `{row['run_id']}` exists already", "choose a new run id")
    tx.execute(insert(RUNS).values(row))
    append(tx, row["tenant_id"], row["run_id"], "run_created", {"agent_id": new.agent_id, "status": "running"})
    return _record(locked(tx, row["tenant_id"], row["run_id"]))


def find(tx: Connection, tenant_id: str, run_id: str) -> RunRecord | None:
    """The run, or None when this tenant has none of that id."""
    row = _row(tx, tenant_id, run_id)
    return None if row is None else _record(row)


def locked(tx: Connection, tenant_id: str, run_id: str) -> RowMapping:
    """The run's row, locked until the transaction ends. Raises `ConflictError` `run_unknown`."""
    row = _row(tx, tenant_id, run_id)
    if row is None:
        raise checks.conflict("run_unknown", f"there is no run `{run_id}`", "create the run first")
    return row


def set_status(
    tx: Connection, tenant_id: str, run_id: str, *, expected_version: int, status: RunStatus, reason: str
) -> RunRecord:
    """Moves the run. Raises `ConflictError`: `run_unknown`, `run_changed`, `run_transition_illegal`."""
    row = locked(tx, tenant_id, run_id)
    if row["version"] != expected_version:
        raise checks.conflict("run_changed", f"the run `{run_id}` was changed by somebody else")
    before = RunStatus(row["status"])
    if status not in RUN_MOVES[before]:
        raise checks.conflict(
            "run_transition_illegal", f"a run that is {before} cannot become {status}", "start a new run"
        )
    tx.execute(
        update(RUNS)
        .where(RUNS.c.tenant_id == tenant_id, RUNS.c.run_id == run_id)
        .values(status=status.value, status_reason=reason, version=expected_version + 1)
    )
    append(tx, tenant_id, run_id, "run_status_changed", {"from": before.value, "to": status.value})
    return _record(locked(tx, tenant_id, run_id))


def append(tx: Connection, tenant_id: str, run_id: str, event_type: str, payload: dict[str, Any]) -> Event:
    """Adds one link to the chain of the run; reads only its head.

    Raises `ConflictError` `run_unknown`, `InputError`.
    """
    text = checks.json_object("payload", payload)
    if len(text.encode("utf-8")) > MAX_EVENT_BYTES:
        raise InputError(f"an event payload is over {MAX_EVENT_BYTES} bytes", code="event_too_large")
    head = locked(tx, tenant_id, run_id)
    seq, prev_hash, at_ms = int(head["head_seq"]) + 1, str(head["head_hash"]), now_ms(tx)
    # Parsed again, so that what is returned and hashed is what a later reader will see.
    seen = canonical.parse(text)
    link: dict[str, Any] = {
        "tenant_id": tenant_id,
        "run_id": run_id,
        "seq": seq,
        "prev_hash": prev_hash,
        "event_type": event_type,
        "at_ms": at_ms,
    }
    new_hash = canonical.digest({**link, "payload": seen})
    tx.execute(insert(EVENTS).values(**link, hash=new_hash, payload=text))
    tx.execute(
        update(RUNS)
        .where(RUNS.c.tenant_id == tenant_id, RUNS.c.run_id == run_id)
        .values(head_seq=seq, head_hash=new_hash)
    )
    return Event(**link, hash=new_hash, payload=seen)


def events(tx: Connection, tenant_id: str, run_id: str) -> list[Event]:
    """The events of the run in order, unverified.

    Raises `StoreError` `event_chain_broken` for an unreadable one.
    """
    found = []
    for row in _event_rows(tx, tenant_id, run_id):
        try:
            payload = canonical.parse(row["payload"])
        except (InputError, AttributeError) as exc:
            raise _broken(run_id, row["seq"]) from exc
        found.append(Event(**{**row, "payload": payload}))
    return found


def verify(tx: Connection, tenant_id: str, run_id: str) -> int:
    """The number of events of a run whose chain holds from the first event to the recorded head.

    Raises `StoreError`: `event_chain_broken` naming the first seq that does not hold, `run_unknown`. Without
    a key the chain shows an edit, not an editor who recomputed every later hash and the head.
    """
    head = _row(tx, tenant_id, run_id)
    rows = _event_rows(tx, tenant_id, run_id)
    if head is None and not rows:
        raise StoreError(f"there is no run `{run_id}`", code="run_unknown", hint="check the run and tenant ids")
    length = 0 if head is None else int(head["head_seq"])
    prev_hash = GENESIS
    for seq, row in enumerate(rows, start=1):
        if seq > length or not _holds(row, seq, prev_hash):
            raise _broken(run_id, seq)
        prev_hash = row["hash"]
    if len(rows) != length:
        raise _broken(run_id, len(rows) + 1)
    if head is not None and head["head_hash"] != prev_hash:
        raise _broken(run_id, max(length, 1))
    return length


def _holds(row: RowMapping, seq: int, prev_hash: str) -> bool:
    if row["seq"] != seq or row["prev_hash"] != prev_hash:
        return False
    try:
        payload = canonical.parse(row["payload"])
        if canonical.canonical_bytes(payload).decode("utf-8") != row["payload"]:
            return False
        link = {k: row[k] for k in ("tenant_id", "run_id", "seq", "prev_hash", "event_type", "at_ms")}
        return bool(canonical.digest({**link, "payload": payload}) == row["hash"])
    except (InputError, AttributeError):
        return False


def _broken(run_id: str, seq: object) -> StoreError:
    return StoreError(
        f"the event chain of run `{run_id}` breaks at event {seq}",
        code="event_chain_broken",
        hint="the log was changed outside the gate; keep the file and find out by whom",
    )


def _row(tx: Connection, tenant_id: str, run_id: str) -> RowMapping | None:
    query = select(RUNS).where(RUNS.c.tenant_id == tenant_id, RUNS.c.run_id == run_id).with_for_update()
    return tx.execute(query).mappings().one_or_none()


def _event_rows(tx: Connection, tenant_id: str, run_id: str) -> list[RowMapping]:
    query = select(EVENTS).where(EVENTS.c.tenant_id == tenant_id, EVENTS.c.run_id == run_id).order_by(EVENTS.c.seq)
    return list(tx.execute(query).mappings())


def _record(row: RowMapping) -> RunRecord:
    fields = {k: v for k, v in row.items() if k not in ("head_seq", "head_hash")}
    return RunRecord(**{**fields, "status": RunStatus(row["status"])})


def require_open(tx: Connection, tenant_id: str, run_id: str) -> None:
    """Raises `ConflictError`: `run_unknown`; `run_closed` for one completed, cancelled or stopped."""
    status = RunStatus(locked(tx, tenant_id, run_id)["status"])
    if not RUN_MOVES[status]:
        raise checks.conflict("run_closed", f"the run `{run_id}` is {status}", "start a new run")
