"""The ledger of side effects: read, settle, reconcile, inside a transaction that the caller holds.

Opens no transaction and starts no effect (`gate.records.claims` does). An unknown outcome leaves by
`reconcile` only.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, RowMapping, select, update

from gate import canonical
from gate.errors import ConflictError, InputError
from gate.records import checks, counters, runs
from gate.records.clock import now_ms
from gate.records.keys import EffectKey
from gate.records.model import EffectRecord, IdempotencyRecord, Json
from gate.records.runs import LockedRun
from gate.records.statuses import RECONCILED, SETTLED, EffectStatus, ReconcileOutcome
from gate.records.tables import EFFECTS, IDEMPOTENCY


def find(tx: Connection, key: EffectKey) -> EffectRecord | None:
    """The row under this key, or None: not started. Takes no lock."""
    row = tx.execute(select(EFFECTS).where(*matches(key))).mappings().one_or_none()
    return None if row is None else record(row)


def all_of(tx: Connection, tenant_id: str, *, status: EffectStatus | None) -> list[EffectRecord]:
    """The effects of the tenant, last changed first."""
    query = select(EFFECTS).where(EFFECTS.c.tenant_id == tenant_id)
    if status is not None:
        query = query.where(EFFECTS.c.status == status.value)
    query = query.order_by(
        EFFECTS.c.updated_at_ms.desc(), EFFECTS.c.principal_id, EFFECTS.c.capability, EFFECTS.c.business_key
    )
    return [record(row) for row in tx.execute(query).mappings()]


def find_idempotency(
    tx: Connection, tenant_id: str, *, principal_id: str, capability: str, idempotency_key: str
) -> IdempotencyRecord | None:
    """What the key was first used for, or None."""
    query = select(IDEMPOTENCY.c.idempotency_key, IDEMPOTENCY.c.action_digest).where(
        IDEMPOTENCY.c.tenant_id == tenant_id,
        IDEMPOTENCY.c.principal_id == principal_id,
        IDEMPOTENCY.c.capability == capability,
        IDEMPOTENCY.c.idempotency_key == idempotency_key,
    )
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else IdempotencyRecord(**row)


def settle(
    tx: Connection, key: EffectKey, *, fencing: int, owner: str, status: EffectStatus, receipt: Json | None
) -> tuple[EffectRecord, ConflictError | None]:
    """Moves a claimed effect to its outcome.

    The error in the answer, `lease_expired`, is for the caller to raise once the transaction is committed:
    the effect is then `side_effect_unknown` and what came too late is kept as evidence. Raises
    `ConflictError`: `effect_unknown`, `claim_lost`, `effect_transition_illegal`.
    """
    if status not in SETTLED:
        raise InputError(f"an effect does not settle as {status}", code="record_field_invalid")
    text = checks.json_text(receipt)
    if text is not None and status is EffectStatus.FAILED_BEFORE_EFFECT:
        raise InputError("an effect that did not happen has no receipt", code="receipt_without_effect")
    run, row = _required(tx, key)
    if row["fencing"] != fencing or row["owner"] != owner:
        raise checks.conflict("claim_lost", "the claim on this effect belongs to somebody else", _RECONCILE)
    before = EffectStatus(row["status"])
    if before is not EffectStatus.IN_FLIGHT:
        raise _illegal(before, status)
    now = now_ms(tx)
    fields: dict[str, Any] = {"fencing": fencing, "status": status.value}
    if text is not None:
        fields["receipt_digest"] = canonical.digest_bytes(text.encode("utf-8"))
    if row["lease_expires_at_ms"] <= now:
        fields |= {"status": EffectStatus.UNKNOWN.value, "reported_status": status.value}
        changes = {"status": EffectStatus.UNKNOWN.value, "late_receipt": text or row["late_receipt"]}
        late = checks.conflict("lease_expired", "the effect was settled after its lease ran out", _RECONCILE)
        return _change(tx, key, run, row, now, "effect_lease_expired", fields, changes), late
    changes = {"status": status.value, "receipt": text}
    return _change(tx, key, run, row, now, "effect_settled", fields, changes), None


def reconcile(
    tx: Connection,
    key: EffectKey,
    *,
    expected_version: int,
    outcome: ReconcileOutcome,
    evidence_ref: str,
    reconciled_by: str,
    receipt: Json | None,
) -> EffectRecord:
    """Resolves an unknown outcome with evidence, and fences the worker that held the claim.

    Raises `ConflictError`: `effect_unknown`, `effect_changed`, `effect_lease_live`,
    `effect_transition_illegal`.
    """
    text = checks.json_text(receipt)
    if text is not None and outcome is ReconcileOutcome.NOT_COMMITTED:
        raise InputError("an effect that did not happen has no receipt", code="receipt_without_effect")
    run, row = _required(tx, key)
    if row["version"] != expected_version:
        raise checks.conflict("effect_changed", "the effect was changed by somebody else")
    before, after, now = EffectStatus(row["status"]), RECONCILED[outcome], now_ms(tx)
    if before is EffectStatus.IN_FLIGHT and row["lease_expires_at_ms"] > now:
        raise checks.conflict("effect_lease_live", "the effect is still being run", "wait until its lease ran out")
    if before not in (EffectStatus.IN_FLIGHT, EffectStatus.UNKNOWN, EffectStatus.PARTIAL):
        raise _illegal(before, after)
    happened = outcome is not ReconcileOutcome.NOT_COMMITTED
    changes = {
        "status": after.value,
        "fencing": row["fencing"] + 1,
        "evidence_ref": evidence_ref,
        # The tool's own late answer is the receipt when the evidence says that it was right.
        "receipt": (text or row["receipt"] or row["late_receipt"]) if happened else None,
    }
    fields = {
        "from": before.value,
        "status": after.value,
        "outcome": outcome.value,
        "evidence_digest": canonical.digest(evidence_ref),
        "reconciled_by": reconciled_by,
    }
    return _change(tx, key, run, row, now, "effect_reconciled", fields, changes)


def locked_row(tx: Connection, key: EffectKey) -> RowMapping | None:
    """The row under this key, locked until the transaction ends; its run is locked already."""
    return tx.execute(select(EFFECTS).where(*matches(key)).with_for_update()).mappings().one_or_none()


def matches(key: EffectKey) -> tuple[Any, ...]:
    """The conditions that select the row under this key."""
    return (
        EFFECTS.c.tenant_id == key.tenant_id,
        EFFECTS.c.principal_id == key.principal_id,
        EFFECTS.c.capability == key.capability,
        EFFECTS.c.business_key == key.business_key,
    )


def record(row: RowMapping) -> EffectRecord:
    """The row as a value."""
    fields = {column: row[column] for column in _FIELDS}
    fields["status"] = EffectStatus(row["status"])
    for column in ("receipt", "late_receipt"):
        fields[column] = None if row[column] is None else canonical.parse(row[column])
    return EffectRecord(**fields)


_FIELDS = tuple(EffectRecord.__dataclass_fields__)
_RECONCILE = "find out what happened, then `gate effects reconcile`"


def _required(tx: Connection, key: EffectKey) -> tuple[LockedRun, RowMapping]:
    """The effect and the run that claimed it, both locked, the run first."""
    run_id = tx.execute(select(EFFECTS.c.run_id).where(*matches(key))).scalar_one_or_none()
    if run_id is None:
        raise checks.conflict("effect_unknown", "no effect was claimed under this key", "claim it first")
    run = runs.locked(tx, key.tenant_id, run_id)
    row = locked_row(tx, key)
    if row is None or row["run_id"] != run_id:
        raise checks.contended()
    return run, row


def _change(
    tx: Connection,
    key: EffectKey,
    run: LockedRun,
    row: RowMapping,
    now: int,
    event_type: str,
    fields: dict[str, Any],
    changes: dict[str, Any],
) -> EffectRecord:
    values = {**changes, "version": row["version"] + 1, "updated_at_ms": now}
    moved = tx.execute(update(EFFECTS).where(*matches(key)).values(values).returning(*EFFECTS.c)).mappings().one()
    returned = {}
    if changes["status"] == EffectStatus.FAILED_BEFORE_EFFECT:
        returned = counters.give_back(tx, key, row["attempt"], now)
    run.append(event_type, {**key.event_fields(), **fields, **returned}, at_ms=now)
    return record(moved)


def _illegal(before: EffectStatus, after: EffectStatus) -> ConflictError:
    return checks.conflict("effect_transition_illegal", f"an effect that is {before} cannot become {after}", "")
