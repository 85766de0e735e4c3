"""The one door to the records: every method is one transaction, tenant first, all or nothing.

Holds no rule about who may do what; it applies a decision by compare-and-set and refuses when the records
have moved.
"""

from __future__ import annotations

from typing import Any

from gate.errors import InputError
from gate.records import approvals, checks, claims, dialect, effects, migrations, runs
from gate.records.database import Database, now_ms
from gate.records.effects import EffectKey
from gate.records.model import (
    ApprovalRecord,
    ApprovalRequest,
    ApprovalStatus,
    Claim,
    Claimed,
    EffectRecord,
    EffectStatus,
    Event,
    IdempotencyRecord,
    Json,
    ReconcileOutcome,
    RunRecord,
    RunStatus,
    StoredVote,
)


class Store:
    """The systems of record. Safe to share between threads and with forked children; `close` it when done.

    Every method raises `StoreError` (`store_locked`, `store_read_only`, `store_unavailable`, `store_corrupt`)
    when the database cannot be used, `ConflictError` when a record is not what the caller read, and
    `InputError` for a value that no record can hold. After any of them nothing was changed, with the one
    exception that `settle` documents.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, url: str, *, busy_timeout_ms: int = 5000) -> Store:
        """Opens `sqlite:////abs/path.sqlite`, `sqlite://` (in memory) or `sqlite:///file:/path?mode=ro&uri=true`.

        Creates the file and its schema when they are not there. `busy_timeout_ms` is how long a call waits
        for a lock. Also raises `StoreError`: `store_url_unsupported`, `store_schema_newer`, `store_foreign`.
        """
        checks.whole("busy_timeout_ms", busy_timeout_ms, high=3_600_000)
        database = Database(dialect.locate(checks.text("url", url)), busy_timeout_ms=busy_timeout_ms)
        try:
            migrations.migrate(database)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def close(self) -> None:
        """Closes every connection; later calls raise `StoreError`."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now_ms(self) -> int:
        """The database's clock in milliseconds since the epoch: the one that leases and expiries know."""
        with self._database.read() as tx:
            return now_ms(tx)

    def schema_version(self) -> int:
        """The version of the schema in the database."""
        with self._database.read() as tx:
            return migrations.current_version(tx)

    # Runs and events

    def create_run(self, new: RunRecord) -> RunRecord:
        """Records a new run, `running` at version 1. Raises `ConflictError` `run_exists`."""
        with self._database.write() as tx:
            return runs.create(tx, new)

    def run(self, tenant_id: str, run_id: str) -> RunRecord | None:
        """The run, or None when this tenant has none of that id."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        with self._database.read() as tx:
            return runs.find(tx, tenant_id, run_id)

    def set_run_status(
        self, tenant_id: str, run_id: str, *, expected_version: int, status: RunStatus, reason: str
    ) -> RunRecord:
        """Moves a run. Raises `ConflictError`: `run_unknown`, `run_changed`, `run_transition_illegal`."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        checks.whole("expected_version", expected_version, low=1)
        status, reason = checks.member("status", RunStatus, status), checks.text("reason", reason)
        with self._database.write() as tx:
            return runs.set_status(
                tx, tenant_id, run_id, expected_version=expected_version, status=status, reason=reason
            )

    def append_event(self, tenant_id: str, run_id: str, event_type: str, payload: dict[str, Any]) -> Event:
        """Adds an event: ids, digests and statuses only. Raises `ConflictError` `run_unknown`."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        event_type = checks.name("event_type", event_type)
        with self._database.write() as tx:
            return runs.append(tx, tenant_id, run_id, event_type, payload)

    def events(self, tenant_id: str, run_id: str) -> list[Event]:
        """The events of the run in order, unverified."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        with self._database.read() as tx:
            return runs.events(tx, tenant_id, run_id)

    def verify_run(self, tenant_id: str, run_id: str) -> int:
        """The number of events, when their chain holds.

        Raises `StoreError`: `event_chain_broken`, `run_unknown`.
        """
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        with self._database.read() as tx:
            return runs.verify(tx, tenant_id, run_id)

    # Approvals

    def request_approval(self, new: ApprovalRequest, *, max_wait_ms: int) -> ApprovalRecord:
        """The open approval for this action and contract, or a new one that expires after `max_wait_ms`.

        Raises `ConflictError`: `run_unknown`, `run_closed`.
        """
        with self._database.write() as tx:
            return approvals.request(tx, new, max_wait_ms=max_wait_ms)

    def approval(self, tenant_id: str, approval_id: str) -> ApprovalRecord | None:
        """The approval, or None when this tenant has none of that id."""
        tenant_id, approval_id = checks.name("tenant_id", tenant_id), checks.name("approval_id", approval_id)
        with self._database.read() as tx:
            return approvals.find(tx, tenant_id, approval_id)

    def approval_for(self, tenant_id: str, *, action_digest: str, contract_digest: str) -> ApprovalRecord | None:
        """The newest approval for this action under this contract, whatever its status."""
        tenant_id = checks.name("tenant_id", tenant_id)
        checks.digest("action_digest", action_digest)
        checks.digest("contract_digest", contract_digest)
        with self._database.read() as tx:
            return approvals.find_for(tx, tenant_id, action_digest=action_digest, contract_digest=contract_digest)

    def rejection_for(self, tenant_id: str, *, principal_id: str, intent_digest: str) -> ApprovalRecord | None:
        """The newest rejected approval of this principal with this intent."""
        tenant_id, principal_id = (
            checks.name("tenant_id", tenant_id),
            checks.name("principal_id", principal_id),
        )
        checks.digest("intent_digest", intent_digest)
        with self._database.read() as tx:
            return approvals.find_rejection(tx, tenant_id, principal_id=principal_id, intent_digest=intent_digest)

    def approvals(self, tenant_id: str, *, status: ApprovalStatus | None = None) -> list[ApprovalRecord]:
        """The approvals of the tenant, newest first."""
        tenant_id = checks.name("tenant_id", tenant_id)
        status = None if status is None else checks.member("status", ApprovalStatus, status)
        with self._database.read() as tx:
            return approvals.all_of(tx, tenant_id, status=status)

    def add_vote(
        self,
        tenant_id: str,
        approval_id: str,
        *,
        expected_version: int,
        vote: StoredVote,
        to_status: ApprovalStatus,
        reason: str = "",
    ) -> ApprovalRecord:
        """Appends a vote to a pending approval and leaves it pending, approved or rejected.

        Raises `ConflictError`: `approval_unknown`, `approval_changed`, `approval_transition_illegal`,
        `approval_expired`, `vote_repeated`.
        """
        tenant_id, approval_id = checks.name("tenant_id", tenant_id), checks.name("approval_id", approval_id)
        checks.whole("expected_version", expected_version, low=1)
        to_status, reason = (
            checks.member("to_status", ApprovalStatus, to_status),
            checks.text("reason", reason),
        )
        with self._database.write() as tx:
            return approvals.add_vote(
                tx,
                tenant_id,
                approval_id,
                expected_version=expected_version,
                vote=vote,
                to_status=to_status,
                reason=reason,
            )

    def set_approval_status(
        self,
        tenant_id: str,
        approval_id: str,
        *,
        expected_version: int,
        to_status: ApprovalStatus,
        reason: str,
    ) -> ApprovalRecord:
        """Expires, cancels or revokes an approval.

        Raises `ConflictError`: `approval_unknown`, `approval_changed`, `approval_transition_illegal`,
        `approval_not_expired`.
        """
        tenant_id, approval_id = checks.name("tenant_id", tenant_id), checks.name("approval_id", approval_id)
        checks.whole("expected_version", expected_version, low=1)
        to_status, reason = (
            checks.member("to_status", ApprovalStatus, to_status),
            checks.text("reason", reason),
        )
        with self._database.write() as tx:
            return approvals.set_status(
                tx,
                tenant_id,
                approval_id,
                expected_version=expected_version,
                to_status=to_status,
                reason=reason,
            )

    # Side effects

    def effect(self, tenant_id: str, *, principal_id: str, capability: str, business_key: str) -> EffectRecord | None:
        """The effect under this key, or None: not started."""
        key = EffectKey.checked(tenant_id, principal_id, capability, business_key)
        with self._database.read() as tx:
            return effects.find(tx, key)

    def effects(self, tenant_id: str, *, status: EffectStatus | None = None) -> list[EffectRecord]:
        """The effects of the tenant, last changed first."""
        tenant_id = checks.name("tenant_id", tenant_id)
        status = None if status is None else checks.member("status", EffectStatus, status)
        with self._database.read() as tx:
            return effects.all_of(tx, tenant_id, status=status)

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
        with self._database.read() as tx:
            return effects.find_idempotency(
                tx,
                tenant_id,
                principal_id=principal_id,
                capability=capability,
                idempotency_key=idempotency_key,
            )

    def claim(self, wanted: Claim) -> Claimed:
        """Takes the effect and spends the approval, if everything the decision read still holds.

        Raises `ConflictError` with the code of the first thing that does not: see
        `gate.records.claims.claim`.
        """
        key = claims.checked(wanted)
        with self._database.write() as tx:
            return claims.claim(tx, wanted, key)

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
        with self._database.write() as tx:
            settled, late = effects.settle(tx, key, fencing=fencing, owner=owner, status=status, receipt=receipt)
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
        with self._database.write() as tx:
            return effects.reconcile(
                tx,
                key,
                expected_version=expected_version,
                outcome=outcome,
                evidence_ref=evidence_ref,
                reconciled_by=reconciled_by,
                receipt=receipt,
            )
