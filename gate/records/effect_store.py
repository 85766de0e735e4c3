"""The part of the store that keeps side effects and the limits they are counted on.

Each method is one transaction, tenant first. Use it through `gate.records.Store`.
"""

from __future__ import annotations

from gate.errors import InputError
from gate.records import checks, claims, completion, counters, dispatches, effects
from gate.records.completion import Completion
from gate.records.database import Database
from gate.records.dispatches import Dispatch
from gate.records.keys import EffectKey
from gate.records.model import Claim, Claimed, CounterRecord, EffectRecord, IdempotencyRecord, Json
from gate.records.statuses import EffectStatus, ReconcileOutcome


class EffectStore:
    """Claims, settlements, reconciliations, counters."""

    _database: Database

    def effect(self, tenant_id: str, *, principal_id: str, capability: str, business_key: str) -> EffectRecord | None:
        """The effect under this key, or None: not started."""
        key = EffectKey.checked(tenant_id, principal_id, capability, business_key)
        return self._database.reading(lambda tx: effects.find(tx, key))

    def effects(self, tenant_id: str, *, status: EffectStatus | None = None) -> list[EffectRecord]:
        """The effects of the tenant, last changed first."""
        tenant_id = checks.name("tenant_id", tenant_id)
        status = None if status is None else checks.member("status", EffectStatus, status)
        return self._database.reading(lambda tx: effects.all_of(tx, tenant_id, status=status))

    def idempotency(
        self, tenant_id: str, *, principal_id: str, capability: str, idempotency_key: str
    ) -> IdempotencyRecord | None:
        """What this key was first used for, or None."""
        tenant_id, principal_id = (
            checks.name("tenant_id", tenant_id),
            checks.name("principal_id", principal_id),
        )
        capability = checks.name("capability", capability)
        idempotency_key = checks.name("idempotency_key", idempotency_key)
        return self._database.reading(
            lambda tx: effects.find_idempotency(
                tx,
                tenant_id,
                principal_id=principal_id,
                capability=capability,
                idempotency_key=idempotency_key,
            )
        )

    def completion(self, tenant_id: str, run_id: str) -> Completion:
        """What became of everything the run set out to do; all of it empty when the tenant has no such run."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(lambda tx: completion.of_run(tx, tenant_id, run_id))

    def claim(self, wanted: Claim) -> Claimed:
        """Takes the effect and spends the approval, if everything the decision read still holds.

        Raises `ConflictError` with the code of the first thing that does not: see
        `gate.records.claims.claim`.
        """
        key = claims.checked(wanted)
        return self._database.writing(lambda tx: claims.claim(tx, wanted, key))

    def dispatch(self, wanted: Dispatch) -> EffectRecord:
        """Takes the one dispatch of a claimed effect, if everything the claim stood on still stands.

        Raises `ConflictError` with the code of the first thing that does not: see `gate.records.dispatches.take`.
        """
        key = wanted.key()
        return self._database.writing(lambda tx: dispatches.take(tx, wanted, key))

    def settle(
        self,
        tenant_id: str,
        *,
        principal_id: str,
        capability: str,
        business_key: str,
        fencing: int,
        owner: str,
        status: EffectStatus,
        receipt: Json | None = None,
    ) -> EffectRecord:
        """Records the outcome of a claimed effect.

        Raises `ConflictError`: `effect_unknown`, `claim_lost`, `effect_transition_illegal`, and
        `lease_expired`, after which the effect *was* changed: it is `side_effect_unknown` and the receipt is
        kept in `late_receipt`.
        """
        key = EffectKey.checked(tenant_id, principal_id, capability, business_key)
        checks.whole("fencing", fencing, low=1)
        owner, status = checks.name("owner", owner), checks.member("status", EffectStatus, status)
        settled, late = self._database.writing(
            lambda tx: effects.settle(tx, key, fencing=fencing, owner=owner, status=status, receipt=receipt)
        )
        if late is not None:
            raise late
        return settled

    def reconcile(
        self,
        tenant_id: str,
        *,
        principal_id: str,
        capability: str,
        business_key: str,
        expected_version: int,
        outcome: ReconcileOutcome,
        evidence_ref: str,
        reconciled_by: str,
        receipt: Json | None = None,
    ) -> EffectRecord:
        """Resolves an unknown or partial effect, or one whose lease ran out, with evidence.

        Raises `InputError` `evidence_required`; `ConflictError`: `effect_unknown`, `effect_changed`,
        `effect_lease_live`, `effect_transition_illegal`.
        """
        key = EffectKey.checked(tenant_id, principal_id, capability, business_key)
        checks.whole("expected_version", expected_version, low=1)
        outcome = checks.member("outcome", ReconcileOutcome, outcome)
        if not checks.text("evidence_ref", evidence_ref).strip():
            raise InputError(
                "a reconciliation needs evidence",
                code="evidence_required",
                hint="say where the evidence can be read",
            )
        checks.name("evidence_ref", evidence_ref)
        checks.name("reconciled_by", reconciled_by)
        return self._database.writing(
            lambda tx: effects.reconcile(
                tx,
                key,
                expected_version=expected_version,
                outcome=outcome,
                evidence_ref=evidence_ref,
                reconciled_by=reconciled_by,
                receipt=receipt,
            )
        )

    def counter(self, tenant_id: str, name: str) -> CounterRecord:
        """How much of a limit is spent or held; at 0 and version 0 when nothing was counted yet."""
        tenant_id, name = checks.name("tenant_id", tenant_id), checks.name("name", name)
        return self._database.reading(lambda tx: counters.find(tx, tenant_id, name))
