"""The part of the store that keeps approvals.

Each method is one transaction, tenant first. Use it through `gate.records.Store`.
"""

from __future__ import annotations

from gate.records import approval_rows, approvals, checks, denied_keys
from gate.records.database import Database
from gate.records.model import ApprovalRecord, ApprovalRequest, DeniedKey, StoredVote
from gate.records.statuses import ApprovalStatus, RunStatus


class ApprovalStore:
    """Approval requests, votes and denied keys."""

    _database: Database

    def deny_key(
        self, tenant_id: str, key_id: str, *, reason: str, denied_by: str, public_key: str | None = None
    ) -> DeniedKey:
        """Puts a reviewer's key on the denylist, for good; the first entry stands when it is there already.

        Raises `InputError` for a blank name or reason.
        """
        return self._database.writing(
            lambda tx: denied_keys.deny(
                tx, tenant_id, key_id, public_key=public_key, reason=reason, denied_by=denied_by
            )
        )

    def denied_keys(self, tenant_id: str) -> list[DeniedKey]:
        """The tenant's denied keys by id."""
        tenant_id = checks.name("tenant_id", tenant_id)
        return self._database.reading(lambda tx: denied_keys.all_of(tx, tenant_id))

    def request_approval(
        self, new: ApprovalRequest, *, max_wait_ms: int, pauses_run: bool = False, min_epoch: int | None = None
    ) -> ApprovalRecord:
        """The open approval for this action and contract, or a new one that expires after `max_wait_ms`.

        `pauses_run`: the run waits, paused, until the request is decided, in the same transaction.
        `min_epoch`: one from an earlier epoch of the run is closed first; None keeps it.

        Raises `ConflictError`: `run_unknown`, `run_closed`.
        """
        return self._database.writing(
            lambda tx: approvals.request(tx, new, max_wait_ms=max_wait_ms, pauses_run=pauses_run, min_epoch=min_epoch)
        )

    def approval(self, tenant_id: str, approval_id: str) -> ApprovalRecord | None:
        """The approval, or None when this tenant has none of that id."""
        tenant_id, approval_id = checks.name("tenant_id", tenant_id), checks.name("approval_id", approval_id)
        return self._database.reading(lambda tx: approval_rows.find(tx, tenant_id, approval_id))

    def approval_for(self, tenant_id: str, *, action_digest: str, contract_digest: str) -> ApprovalRecord | None:
        """The newest approval for this action under this contract, whatever its status."""
        tenant_id = checks.name("tenant_id", tenant_id)
        checks.digest("action_digest", action_digest)
        checks.digest("contract_digest", contract_digest)
        return self._database.reading(
            lambda tx: approval_rows.find_for(
                tx, tenant_id, action_digest=action_digest, contract_digest=contract_digest
            )
        )

    def standing_approval(self, tenant_id: str, *, standing_digest: str, contract_digest: str) -> ApprovalRecord | None:
        """The newest approval that stands, or stood, for this under this contract, whatever its status."""
        tenant_id = checks.name("tenant_id", tenant_id)
        checks.digest("standing_digest", standing_digest)
        checks.digest("contract_digest", contract_digest)
        return self._database.reading(
            lambda tx: approval_rows.find_standing(
                tx, tenant_id, standing_digest=standing_digest, contract_digest=contract_digest
            )
        )

    def rejection_for(
        self, tenant_id: str, *, principal_id: str, intent_digest: str, standing_digest: str | None = None
    ) -> ApprovalRecord | None:
        """The newest rejected approval of this principal with this intent, or for the same standing approval."""
        tenant_id, principal_id = (
            checks.name("tenant_id", tenant_id),
            checks.name("principal_id", principal_id),
        )
        checks.digest("intent_digest", intent_digest)
        if standing_digest is not None:
            checks.digest("standing_digest", standing_digest)
        return self._database.reading(
            lambda tx: approval_rows.find_rejection(
                tx,
                tenant_id,
                principal_id=principal_id,
                intent_digest=intent_digest,
                standing_digest=standing_digest,
            )
        )

    def approvals(self, tenant_id: str, *, status: ApprovalStatus | None = None) -> list[ApprovalRecord]:
        """The approvals of the tenant, newest first."""
        tenant_id = checks.name("tenant_id", tenant_id)
        status = None if status is None else checks.member("status", ApprovalStatus, status)
        return self._database.reading(lambda tx: approval_rows.all_of(tx, tenant_id, status=status))

    def undispatched(self, tenant_id: str, approval_id: str) -> int:
        """How many claims under the approval are in flight and were not taken up by a tool that verifies its calls."""
        tenant_id, approval_id = checks.name("tenant_id", tenant_id), checks.name("approval_id", approval_id)
        return self._database.reading(lambda tx: approval_rows.undispatched(tx, tenant_id, approval_id))

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
        resumes_run: bool = False,
    ) -> ApprovalRecord:
        """Appends a signed word: an approval, a rejection, a delegation, a cancellation or a revocation.

        `ends_run`: the status the run that asked ends with, in the same transaction; None leaves it alone.
        `resumes_run`: the run goes on, if it was paused for this approval.

        Raises `ConflictError`: `approval_unknown`, `approval_changed`, `approval_transition_illegal`,
        `approval_expired`, `approval_dispatched` (a consumed one whose call a tool has started), `vote_repeated`.
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
                resumes_run=resumes_run,
            )
        )

    def escalate_approval(self, tenant_id: str, approval_id: str, *, expected_version: int) -> ApprovalRecord:
        """Opens a pending request to the default reviewer too, from now on.

        Raises `ConflictError`: `approval_unknown`, `approval_changed`, `approval_transition_illegal`,
        `approval_expired`.
        """
        tenant_id, approval_id = checks.name("tenant_id", tenant_id), checks.name("approval_id", approval_id)
        checks.whole("expected_version", expected_version, low=1)
        return self._database.writing(
            lambda tx: approvals.escalate(tx, tenant_id, approval_id, expected_version=expected_version)
        )

    def set_approval_status(
        self,
        tenant_id: str,
        approval_id: str,
        *,
        expected_version: int,
        to_status: ApprovalStatus,
        reason: str,
        ends_run: RunStatus | None = None,
        resumes_run: bool = False,
    ) -> ApprovalRecord:
        """Expires, cancels or revokes an approval; ends or resumes the run that asked in the same transaction.

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
                ends_run=None if ends_run is None else checks.member("ends_run", RunStatus, ends_run),
                resumes_run=resumes_run,
            )
        )
