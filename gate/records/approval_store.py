"""The part of the store that keeps approvals.

Each method is one transaction, tenant first. Use it through `gate.records.Store`.
"""

from __future__ import annotations

from gate.records import approvals, checks
from gate.records.database import Database
from gate.records.model import ApprovalRecord, ApprovalRequest, ApprovalStatus, RunStatus, StoredVote


class ApprovalStore:
    """Approval requests and votes."""

    _database: Database

    def request_approval(
        self, new: ApprovalRequest, *, max_wait_ms: int, min_epoch: int | None = None
    ) -> ApprovalRecord:
        """The open approval for this action and contract, or a new one that expires after `max_wait_ms`.

        `min_epoch`: one from an earlier epoch of the run is closed first; None keeps it.

        Raises `ConflictError`: `run_unknown`, `run_closed`.
        """
        return self._database.writing(
            lambda tx: approvals.request(tx, new, max_wait_ms=max_wait_ms, min_epoch=min_epoch)
        )

    def approval(self, tenant_id: str, approval_id: str) -> ApprovalRecord | None:
        """The approval, or None when this tenant has none of that id."""
        tenant_id, approval_id = checks.name("tenant_id", tenant_id), checks.name("approval_id", approval_id)
        return self._database.reading(lambda tx: approvals.find(tx, tenant_id, approval_id))

    def approval_for(self, tenant_id: str, *, action_digest: str, contract_digest: str) -> ApprovalRecord | None:
        """The newest approval for this action under this contract, whatever its status."""
        tenant_id = checks.name("tenant_id", tenant_id)
        checks.digest("action_digest", action_digest)
        checks.digest("contract_digest", contract_digest)
        return self._database.reading(
            lambda tx: approvals.find_for(tx, tenant_id, action_digest=action_digest, contract_digest=contract_digest)
        )

    def rejection_for(self, tenant_id: str, *, principal_id: str, intent_digest: str) -> ApprovalRecord | None:
        """The newest rejected approval of this principal with this intent."""
        tenant_id, principal_id = (
            checks.name("tenant_id", tenant_id),
            checks.name("principal_id", principal_id),
        )
        checks.digest("intent_digest", intent_digest)
        return self._database.reading(
            lambda tx: approvals.find_rejection(tx, tenant_id, principal_id=principal_id, intent_digest=intent_digest)
        )

    def approvals(self, tenant_id: str, *, status: ApprovalStatus | None = None) -> list[ApprovalRecord]:
        """The approvals of the tenant, newest first."""
        tenant_id = checks.name("tenant_id", tenant_id)
        status = None if status is None else checks.member("status", ApprovalStatus, status)
        return self._database.reading(lambda tx: approvals.all_of(tx, tenant_id, status=status))

    def add_vote(
        self,
        tenant_id: str,
        approval_id: str,
        *,
        expected_version: int,
        vote: StoredVote,
        to_status: ApprovalStatus,
        reason: str = "",
        ends_run: RunStatus | None = None,
    ) -> ApprovalRecord:
        """Appends a vote to a pending approval and leaves it pending, approved or rejected.

        `ends_run`: the status the run that asked ends with, in the same transaction; None leaves it alone.

        Raises `ConflictError`: `approval_unknown`, `approval_changed`, `approval_transition_illegal`,
        `approval_expired`, `vote_repeated`.
        """
        tenant_id, approval_id = checks.name("tenant_id", tenant_id), checks.name("approval_id", approval_id)
        checks.whole("expected_version", expected_version, low=1)
        to_status, reason = (
            checks.member("to_status", ApprovalStatus, to_status),
            checks.text("reason", reason),
        )
        return self._database.writing(
            lambda tx: approvals.add_vote(
                tx,
                tenant_id,
                approval_id,
                expected_version=expected_version,
                vote=vote,
                to_status=to_status,
                reason=reason,
                ends_run=None if ends_run is None else checks.member("ends_run", RunStatus, ends_run),
            )
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
        return self._database.writing(
            lambda tx: approvals.set_status(
                tx,
                tenant_id,
                approval_id,
                expected_version=expected_version,
                to_status=to_status,
                reason=reason,
            )
        )
