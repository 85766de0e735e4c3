"""The dispatch of a claimed effect: taken once, by the tool itself, while everything the claim stood on still stands.

Inside a transaction that the caller holds. Decides nothing: it compares the records with what a claim says, and a tool
that finds any difference does not start.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, select

from gate.errors import ConflictError
from gate.records import approval_rows, checks, denied_keys, effects, runs
from gate.records.clock import NOW, now_ms
from gate.records.keys import EffectKey
from gate.records.model import EffectRecord
from gate.records.statements import InsertNew
from gate.records.statuses import ApprovalStatus, EffectStatus, RunStatus
from gate.records.tables import APPROVAL_CONSUMPTIONS, APPROVAL_USES, DISPATCHES

_TAKE = InsertNew(DISPATCHES, DISPATCHES.c.fencing, dispatched_at_ms=NOW)
_AGAIN = "nothing was started; decide about the call anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """The claim that a tool was handed, to be compared with the records."""

    tenant_id: str
    run_id: str
    principal_id: str
    capability: str
    business_key: str
    fencing: int
    action_digest: str
    approval_id: str | None
    """The approval that the claim consumed; None when it consumed none."""
    dispatched_by: str
    """The tool's own name for itself."""

    def key(self) -> EffectKey:
        """The effect's key, after every field was looked at. Raises `InputError`."""
        checks.name("run_id", self.run_id)
        checks.whole("fencing", self.fencing, low=1)
        checks.digest("action_digest", self.action_digest)
        checks.optional_name("approval_id", self.approval_id)
        checks.name("dispatched_by", self.dispatched_by)
        return EffectKey.checked(self.tenant_id, self.principal_id, self.capability, self.business_key)


def take(tx: Connection, wanted: Dispatch, key: EffectKey) -> EffectRecord:
    """1 run, 2 approval, 3 effect: compared with the claim; then the dispatch is taken, which can be done once.

    Raises `ConflictError`: `run_unknown`, `run_not_running`, `claim_unknown`, `call_token_replayed`, `claim_fenced`,
    `claim_settled`, `claim_action_mismatch`, `lease_expired`, `approval_unknown`, `approval_not_consumed`,
    `approval_revoked`, `approval_key_denied`.
    """
    asking = wanted.run_id
    if wanted.approval_id is not None:
        asking = approval_rows.run_of(tx, wanted.tenant_id, wanted.approval_id)
    run = runs.all_locked(tx, wanted.tenant_id, {wanted.run_id, asking})[wanted.run_id]
    approval = None
    if wanted.approval_id is not None:
        approval = approval_rows.locked(tx, wanted.tenant_id, wanted.approval_id)
    row = effects.locked_row(tx, key)
    if row is None or row["run_id"] != wanted.run_id:
        raise checks.conflict("claim_unknown", "no such effect was claimed in this run", _AGAIN)
    _check_effect(tx, wanted, key, row)
    if run.status is not RunStatus.RUNNING:
        raise checks.conflict("run_not_running", f"the run is {run.status}", _AGAIN)
    if approval is not None:
        _check_approval(tx, wanted, approval)
    taken = _TAKE(
        tx,
        {
            "tenant_id": key.tenant_id,
            "principal_id": key.principal_id,
            "capability": key.capability,
            "business_key": key.business_key,
            "fencing": wanted.fencing,
            "run_id": wanted.run_id,
            "dispatched_by": wanted.dispatched_by,
        },
    )
    if taken is None:
        raise _replayed()
    fields = {
        **key.event_fields(),
        "action_digest": wanted.action_digest,
        "fencing": wanted.fencing,
        "status": EffectStatus.IN_FLIGHT.value,
        "dispatched_by": wanted.dispatched_by,
    }
    run.append("effect_dispatched", fields)
    return effects.record(row)


def taken(tx: Connection, key: EffectKey, fencing: int) -> bool:
    """The tool took the dispatch of this claim."""
    query = select(DISPATCHES.c.fencing).where(
        DISPATCHES.c.tenant_id == key.tenant_id,
        DISPATCHES.c.principal_id == key.principal_id,
        DISPATCHES.c.capability == key.capability,
        DISPATCHES.c.business_key == key.business_key,
        DISPATCHES.c.fencing == fencing,
    )
    return tx.execute(query).first() is not None


def _check_effect(tx: Connection, wanted: Dispatch, key: EffectKey, row: RowMapping) -> None:
    if taken(tx, key, wanted.fencing):
        raise _replayed()
    if row["fencing"] != wanted.fencing:
        raise checks.conflict("claim_fenced", "the claim was reconciled or taken over since", _AGAIN)
    if row["status"] != EffectStatus.IN_FLIGHT:
        raise checks.conflict("claim_settled", f"the effect is {row['status']} already", _AGAIN)
    if row["action_digest"] != wanted.action_digest:
        raise checks.conflict("claim_action_mismatch", "the claim is for another action", _AGAIN)
    # Read under the lock: the wait for it can have lasted past the lease.
    if row["lease_expires_at_ms"] <= now_ms(tx):
        raise checks.conflict("lease_expired", "the claim's lease ran out before the tool was started", _AGAIN)


def _check_approval(tx: Connection, wanted: Dispatch, row: RowMapping) -> None:
    status = ApprovalStatus(row["status"])
    if status not in (ApprovalStatus.CONSUMED, ApprovalStatus.APPROVED):
        raise checks.conflict("approval_revoked", f"the approval is {status}", _AGAIN)
    # An approval for one execution is consumed by it; a standing one has a row for each use.
    consumed = any(
        tx.execute(
            select(table.c.approval_id).where(
                table.c.tenant_id == wanted.tenant_id,
                table.c.approval_id == wanted.approval_id,
                table.c.run_id == wanted.run_id,
                table.c.principal_id == wanted.principal_id,
                table.c.capability == wanted.capability,
                table.c.business_key == wanted.business_key,
                table.c.fencing == wanted.fencing,
            )
        ).first()
        for table in (APPROVAL_CONSUMPTIONS, APPROVAL_USES)
    )
    if not consumed:
        raise checks.conflict("approval_not_consumed", "the claim did not consume this approval", _AGAIN)
    votes = approval_rows.vote_payloads(tx, wanted.tenant_id, str(wanted.approval_id))
    if denied_keys.signed_any(tx, wanted.tenant_id, votes):
        raise checks.conflict("approval_key_denied", "a key that signed the approval was denied since", _AGAIN)


def _replayed() -> ConflictError:
    return checks.conflict("call_token_replayed", "the call was started once already", "a claim starts its tool once")
