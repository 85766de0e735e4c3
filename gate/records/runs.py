"""Runs and their hash-chained event logs, inside a transaction that the caller holds.

Opens no transaction and decides nothing. Every query names the tenant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from gate import canonical
from gate.errors import InputError, StoreError
from gate.records import checks, marks
from gate.records.clock import now_ms
from gate.records.model import Event, RunRecord
from gate.records.statements import InsertAndUpdate, InsertNew
from gate.records.statuses import RUN_MOVES, RunStatus
from gate.records.tables import CONSTRAINT_VERSIONS, EVENTS, RUNS

GENESIS = marks.GENESIS
"""`prev_hash` of the first event of every run."""

MAX_EVENT_BYTES = 16_384
"""Size limit of one event payload in bytes: an event names things, it does not carry them."""


_READ = select(RUNS).where(RUNS.c.tenant_id == bindparam("tenant"), RUNS.c.run_id == bindparam("run"))
_LOCK = _READ.with_for_update()
_INSERT = InsertNew(RUNS)
_INSERT_PRINCIPAL = InsertNew(CONSTRAINT_VERSIONS)
_APPEND = InsertAndUpdate(
    insert(EVENTS).values({column.name: bindparam(f"new_{column.name}") for column in EVENTS.c}),
    update(RUNS)
    .where(RUNS.c.tenant_id == bindparam("new_tenant_id"), RUNS.c.run_id == bindparam("new_run_id"))
    .values(head_seq=bindparam("new_seq"), head_hash=bindparam("new_hash")),
)


class LockedRun:
    """A run whose row is locked until the transaction ends, with the end of its event chain.

    Every transaction locks in one order: runs by id, constraint version, approval, idempotency key,
    effect, counters by name.
    """

    def __init__(self, tx: Connection, row: RowMapping) -> None:
        self.row = row
        self._tx = tx
        self._seq, self._hash = int(row["head_seq"]), str(row["head_hash"])
        self._links: marks.Links | None = None

    @property
    def head(self) -> tuple[int, str]:
        """Number and hash of the last event."""
        return self._seq, self._hash

    @property
    def status(self) -> RunStatus:
        """The status the run has."""
        return RunStatus(self.row["status"])

    def require_open(self) -> None:
        """Raises `ConflictError` `run_closed` for a run completed, cancelled or stopped."""
        if not RUN_MOVES[self.status]:
            raise checks.conflict("run_closed", f"the run `{self.row['run_id']}` is {self.status}", "start a new run")

    def append(self, event_type: str, payload: dict[str, Any], *, at_ms: int | None = None) -> Event:
        """Adds one link to the chain, at `at_ms` of the database's clock or now. Raises `InputError`."""
        return self.extend(event_type, [payload], at_ms=now_ms(self._tx) if at_ms is None else at_ms)[0]

    def extend(self, event_type: str, payloads: Iterable[dict[str, Any]], *, at_ms: int) -> list[Event]:
        """Adds several links of one type, in two statements for each stretch between marks. Raises `InputError`."""
        pending: list[dict[str, Any]] = []
        events: list[Event] = []
        for payload in payloads:
            text = checks.json_object("payload", payload)
            if len(text.encode("utf-8")) > MAX_EVENT_BYTES:
                raise InputError(f"an event payload is over {MAX_EVENT_BYTES} bytes", code="event_too_large")
            if (self._seq + 1) % marks.EVERY == 0:
                # A mark walks what stands before it, so that has to stand there.
                self._write(pending)
                pending = [self._mark(at_ms)]
            # Parsed again, so that what is returned is what a later reader will see.
            seen = canonical.parse(text)
            row = self._link(event_type, text, at_ms)
            pending.append(row)
            events.append(Event(**{**row, "payload": seen}))
        self._write(pending)
        return events

    def _mark(self, at_ms: int) -> dict[str, Any]:
        place = {"tenant_id": self.row["tenant_id"], "run_id": self.row["run_id"]}
        mark = marks.payload(self._tx, **place, seq=self._seq + 1, prev_hash=self._hash)
        return self._link(marks.MARK, checks.json_object("payload", mark), at_ms)

    def _link(self, event_type: str, text: str, at_ms: int) -> dict[str, Any]:
        """The row of the next link; the chain's end moves on to it."""
        place = {"tenant_id": self.row["tenant_id"], "run_id": self.row["run_id"]}
        if self._links is None:
            self._links = marks.Links(**place)
        before, self._seq = self._hash, self._seq + 1
        self._hash = self._links.digest(self._seq, before, event_type, text, at_ms)
        fields = {"seq": self._seq, "prev_hash": before, "hash": self._hash, "event_type": event_type}
        return {**place, **fields, "payload": text, "at_ms": at_ms}

    def _write(self, rows: list[dict[str, Any]]) -> None:
        if len(rows) == 1:
            _APPEND(self._tx, {f"new_{column}": value for column, value in rows[0].items()})
        elif rows:
            self._tx.execute(insert(EVENTS), rows)
            self._tx.execute(
                update(RUNS)
                .where(RUNS.c.tenant_id == self.row["tenant_id"], RUNS.c.run_id == self.row["run_id"])
                .values(head_seq=rows[-1]["seq"], head_hash=rows[-1]["hash"])
            )


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
    for field in ("delegated_principal_id", "delegated_scope", "parent_run_id", "forked_from"):
        row[field] = checks.optional_name(field, getattr(new, field))
    row |= {
        "status": RunStatus.RUNNING.value,
        "status_reason": checks.text("status_reason", new.status_reason),
    }
    row |= {"version": 1, "head_seq": 0, "head_hash": GENESIS, "epoch": 1}
    row |= {"waiting_for": None, "boundary_id": None}
    # Before the run: whoever locks both locks the run first, and this one is nobody's yet.
    _INSERT_PRINCIPAL(tx, {"tenant_id": row["tenant_id"], "principal_id": row["principal_id"], "version": 0})
    inserted = _INSERT(tx, row)
    if inserted is None:
        raise checks.conflict("run_exists", f"the run `{row['run_id']}` exists already", "choose a new run id")
    lineage = {} if new.parent_run_id is None else {"parent_run_id": new.parent_run_id, "forked_from": new.forked_from}
    LockedRun(tx, inserted).append("run_created", {"agent_id": new.agent_id, "status": "running", **lineage})
    return _record(inserted)


def find(tx: Connection, tenant_id: str, run_id: str) -> RunRecord | None:
    """The run, or None when this tenant has none of that id."""
    row = head(tx, tenant_id, run_id)
    return None if row is None else _record(row)


def of_trace(tx: Connection, tenant_id: str, trace_id: str) -> list[RunRecord]:
    """The runs of a trace, by run id."""
    query = select(RUNS).where(RUNS.c.tenant_id == tenant_id, RUNS.c.trace_id == trace_id).order_by(RUNS.c.run_id)
    return [_record(row) for row in tx.execute(query).mappings()]


def head(tx: Connection, tenant_id: str, run_id: str) -> RowMapping | None:
    """The run's row with `head_seq` and `head_hash`, not locked; or None."""
    return tx.execute(_READ, {"tenant": tenant_id, "run": run_id}).mappings().one_or_none()


def locked(tx: Connection, tenant_id: str, run_id: str) -> LockedRun:
    """The run, locked until the transaction ends. Raises `ConflictError` `run_unknown`."""
    row = tx.execute(_LOCK, {"tenant": tenant_id, "run": run_id}).mappings().one_or_none()
    if row is None:
        raise checks.conflict("run_unknown", f"there is no run `{run_id}`", "create the run first")
    return LockedRun(tx, row)


def all_locked(tx: Connection, tenant_id: str, run_ids: Iterable[str]) -> dict[str, LockedRun]:
    """Several runs by id, locked in the one order. Raises `ConflictError` `run_unknown`."""
    return {run_id: locked(tx, tenant_id, run_id) for run_id in sorted(set(run_ids))}


def set_status(
    tx: Connection, tenant_id: str, run_id: str, *, expected_version: int, status: RunStatus, reason: str
) -> RunRecord:
    """Moves the run. Raises `ConflictError`: `run_unknown`, `run_changed`, `run_transition_illegal`."""
    run = locked(tx, tenant_id, run_id)
    if run.row["version"] != expected_version:
        raise checks.conflict("run_changed", f"the run `{run_id}` was changed by somebody else")
    if status is RunStatus.RUNNING and run.row["boundary_id"] is not None:
        raise checks.conflict("boundary_open", "a boundary of the run is not resumed", "resume it first")
    if status not in RUN_MOVES[run.status]:
        raise checks.conflict(
            "run_transition_illegal", f"a run that is {run.status} cannot become {status}", "start a new run"
        )
    return _moved(tx, run, status, reason)


def end(tx: Connection, run: LockedRun, status: RunStatus, reason: str) -> None:
    """Ends the locked run, whatever its version; harmless when it has ended already."""
    if status in RUN_MOVES[run.status]:
        _moved(tx, run, status, reason)


def wait(tx: Connection, run: LockedRun, approval_id: str) -> None:
    """Pauses the locked run for an approval; harmless when it does not run, or waits for another already."""
    if run.status is RunStatus.RUNNING:
        _moved(tx, run, RunStatus.PAUSED, f"waits for approval {approval_id}", waiting_for=approval_id)


def resume_from(tx: Connection, run: LockedRun, approval_id: str) -> None:
    """Lets the locked run go on that was paused for this approval; harmless for any other."""
    if run.status is RunStatus.PAUSED and run.row["waiting_for"] == approval_id:
        _moved(tx, run, RunStatus.RUNNING, f"approval {approval_id} is no longer waited for")


def _moved(
    tx: Connection, run: LockedRun, status: RunStatus, reason: str, *, waiting_for: str | None = None
) -> RunRecord:
    before = run.status
    moved = tx.execute(
        update(RUNS)
        .where(RUNS.c.tenant_id == run.row["tenant_id"], RUNS.c.run_id == run.row["run_id"])
        .values(status=status.value, status_reason=reason, version=run.row["version"] + 1, waiting_for=waiting_for)
        .returning(*RUNS.c)
    )
    row = moved.mappings().one()
    run.append("run_status_changed", {"from": before.value, "to": status.value})
    return _record(row)


def append(tx: Connection, tenant_id: str, run_id: str, event_type: str, payload: dict[str, Any]) -> Event:
    """Adds one link to the chain of the run; reads only its head.

    Raises `ConflictError` `run_unknown`, `InputError`.
    """
    checks.json_object("payload", payload)
    return locked(tx, tenant_id, run_id).append(event_type, payload)


TELLING_WINDOW = 500
"""How many of the last events of a range are looked through for those that tell something."""

_TELLING = (
    *("constraint_recorded", "constraint_withdrawn", "progress_recorded", "obligation_opened", "obligation_closed"),
    *("approval_requested", "approval_vote", "approval_consumed", "approval_revoked"),
    *("effect_claimed", "effect_settled", "effect_lease_expired", "effect_reconciled"),
)


def telling_events(
    tx: Connection, tenant_id: str, run_id: str, *, first_seq: int, last_seq: int, limit: int
) -> list[Event]:
    """The last `limit` events of the range that name a constraint, an approval, an effect or progress, in order.

    Looks at the last `TELLING_WINDOW` events only, so that it costs the same over any log. Raises `StoreError`
    `event_chain_broken` for an unreadable one.
    """
    first_seq = max(first_seq, last_seq - TELLING_WINDOW + 1)
    query = (
        select(EVENTS)
        .where(EVENTS.c.tenant_id == tenant_id, EVENTS.c.run_id == run_id)
        .where(EVENTS.c.seq >= first_seq, EVENTS.c.seq <= last_seq, EVENTS.c.event_type.in_(_TELLING))
        .order_by(EVENTS.c.seq.desc())
        .limit(limit)
    )
    return [_event(row) for row in reversed(tx.execute(query).mappings().all())]


def events(tx: Connection, tenant_id: str, run_id: str) -> list[Event]:
    """The events of the run in order, unverified.

    Raises `StoreError` `event_chain_broken` for an unreadable one.
    """
    return [_event(row) for row in event_rows(tx, tenant_id, run_id)]


def _event(row: RowMapping) -> Event:
    try:
        payload = canonical.parse(row["payload"])
    except (InputError, AttributeError) as exc:
        raise broken(row["run_id"], row["seq"]) from exc
    return Event(**{**row, "payload": payload})


def event_rows(tx: Connection, tenant_id: str, run_id: str, *, from_seq: int = 0) -> Iterator[RowMapping]:
    """The rows of the run's events from `from_seq` on in order, read a thousand at a time."""
    query = select(EVENTS).where(EVENTS.c.tenant_id == tenant_id, EVENTS.c.run_id == run_id)
    if from_seq > 0:
        query = query.where(EVENTS.c.seq >= from_seq)
    query = query.order_by(EVENTS.c.seq)
    yield from tx.execute(query, execution_options={"yield_per": 1000}).mappings()


def broken(run_id: str, seq: object) -> StoreError:
    """The error for a chain that does not hold at event `seq`."""
    return StoreError(
        f"the event chain of run `{run_id}` breaks at event {seq}",
        code="event_chain_broken",
        hint="the log was changed outside the gate; keep the file and find out by whom",
    )


def _record(row: RowMapping) -> RunRecord:
    fields = {k: v for k, v in row.items() if k not in ("head_seq", "head_hash")}
    return RunRecord(**{**fields, "status": RunStatus(row["status"])})
