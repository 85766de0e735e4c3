"""The claim: one transaction in which everything the decision read still holds, and the effect is taken.

Opens no transaction and decides nothing: each step compares and refuses. The approval is consumed here,
before the effect, so a crash afterwards leaves it spent and the outcome unknown.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from gate.errors import InputError
from gate.records import approval_rows, approvals, checks, constraints, counters, denied_keys, effects, history, runs
from gate.records.clock import NOW, now_ms
from gate.records.keys import EffectKey
from gate.records.model import Claim, Claimed
from gate.records.runs import LockedRun
from gate.records.statements import InsertNew, InsertNewPair
from gate.records.statuses import ApprovalStatus, EffectStatus, RunStatus
from gate.records.tables import APPROVAL_CONSUMPTIONS, APPROVAL_USES, EFFECTS, IDEMPOTENCY

_LEASE_END = NOW + bindparam("lease_ms")
_USE_KEY = InsertNew(IDEMPOTENCY, IDEMPOTENCY.c.action_digest, first_used_at_ms=NOW)
_FIRST_ATTEMPT = InsertNewPair(
    IDEMPOTENCY,
    EFFECTS,
    first_computed={"first_used_at_ms": NOW},
    second_computed={"lease_expires_at_ms": _LEASE_END, "updated_at_ms": NOW},
)


def checked(claim: Claim) -> EffectKey:
    """The effect's key, after every field of the claim was looked at. Raises `InputError`."""
    for field in ("run_id", "idempotency_key", "owner"):
        checks.name(field, getattr(claim, field))
    checks.digest("action_digest", claim.action_digest)
    checks.whole("run_version", claim.run_version, low=1)
    checks.whole("lease_ms", claim.lease_ms, low=1, high=checks.MAX_SPAN_MS)
    if claim.effect_version is not None:
        checks.whole("effect_version", claim.effect_version, low=1)
    if (claim.approval_id is None) != (claim.approval_version is None):
        raise InputError("an approval is claimed by its id and its version", code="record_field_invalid")
    if claim.approval_id is not None:
        checks.name("approval_id", claim.approval_id)
        checks.whole("approval_version", claim.approval_version, low=1)
    for field in ("intent_digest", "standing_digest"):
        if getattr(claim, field) is not None:
            checks.digest(field, getattr(claim, field))
    checks.whole("max_uses", claim.max_uses, low=1)
    checks.whole("constraint_version", claim.constraint_version)
    if (claim.standing_digest is None) != (claim.max_uses == 1):
        raise InputError("a standing approval has a digest and more than one use", code="record_field_invalid")
    counters.checked(claim.counters)
    if claim.step is not None:
        history.checked(claim.step)
    return EffectKey.checked(claim.tenant_id, claim.principal_id, claim.capability, claim.business_key)


def claim(tx: Connection, wanted: Claim, key: EffectKey) -> Claimed:
    """1 run, 2 constraints, 3 approval, 4 idempotency key, 5 effect, 6 counters: compared with what was
    read, then taken together.

    Raises `ConflictError`: `run_unknown`, `run_not_running`, `run_changed`, `constraints_changed`, `approval_unknown`,
    `approval_rejected`, `approval_key_denied`,
    `approval_consumed`, `approval_not_approved`, `approval_changed`, `approval_digest_mismatch`,
    `approval_expired`, `idempotency_conflict`, `claim_lost`, `counter_changed`, `counter_exceeded`, `history_changed`.
    """
    run, asking_run = _locked_runs(tx, wanted)
    _check_run(run.row, wanted)
    _check_constraints(tx, wanted)
    approval = _check_approval(tx, wanted)
    _check_rejection(tx, wanted)
    effect = _take_effect(tx, wanted, key)
    now = int(effect["updated_at_ms"])
    spent = counters.spend(tx, key, effect["attempt"], counters.checked(wanted.counters), now)
    if approval is not None:
        _consume(tx, wanted, asking_run, approval, fencing=effect["fencing"], now=now)
    fields: dict[str, Any] = {
        **key.event_fields(),
        "action_digest": wanted.action_digest,
        "approval_id": wanted.approval_id,
        "fencing": effect["fencing"],
        "status": EffectStatus.IN_FLIGHT.value,
        **spent,
    }
    if wanted.step is not None:
        # Before the claim's own event: an outcome in the log belongs to the last step before it.
        history.append(tx, run, wanted.step, {**key.event_fields(), "status": EffectStatus.IN_FLIGHT.value}, at_ms=now)
    run.append("effect_claimed", fields, at_ms=now)
    return Claimed(effects.record(effect), wanted.approval_id)


def _locked_runs(tx: Connection, wanted: Claim) -> tuple[LockedRun, LockedRun]:
    """The run that claims and the run that asked for the approval, which are mostly the same."""
    if wanted.approval_id is None:
        run = runs.locked(tx, wanted.tenant_id, wanted.run_id)
        return run, run
    asking = approval_rows.run_of(tx, wanted.tenant_id, wanted.approval_id)
    held = runs.all_locked(tx, wanted.tenant_id, {wanted.run_id, asking})
    return held[wanted.run_id], held[asking]


def _check_run(run: RowMapping, wanted: Claim) -> None:
    if run["status"] != RunStatus.RUNNING:
        raise checks.conflict("run_not_running", f"the run is {run['status']}", "resume it or start a new run")
    if run["boundary_id"] is not None:
        raise checks.conflict("boundary_open", "a boundary of the run is not resumed", "resume it first")
    if run["version"] != wanted.run_version:
        raise checks.conflict("run_changed", "the run was changed after the decision")


def _check_constraints(tx: Connection, wanted: Claim) -> None:
    """What a user forbade in any run since the decision beats it. Held until the claim is made."""
    if constraints.version(tx, wanted.tenant_id, wanted.principal_id, locked=True) != wanted.constraint_version:
        raise checks.conflict("constraints_changed", "the user's constraints were changed after the decision")


def _check_approval(tx: Connection, wanted: Claim) -> RowMapping | None:
    if wanted.approval_id is None:
        return None
    row = approval_rows.locked(tx, wanted.tenant_id, wanted.approval_id)
    again = "ask for a new approval"
    query = select(APPROVAL_CONSUMPTIONS.c.approval_id).where(
        APPROVAL_CONSUMPTIONS.c.tenant_id == wanted.tenant_id,
        APPROVAL_CONSUMPTIONS.c.approval_id == wanted.approval_id,
    )
    # The append-only row counts too: a status that was set back does not make an approval new.
    if row["status"] == ApprovalStatus.CONSUMED or tx.execute(query).first() is not None:
        raise checks.conflict("approval_consumed", "the approval has been used already", again)
    if row["status"] != ApprovalStatus.APPROVED:
        raise checks.conflict("approval_not_approved", f"the approval is {row['status']}", again)
    if row["version"] != wanted.approval_version:
        raise checks.conflict("approval_changed", "the approval was changed after the decision")
    # A standing approval is for what it stands for, and an approval of one execution for its action.
    if row["standing_digest"] != wanted.standing_digest or (
        wanted.standing_digest is None and row["action_digest"] != wanted.action_digest
    ):
        raise checks.conflict("approval_digest_mismatch", "the approval is for another action", again)
    if (
        wanted.standing_digest is not None
        and approval_rows.uses_of(tx, wanted.tenant_id, wanted.approval_id) >= wanted.max_uses
    ):
        raise checks.conflict("approval_consumed", "the approval has been used as often as it may be", again)
    votes = approval_rows.vote_payloads(tx, wanted.tenant_id, wanted.approval_id)
    if denied_keys.signed_any(tx, wanted.tenant_id, votes):
        raise checks.conflict("approval_key_denied", "a key that signed the approval was denied since", again)
    # Read under the lock: the wait for it can have lasted past the expiry.
    if row["expires_at_ms"] <= now_ms(tx):
        raise checks.conflict("approval_expired", "the approval has expired", again)
    return row


def _check_rejection(tx: Connection, wanted: Claim) -> None:
    """A rejection that was recorded after the decision, under whatever key, beats the approval and the permit."""
    digests = [d for d in (wanted.intent_digest, wanted.standing_digest) if d is not None]
    if wanted.intent_digest is not None and approval_rows.rejected_meanwhile(
        tx, wanted.tenant_id, wanted.principal_id, digests
    ):
        raise checks.conflict("approval_rejected", "the same intent was rejected after the decision")


def _take_effect(tx: Connection, wanted: Claim, key: EffectKey) -> RowMapping:
    """The row of the effect, in flight, under an idempotency key that is for this action."""
    first_use = {
        "tenant_id": wanted.tenant_id,
        "principal_id": wanted.principal_id,
        "capability": wanted.capability,
        "idempotency_key": wanted.idempotency_key,
        "action_digest": wanted.action_digest,
        "run_id": wanted.run_id,
    }
    taken: dict[str, Any] = {
        "status": EffectStatus.IN_FLIGHT.value,
        "idempotency_key": wanted.idempotency_key,
        "action_digest": wanted.action_digest,
        "run_id": wanted.run_id,
        "owner": wanted.owner,
        "receipt": None,
        "evidence_ref": None,
    }
    if wanted.effect_version is None:
        new = {
            **{"tenant_id": key.tenant_id, "principal_id": key.principal_id},
            **{"capability": key.capability, "business_key": key.business_key},
            **taken,
            **{"late_receipt": None, "fencing": 1, "attempt": 1, "version": 1, "lease_ms": wanted.lease_ms},
        }
        first, row = _FIRST_ATTEMPT(tx, first_use, new)
    else:
        first, row = _USE_KEY(tx, first_use) is not None, _taken_again(tx, wanted, key, taken)
    if not first:
        _check_idempotency_key(tx, wanted)
    if row is None:
        raise checks.conflict("claim_lost", "the effect was claimed or changed by somebody else")
    return row


def _taken_again(tx: Connection, wanted: Claim, key: EffectKey, taken: dict[str, Any]) -> RowMapping | None:
    found = effects.locked_row(tx, key)
    if (
        found is None
        or found["version"] != wanted.effect_version
        or found["status"] != EffectStatus.FAILED_BEFORE_EFFECT
    ):
        return None
    again = {
        **taken,
        "lease_expires_at_ms": NOW + wanted.lease_ms,
        "updated_at_ms": NOW,
        "fencing": found["fencing"] + 1,
        "attempt": found["attempt"] + 1,
        "version": found["version"] + 1,
    }
    claimed = tx.execute(update(EFFECTS).where(*effects.matches(key)).values(again).returning(*EFFECTS.c))
    return claimed.mappings().one()


def _check_idempotency_key(tx: Connection, wanted: Claim) -> None:
    used = effects.find_idempotency(
        tx,
        wanted.tenant_id,
        principal_id=wanted.principal_id,
        capability=wanted.capability,
        idempotency_key=wanted.idempotency_key,
    )
    if used is None:
        raise checks.contended()
    if used.action_digest != wanted.action_digest:
        raise checks.conflict(
            "idempotency_conflict", "the idempotency key was used for another action", "use a new key"
        )


def _consume(
    tx: Connection, wanted: Claim, asking_run: LockedRun, approval: RowMapping, *, fencing: int, now: int
) -> None:
    row = {
        "tenant_id": wanted.tenant_id,
        "approval_id": wanted.approval_id,
        "run_id": wanted.run_id,
        "principal_id": wanted.principal_id,
        "capability": wanted.capability,
        "business_key": wanted.business_key,
        "fencing": fencing,
    }
    if wanted.standing_digest is None:
        tx.execute(insert(APPROVAL_CONSUMPTIONS).values(**row, consumed_at_ms=now))
        approvals.mark_consumed(tx, asking_run, approval)
        return
    use_no = approval_rows.uses_of(tx, wanted.tenant_id, approval["approval_id"]) + 1
    tx.execute(insert(APPROVAL_USES).values(**row, use_no=use_no, used_at_ms=now))
    approvals.mark_used(tx, asking_run, approval, use_no=use_no, last=use_no >= wanted.max_uses)
