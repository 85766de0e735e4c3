"""Capability sessions: stateful conversations with a tool's server, inside a transaction that the caller holds.

Opens no transaction and decides nothing: whether a session may be used is the policies' question. Holds no session
id of a server, which is as good as a credential there, but only the digest of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, select, update

from gate.records import checks, runs
from gate.records.clock import NOW, now_ms
from gate.records.model import SessionRecord
from gate.records.statements import InsertNew
from gate.records.statuses import SessionStatus
from gate.records.tables import CAPABILITY_SESSIONS

_NAMES = ("tenant_id", "session_id", "run_id", "principal_id", "trace_session_id", "server")
_INSERT = InsertNew(CAPABILITY_SESSIONS, opened_at_ms=NOW, changed_at_ms=NOW)

_MOVES: Final[Mapping[SessionStatus, frozenset[SessionStatus]]] = {
    SessionStatus.ACTIVE: frozenset({SessionStatus.PAUSED, SessionStatus.EXPIRED, SessionStatus.CLOSED}),
    SessionStatus.PAUSED: frozenset({SessionStatus.ACTIVE, SessionStatus.EXPIRED, SessionStatus.CLOSED}),
    SessionStatus.EXPIRED: frozenset(),
    SessionStatus.CLOSED: frozenset(),
}


def open_session(tx: Connection, new: SessionRecord, *, lifetime_ms: int) -> SessionRecord:
    """Records a new session, active at version 1, that expires `lifetime_ms` from now on the database's clock.

    Raises `ConflictError`: `run_unknown`, `run_closed`, `session_exists`; for one that replaces another also
    `session_unknown`, `session_not_ended` and `session_replaced`; `InputError` for a field that no record can hold.
    """
    row: dict[str, Any] = {field: checks.name(field, getattr(new, field)) for field in _NAMES}
    row |= {
        "capability": checks.optional_name("capability", new.capability),
        "remote_digest": None if new.remote_digest is None else checks.digest("remote_digest", new.remote_digest),
        "reinitialized_from": checks.optional_name("reinitialized_from", new.reinitialized_from),
        "status": str(SessionStatus.ACTIVE),
        "version": 1,
        "paused_at_ms": 0,
        "progress_events": 0,
        "elicitations": 0,
    }
    lifetime_ms = checks.whole("lifetime_ms", lifetime_ms, low=1, high=checks.MAX_SPAN_MS)
    run = runs.locked(tx, row["tenant_id"], row["run_id"])
    run.require_open()
    now = now_ms(tx)
    if row["reinitialized_from"] is not None:
        _require_replaceable(tx, row, now)
    inserted = _INSERT(tx, {**row, "expires_at_ms": now + lifetime_ms})
    if inserted is None:
        raise checks.conflict("session_exists", f"there is a session `{row['session_id']}` already", "choose a new id")
    told = ("session_id", "server", "capability", "reinitialized_from")
    run.append("session_opened", {field: row[field] for field in told})
    return _record(inserted)


def _require_replaceable(tx: Connection, row: Mapping[str, Any], now: int) -> None:
    """The run is locked: of two that would replace one session the second finds the first."""
    old = find(tx, row["tenant_id"], row["reinitialized_from"])
    if old is None or (old.run_id, old.principal_id) != (row["run_id"], row["principal_id"]):
        raise checks.conflict("session_unknown", "the session to be replaced is not known in this run")
    if old.status is not SessionStatus.EXPIRED and now < old.expires_at_ms:
        raise checks.conflict("session_not_ended", "the session to be replaced has not expired")
    query = select(CAPABILITY_SESSIONS.c.session_id).where(
        CAPABILITY_SESSIONS.c.tenant_id == row["tenant_id"],
        CAPABILITY_SESSIONS.c.reinitialized_from == row["reinitialized_from"],
    )
    if tx.execute(query).first() is not None:
        raise checks.conflict("session_replaced", "the session was replaced already")


def find(tx: Connection, tenant_id: str, session_id: str) -> SessionRecord | None:
    """The session, or None when this tenant has none of that id."""
    table = CAPABILITY_SESSIONS
    query = select(table).where(table.c.tenant_id == tenant_id, table.c.session_id == session_id)
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else _record(row)


def move(
    tx: Connection, tenant_id: str, session_id: str, *, expected_version: int, status: SessionStatus
) -> SessionRecord:
    """Moves a session. Raises `ConflictError`: `session_unknown`, `session_changed`, `session_transition_illegal`.

    A session past its expiry can be said to have expired, and nothing else.
    """
    old, run = _locked(tx, tenant_id, session_id)
    now = now_ms(tx)
    over = now >= old.expires_at_ms and status not in {SessionStatus.EXPIRED, SessionStatus.CLOSED}
    if old.version != expected_version:
        raise checks.conflict("session_changed", f"session `{session_id}` changed meanwhile")
    if status not in _MOVES[old.status] or over:
        raise checks.conflict("session_transition_illegal", f"a session does not go from {old.status} to {status}")
    paused = now if status is SessionStatus.PAUSED else old.paused_at_ms or 0
    _change(tx, old, {"status": str(status), "paused_at_ms": paused})
    run.append("session_moved", {"session_id": session_id, "from": str(old.status), "to": str(status)})
    return replace(old, status=status, version=old.version + 1, paused_at_ms=paused or None)


def note(tx: Connection, tenant_id: str, session_id: str, kind: str) -> SessionRecord:
    """Counts what the server of a live session sent: `progress` or `elicitation`.

    Raises `ConflictError`: `session_unknown`, `session_not_live`.
    """
    old, run = _locked(tx, tenant_id, session_id)
    if old.status is not SessionStatus.ACTIVE or now_ms(tx) >= old.expires_at_ms:
        raise checks.conflict("session_not_live", f"session `{session_id}` has ended, expired or is paused")
    column = {"progress": "progress_events", "elicitation": "elicitations"}[kind]
    count = getattr(old, column) + 1
    _change(tx, old, {column: count})
    run.append(f"session_{kind}", {"session_id": session_id, "count": count})
    return replace(old, **{column: count}, version=old.version + 1)


def _locked(tx: Connection, tenant_id: str, session_id: str) -> tuple[SessionRecord, runs.LockedRun]:
    seen = find(tx, tenant_id, session_id)
    if seen is None:
        raise checks.conflict("session_unknown", f"there is no session `{session_id}`", "open it first")
    run = runs.locked(tx, tenant_id, seen.run_id)
    # Read again under the lock of its run, which every change of a session takes.
    locked = find(tx, tenant_id, session_id)
    if locked is None:
        raise checks.contended()
    return locked, run


def _change(tx: Connection, old: SessionRecord, fields: Mapping[str, Any]) -> None:
    table = CAPABILITY_SESSIONS
    where = (
        table.c.tenant_id == old.tenant_id,
        table.c.session_id == old.session_id,
        table.c.version == old.version,
    )
    changed = tx.execute(update(table).where(*where).values(**fields, version=old.version + 1, changed_at_ms=NOW))
    if changed.rowcount != 1:
        raise checks.contended()


def _record(row: RowMapping) -> SessionRecord:
    fields = ("capability", "remote_digest", "reinitialized_from", "expires_at_ms", "version")
    return SessionRecord(
        **{field: row[field] for field in (*_NAMES, *fields, "progress_events", "elicitations")},
        status=SessionStatus(row["status"]),
        paused_at_ms=row["paused_at_ms"] or None,
    )
