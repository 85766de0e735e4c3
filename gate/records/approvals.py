"""Approval requests and their signed votes, inside a transaction that the caller holds.

Opens no transaction, verifies no signature and decides nothing: a status is applied only where the closed
table of moves has it. Consumption belongs to `gate.records.claims`.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, func, insert, select, update

from gate import canonical
from gate.errors import InputError
from gate.records import checks, runs
from gate.records.clock import now_ms
from gate.records.model import (
    APPROVAL_MOVES,
    VOTE_MOVES,
    ApprovalRecord,
    ApprovalRequest,
    ApprovalStatus,
    RunStatus,
    StoredVote,
)
from gate.records.runs import LockedRun
from gate.records.tables import APPROVAL_VOTES, APPROVALS

MAX_VOTE_BYTES = 16_384
"""Size limit of one signed vote in bytes."""

_OPEN = (ApprovalStatus.PENDING.value, ApprovalStatus.APPROVED.value)
_NAMES = (
    "tenant_id", "run_id", "capability", "contract_id", "principal_id", "agent_id", "session_id", "trace_id",
    "requested_by", "bundle_version", "release_identity",
)  # fmt: skip
_DIGESTS = ("contract_digest", "action_digest", "intent_digest")


def request(tx: Connection, new: ApprovalRequest, *, max_wait_ms: int) -> ApprovalRecord:
    """The open approval for this action and contract, or a new pending one.

    Raises `ConflictError`: `run_unknown`, `run_closed`; `InputError` for a field that no record can hold.
    """
    checks.whole("max_wait_ms", max_wait_ms, low=1, high=checks.MAX_SPAN_MS)
    row: dict[str, Any] = {field: checks.name(field, getattr(new, field)) for field in _NAMES}
    row |= {field: checks.digest(field, getattr(new, field)) for field in _DIGESTS}
    if new.request_fingerprint is not None:
        checks.digest("request_fingerprint", new.request_fingerprint)
    row |= {"reason": checks.text("reason", new.reason), "view": checks.json_object("view", dict(new.view))}
    same = (*_same_action(row), APPROVALS.c.status.in_(_OPEN))
    others = {found["run_id"] for found in _rows(tx, row["tenant_id"], *same)}
    held = runs.all_locked(tx, row["tenant_id"], {row["run_id"], *others})
    run = held[row["run_id"]]
    run.require_open()
    opened = _rows(tx, row["tenant_id"], *same, lock=True)
    now = now_ms(tx)
    for found in opened:
        if found["expires_at_ms"] > now:
            return _record(tx, found)
        if found["run_id"] not in held:
            raise checks.contended()
        _move(tx, held[found["run_id"]], found, ApprovalStatus.EXPIRED, "", "approval_expired")
    highest = select(func.coalesce(func.max(APPROVALS.c.ordinal), 0)).where(APPROVALS.c.tenant_id == row["tenant_id"])
    row |= {
        "approval_id": f"apr-{secrets.token_hex(8)}",
        "nonce": secrets.token_hex(16),
        "ordinal": int(tx.execute(highest).scalar_one()) + 1,
        "status": ApprovalStatus.PENDING.value,
        "status_reason": "",
        "created_at_ms": now,
        "expires_at_ms": now + max_wait_ms,
        "version": 1,
    }
    tx.execute(insert(APPROVALS).values(row))
    keys = ("approval_id", "contract_id", "action_digest", "contract_digest", "status")
    place = {} if new.request_fingerprint is None else {"request_fingerprint": new.request_fingerprint}
    run.append("approval_requested", {**{k: row[k] for k in keys}, **place}, at_ms=now)
    return _record(tx, row)


def find(tx: Connection, tenant_id: str, approval_id: str) -> ApprovalRecord | None:
    """The approval, or None when this tenant has none of that id."""
    return _first(tx, tenant_id, APPROVALS.c.approval_id == approval_id)


def find_for(tx: Connection, tenant_id: str, *, action_digest: str, contract_digest: str) -> ApprovalRecord | None:
    """The newest approval for this action under this contract, whatever its status."""
    same = _same_action({"action_digest": action_digest, "contract_digest": contract_digest})
    return _first(tx, tenant_id, *same)


def find_rejection(tx: Connection, tenant_id: str, *, principal_id: str, intent_digest: str) -> ApprovalRecord | None:
    """The newest rejected approval of this principal with this intent."""
    return _first(
        tx,
        tenant_id,
        APPROVALS.c.principal_id == principal_id,
        APPROVALS.c.intent_digest == intent_digest,
        APPROVALS.c.status == ApprovalStatus.REJECTED.value,
    )


def all_of(tx: Connection, tenant_id: str, *, status: ApprovalStatus | None) -> list[ApprovalRecord]:
    """The approvals of the tenant, newest first."""
    conditions = [] if status is None else [APPROVALS.c.status == status.value]
    return [_record(tx, row) for row in _rows(tx, tenant_id, *conditions)]


def add_vote(
    tx: Connection,
    tenant_id: str,
    approval_id: str,
    *,
    expected_version: int,
    vote: StoredVote,
    to_status: ApprovalStatus,
    reason: str,
    ends_run: RunStatus | None,
) -> ApprovalRecord:
    """Appends a vote to a pending approval and leaves it pending, approved or rejected.

    `ends_run`: the status the run that asked ends with, in the same transaction; None leaves it alone.

    Raises `ConflictError`: `approval_unknown`, `approval_changed`, `approval_transition_illegal`,
    `approval_expired`, `vote_repeated`.
    """
    for part in (vote.payload, vote.signature):
        if type(part) is not bytes or not 0 < len(part) <= MAX_VOTE_BYTES:
            raise InputError("a vote is two byte strings, neither empty nor too long", code="record_field_invalid")
    run, row = _unchanged(tx, tenant_id, approval_id, expected_version)
    before = ApprovalStatus(row["status"])
    if before is not ApprovalStatus.PENDING or to_status not in VOTE_MOVES:
        raise _illegal(before, to_status)
    now = now_ms(tx)
    if row["expires_at_ms"] <= now:
        raise checks.conflict("approval_expired", "the approval request has expired", "ask for a new approval")
    payload_digest = canonical.digest_bytes(vote.payload)
    cast = _vote_rows(tx, tenant_id, approval_id)
    if any(earlier["payload_digest"] == payload_digest for earlier in cast):
        raise checks.conflict("vote_repeated", "this vote has been cast already", "nothing needs to be done")
    tx.execute(
        insert(APPROVAL_VOTES).values(
            tenant_id=tenant_id,
            approval_id=approval_id,
            vote_no=len(cast) + 1,
            payload_digest=payload_digest,
            payload=base64.b64encode(vote.payload).decode("ascii"),
            signature=base64.b64encode(vote.signature).decode("ascii"),
            cast_at_ms=now,
        )
    )
    moved = _move(tx, run, row, to_status, reason, "approval_vote", vote_digest=payload_digest)
    if ends_run is not None:
        runs.end(tx, run, ends_run, reason)
    return _record(tx, moved)


def set_status(
    tx: Connection,
    tenant_id: str,
    approval_id: str,
    *,
    expected_version: int,
    to_status: ApprovalStatus,
    reason: str,
) -> ApprovalRecord:
    """Expires, cancels or revokes.

    Raises `ConflictError`: `approval_unknown`, `approval_changed`, `approval_transition_illegal`, and
    `approval_not_expired` for an expiry that the database clock does not confirm.
    """
    run, row = _unchanged(tx, tenant_id, approval_id, expected_version)
    before = ApprovalStatus(row["status"])
    if to_status not in APPROVAL_MOVES.get(before, frozenset()):
        raise _illegal(before, to_status)
    if to_status is ApprovalStatus.EXPIRED and row["expires_at_ms"] > now_ms(tx):
        raise checks.conflict("approval_not_expired", "the approval has not expired yet", "cancel or revoke it")
    return _record(tx, _move(tx, run, row, to_status, reason, f"approval_{to_status.value}"))


def run_of(tx: Connection, tenant_id: str, approval_id: str) -> str:
    """The run that asked, which never changes; takes no lock. Raises `ConflictError` `approval_unknown`."""
    query = select(APPROVALS.c.run_id).where(APPROVALS.c.tenant_id == tenant_id, APPROVALS.c.approval_id == approval_id)
    found = tx.execute(query).scalar_one_or_none()
    if found is None:
        raise checks.conflict(
            "approval_unknown",
            f"there is no approval `{approval_id}`",
            "list them with `gate approvals list`",
        )
    return str(found)


def locked(tx: Connection, tenant_id: str, approval_id: str) -> RowMapping:
    """The row of an approval whose run is locked, locked until the transaction ends."""
    return _rows(tx, tenant_id, APPROVALS.c.approval_id == approval_id, lock=True)[0]


def mark_consumed(tx: Connection, run: LockedRun, row: RowMapping) -> None:
    """Moves an approved row to `consumed`; the caller has checked it and written the consumption."""
    _move(tx, run, row, ApprovalStatus.CONSUMED, "", "approval_consumed")


def _unchanged(tx: Connection, tenant_id: str, approval_id: str, expected_version: int) -> tuple[LockedRun, RowMapping]:
    run = runs.locked(tx, tenant_id, run_of(tx, tenant_id, approval_id))
    row = locked(tx, tenant_id, approval_id)
    if row["version"] != expected_version:
        raise checks.conflict("approval_changed", f"the approval `{approval_id}` was changed by somebody else")
    return run, row


def _move(
    tx: Connection,
    run: LockedRun,
    row: RowMapping,
    to_status: ApprovalStatus,
    reason: str,
    event_type: str,
    **more: str,
) -> RowMapping:
    moved = tx.execute(
        update(APPROVALS)
        .where(APPROVALS.c.tenant_id == row["tenant_id"], APPROVALS.c.approval_id == row["approval_id"])
        .values(status=to_status.value, status_reason=reason, version=row["version"] + 1)
        .returning(*APPROVALS.c)
    )
    changed = moved.mappings().one()
    run.append(event_type, {"approval_id": row["approval_id"], "from": row["status"], "to": to_status.value, **more})
    return changed


def _illegal(before: ApprovalStatus, after: ApprovalStatus) -> Exception:
    return checks.conflict(
        "approval_transition_illegal",
        f"an approval that is {before} cannot become {after}",
        "ask for a new approval",
    )


def _same_action(row: dict[str, Any]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return (
        APPROVALS.c.action_digest == row["action_digest"],
        APPROVALS.c.contract_digest == row["contract_digest"],
    )


def _rows(
    tx: Connection, tenant_id: str, *conditions: ColumnElement[bool], limit: int | None = None, lock: bool = False
) -> list[RowMapping]:
    query = select(APPROVALS).where(APPROVALS.c.tenant_id == tenant_id, *conditions)
    query = query.order_by(APPROVALS.c.ordinal.desc()).limit(limit)
    return list(tx.execute(query.with_for_update() if lock else query).mappings())


def _first(tx: Connection, tenant_id: str, *conditions: ColumnElement[bool]) -> ApprovalRecord | None:
    rows = _rows(tx, tenant_id, *conditions, limit=1)
    return _record(tx, rows[0]) if rows else None


def _vote_rows(tx: Connection, tenant_id: str, approval_id: str) -> list[RowMapping]:
    query = select(APPROVAL_VOTES).where(
        APPROVAL_VOTES.c.tenant_id == tenant_id, APPROVAL_VOTES.c.approval_id == approval_id
    )
    return list(tx.execute(query.order_by(APPROVAL_VOTES.c.vote_no)).mappings())


def _record(tx: Connection, row: Mapping[Any, Any]) -> ApprovalRecord:
    votes = tuple(
        StoredVote(base64.b64decode(v["payload"]), base64.b64decode(v["signature"]))
        for v in _vote_rows(tx, row["tenant_id"], row["approval_id"])
    )
    fields = {k: v for k, v in row.items() if k != "ordinal"}
    fields |= {"status": ApprovalStatus(row["status"]), "view": canonical.parse(row["view"]), "votes": votes}
    return ApprovalRecord(**fields)
