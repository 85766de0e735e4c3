"""Approval requests and their signed votes, inside a transaction that the caller holds.

Opens no transaction, verifies no signature and decides nothing: a status is applied only where the closed
table of moves has it. Consumption belongs to `gate.records.claims`.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, RowMapping, func, insert, select, update

from gate import canonical
from gate.errors import InputError
from gate.records import approval_rows, checks, runs
from gate.records.clock import now_ms
from gate.records.model import ApprovalRecord, ApprovalRequest, StoredVote
from gate.records.runs import LockedRun
from gate.records.statuses import APPROVAL_MOVES, VOTE_MOVES, ApprovalStatus, RunStatus
from gate.records.tables import APPROVAL_VOTES, APPROVALS

MAX_VOTE_BYTES = 16_384
"""Size limit of one signed vote in bytes."""

_OPEN = (ApprovalStatus.PENDING.value, ApprovalStatus.APPROVED.value)
_NAMES = (
    "tenant_id", "run_id", "capability", "contract_id", "principal_id", "agent_id", "session_id", "trace_id",
    "requested_by", "bundle_version", "release_identity",
)  # fmt: skip
_DIGESTS = ("contract_digest", "action_digest", "intent_digest")
_OPTIONAL = ("capability_version", "idempotency_key", "business_key")


def request(
    tx: Connection,
    new: ApprovalRequest,
    *,
    max_wait_ms: int,
    pauses_run: bool = False,
    min_epoch: int | None = None,
) -> ApprovalRecord:
    """The open approval for this action and contract, or a new pending one; the run is paused for it when asked to.

    An open one from before epoch `min_epoch` of the run is closed, so that the action is confirmed again.

    Raises `ConflictError`: `run_unknown`, `run_closed`; `InputError` for a field that no record can hold.
    """
    checks.whole("max_wait_ms", max_wait_ms, low=1, high=checks.MAX_SPAN_MS)
    row: dict[str, Any] = {field: checks.name(field, getattr(new, field)) for field in _NAMES}
    row |= {field: checks.digest(field, getattr(new, field)) for field in _DIGESTS}
    if new.request_fingerprint is not None:
        checks.digest("request_fingerprint", new.request_fingerprint)
    row |= {"reason": checks.text("reason", new.reason), "view": checks.json_object("view", dict(new.view))}
    row |= {f: checks.optional_name(f, getattr(new, f)) for f in _OPTIONAL}
    row |= _standing(new)
    same = (*approval_rows.same_as(row), APPROVALS.c.status.in_(_OPEN))
    others = {found["run_id"] for found in approval_rows.rows(tx, row["tenant_id"], *same)}
    held = runs.all_locked(tx, row["tenant_id"], {row["run_id"], *others})
    run = held[row["run_id"]]
    run.require_open()
    opened = approval_rows.rows(tx, row["tenant_id"], *same, lock=True)
    now = now_ms(tx)
    for found in opened:
        current = min_epoch is None or found["epoch"] >= min_epoch
        if found["expires_at_ms"] > now and current:
            if pauses_run and found["status"] == ApprovalStatus.PENDING:
                runs.wait(tx, run, found["approval_id"])
            return approval_rows.record(tx, found)
        if found["run_id"] not in held:
            raise checks.contended()
        if not current:
            closed = ApprovalStatus.REVOKED if found["status"] == ApprovalStatus.APPROVED else ApprovalStatus.CANCELLED
            _move(tx, held[found["run_id"]], found, closed, "given before a boundary", f"approval_{closed.value}")
            continue
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
        "escalated_at_ms": None,
        "version": 1,
        "epoch": run.row["epoch"],
    }
    tx.execute(insert(APPROVALS).values(row))
    keys = ("approval_id", "contract_id", "action_digest", "contract_digest", "status")
    place = {} if new.request_fingerprint is None else {"request_fingerprint": new.request_fingerprint}
    run.append("approval_requested", {**{k: row[k] for k in keys}, **place}, at_ms=now)
    if pauses_run:
        runs.wait(tx, run, row["approval_id"])
    return approval_rows.record(tx, row)


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
    resumes_run: bool = False,
) -> ApprovalRecord:
    """Appends a signed word to an approval and moves it as `VOTE_MOVES` has it.

    `ends_run`: the status the run that asked ends with, in the same transaction; None leaves it alone. `resumes_run`:
    the run goes on, if it was paused for this approval.

    Raises `ConflictError`: `approval_unknown`, `approval_changed`, `approval_transition_illegal`,
    `approval_expired`, `approval_dispatched`, `vote_repeated`.
    """
    for part in (vote.payload, vote.signature):
        if type(part) is not bytes or not 0 < len(part) <= MAX_VOTE_BYTES:
            raise InputError("a vote is two byte strings, neither empty nor too long", code="record_field_invalid")
    run, row = _unchanged(tx, tenant_id, approval_id, expected_version)
    before = ApprovalStatus(row["status"])
    if to_status not in VOTE_MOVES.get(before, frozenset()):
        raise _illegal(before, to_status)
    now = now_ms(tx)
    if before is ApprovalStatus.CONSUMED:
        # The approval is locked here and where a tool takes its dispatch: one of the two comes first.
        if not approval_rows.undispatched(tx, tenant_id, approval_id):
            raise checks.conflict("approval_dispatched", "the approved call was started or is over", "see its effect")
    elif row["expires_at_ms"] <= now:
        raise checks.conflict("approval_expired", "the approval request has expired", "ask for a new approval")
    payload_digest = canonical.digest_bytes(vote.payload)
    cast = approval_rows.vote_rows(tx, tenant_id, approval_id)
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
    given = {} if cast else {"epoch": run.row["epoch"]}
    moved = _move(tx, run, row, to_status, reason, "approval_vote", given, vote_digest=payload_digest)
    _settle_run(tx, run, approval_id, ends_run, resumes_run, reason)
    return approval_rows.record(tx, moved)


def escalate(tx: Connection, tenant_id: str, approval_id: str, *, expected_version: int) -> ApprovalRecord:
    """Opens a pending request to the default reviewer too, from now on.

    Raises `ConflictError`: `approval_unknown`, `approval_changed`, `approval_transition_illegal`, `approval_expired`.
    """
    run, row = _unchanged(tx, tenant_id, approval_id, expected_version)
    if row["status"] != ApprovalStatus.PENDING or row["escalated_at_ms"] is not None:
        raise _illegal(ApprovalStatus(row["status"]), "escalated")
    now = now_ms(tx)
    if row["expires_at_ms"] <= now:
        raise checks.conflict("approval_expired", "the approval request has expired", "ask for a new approval")
    changed = tx.execute(
        update(APPROVALS)
        .where(APPROVALS.c.tenant_id == tenant_id, APPROVALS.c.approval_id == approval_id)
        .values(escalated_at_ms=now, version=row["version"] + 1)
        .returning(*APPROVALS.c)
    )
    moved = changed.mappings().one()
    run.append("approval_escalated", {"approval_id": approval_id}, at_ms=now)
    return approval_rows.record(tx, moved)


def set_status(
    tx: Connection,
    tenant_id: str,
    approval_id: str,
    *,
    expected_version: int,
    to_status: ApprovalStatus,
    reason: str,
    ends_run: RunStatus | None = None,
    resumes_run: bool = False,
) -> ApprovalRecord:
    """Expires, cancels or revokes; ends or resumes the run that asked in the same transaction.

    Raises `ConflictError`: `approval_unknown`, `approval_changed`, `approval_transition_illegal`, and
    `approval_not_expired` for an expiry that the database clock does not confirm.
    """
    run, row = _unchanged(tx, tenant_id, approval_id, expected_version)
    before = ApprovalStatus(row["status"])
    if to_status not in APPROVAL_MOVES.get(before, frozenset()):
        raise _illegal(before, to_status)
    if to_status is ApprovalStatus.EXPIRED and row["expires_at_ms"] > now_ms(tx):
        raise checks.conflict("approval_not_expired", "the approval has not expired yet", "cancel or revoke it")
    moved = _move(tx, run, row, to_status, reason, f"approval_{to_status.value}")
    _settle_run(tx, run, approval_id, ends_run, resumes_run, reason)
    return approval_rows.record(tx, moved)


def mark_consumed(tx: Connection, run: LockedRun, row: RowMapping) -> None:
    """Moves an approved row to `consumed`; the caller has checked it and written the consumption."""
    _move(tx, run, row, ApprovalStatus.CONSUMED, "", "approval_consumed")


def mark_used(tx: Connection, run: LockedRun, row: RowMapping, *, use_no: int, last: bool) -> None:
    """Counts one use of a standing approval whose row is locked; after the `last` one it is consumed."""
    to_status = ApprovalStatus.CONSUMED if last else ApprovalStatus.APPROVED
    _move(tx, run, row, to_status, "", "approval_consumed" if last else "approval_used", use_no=use_no)


def _settle_run(
    tx: Connection, run: LockedRun, approval_id: str, ends_run: RunStatus | None, resumes_run: bool, reason: str
) -> None:
    if ends_run is not None:
        runs.end(tx, run, ends_run, reason)
    elif resumes_run:
        runs.resume_from(tx, run, approval_id)


def _standing(new: ApprovalRequest) -> dict[str, Any]:
    if (new.standing_digest is None) != (new.standing_terms is None):
        raise InputError("a standing approval has a digest and terms", code="record_field_invalid")
    if new.standing_digest is None or new.standing_terms is None:
        return {"standing_digest": None, "standing_terms": None}
    return {
        "standing_digest": checks.digest("standing_digest", new.standing_digest),
        "standing_terms": checks.json_object("standing_terms", dict(new.standing_terms)),
    }


def _unchanged(tx: Connection, tenant_id: str, approval_id: str, expected_version: int) -> tuple[LockedRun, RowMapping]:
    run = runs.locked(tx, tenant_id, approval_rows.run_of(tx, tenant_id, approval_id))
    row = approval_rows.locked(tx, tenant_id, approval_id)
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
    changes: Mapping[str, Any] | None = None,
    **more: str | int,
) -> RowMapping:
    moved = tx.execute(
        update(APPROVALS)
        .where(APPROVALS.c.tenant_id == row["tenant_id"], APPROVALS.c.approval_id == row["approval_id"])
        .values(status=to_status.value, status_reason=reason, version=row["version"] + 1, **(changes or {}))
        .returning(*APPROVALS.c)
    )
    changed = moved.mappings().one()
    run.append(event_type, {"approval_id": row["approval_id"], "from": row["status"], "to": to_status.value, **more})
    return changed


def _illegal(before: ApprovalStatus, after: str) -> Exception:
    return checks.conflict(
        "approval_transition_illegal",
        f"an approval that is {before} cannot become {after}",
        "ask for a new approval",
    )
