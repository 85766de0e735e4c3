"""What people do: vote on an approval, reconcile an effect. Decided in Rego, applied by compare-and-set.

Nothing here knows who may review or which outcome may follow; it gathers the vote or the evidence, asks, and moves the
record exactly as the decision's obligations say. What takes an approval back is in `gate.enforcement.moves`.
"""

from __future__ import annotations

from dataclasses import dataclass

from gate.decision import ActionBlocked
from gate.enforcement.asking import ask, refusal
from gate.enforcement.moves import Moves
from gate.enforcement.obligations import undischarged
from gate.errors import ConflictError, InputError
from gate.evidence import Identity, Run
from gate.records import (
    ApprovalRecord,
    EffectRecord,
    EffectStatus,
    ReconcileOutcome,
    ReviewerKey,
    StoredVote,
    VoteDecision,
    VotePayload,
    sign,
)
from gate.records.statuses import RECONCILED

REVOCATION_MS = 3_600_000
"""How long a revocation that nobody handed in can be handed in, in milliseconds, whatever is left of the approval."""

_TRANSITIONS = {
    VoteDecision.APPROVED: "approve",
    VoteDecision.REJECTED: "reject",
    VoteDecision.DELEGATED: "delegate",
    VoteDecision.CANCELLED: "cancel",
    VoteDecision.REVOKED: "revoke",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviews(Moves):
    """Votes and reconciliations of one gate."""

    def sign(
        self,
        approval: ApprovalRecord,
        *,
        decision: str,
        key: ReviewerKey,
        delegate_to: str | None = None,
        reason: str = "",
    ) -> StoredVote:
        """A reviewer's signed word; runs where the reviewer's key is, never beside the agent.

        `decision` is approved, rejected, delegated (with `delegate_to`, a reviewer's id), cancelled or revoked;
        `reason` the reviewer's own words on one line, under the same signature. Raises `InputError` for another word,
        and for a delegate where there must be none or none where there must be one.
        """
        word, now_ms = _decision(decision), self.clock_ms()
        # A claim can be in flight when the approval's own time is over, and is then still to be stopped.
        valid_ms = REVOCATION_MS if word is VoteDecision.REVOKED else 0
        return sign(
            VotePayload(
                environment=self.environment,
                approval_id=approval.approval_id,
                nonce=approval.nonce,
                contract_digest=approval.contract_digest,
                action_digest=approval.action_digest,
                decision=word,
                reviewer=key.reviewer,
                key_id=key.key_id,
                issued_at_ms=now_ms,
                expires_at_ms=max(approval.expires_at_ms, now_ms + valid_ms),
                standing_digest=approval.standing_digest,
                delegate_to=delegate_to,
                reason=reason or None,
            ),
            key.private_key,
        )

    def vote(
        self, tenant_id: str, approval_id: str, vote: StoredVote, *, decision: str, reviewer: str
    ) -> ApprovalRecord:
        """Hands in a signed word; returns the approval as it now is, with the reason that was signed.

        Raises `ActionBlocked` when the policies refuse it, `InputError` for an unknown approval or decision word,
        `ConflictError` when somebody else changed the approval first. A rejection that stops the run does so in the
        same transaction.
        """
        word = _decision(decision)
        return self._signed(tenant_id, approval_id, vote, _TRANSITIONS[word], said=str(word), who=reviewer)

    def reconcile(
        self,
        effect: EffectRecord,
        *,
        outcome: str,
        evidence_ref: str,
        reconciled_by: str,
        owner_fenced: bool = False,
        receipt: object = None,
    ) -> EffectRecord:
        """Establishes what became of an unknown effect, under its original key.

        `outcome` is committed, not_committed or partial.
        `owner_fenced` says that the worker is known to be dead or fenced; not_committed needs it. Raises
        `ActionBlocked` when the policies refuse it, `InputError` for an effect nobody recorded, `ConflictError` when
        the effect is no longer what the caller read.
        """
        effect = self._recorded(effect)
        record = self.store.run(effect.tenant_id, effect.run_id)
        if record is None:
            raise InputError("the effect's run is not known", code="run_unknown")
        person = _person(
            record.agent_id,
            record.session_id,
            record.run_id,
            record.trace_id,
            effect.tenant_id,
            reconciled_by,
        )
        answer = ask(
            self.point,
            record.agent_id,
            lambda facts: self.evidence.effect_transition(
                effect,
                person,
                outcome=outcome,
                evidence_ref=evidence_ref,
                owner_fenced=owner_fenced,
                now_ms=self.clock_ms(),
                facts=facts,
            ),
        )
        to_status = self.enforce(person, answer, "move_effect", EffectStatus, {"version": effect.version})
        if outcome not in set(ReconcileOutcome) or RECONCILED[ReconcileOutcome(outcome)] is not to_status:
            error = undischarged()
            raise ActionBlocked(refusal(error, answer.prepared)) from error
        return self.store.reconcile(
            effect.tenant_id,
            principal_id=effect.principal_id,
            capability=effect.capability,
            business_key=effect.business_key,
            expected_version=effect.version,
            outcome=ReconcileOutcome(outcome),
            evidence_ref=evidence_ref,
            reconciled_by=reconciled_by,
            receipt=receipt,
        )

    def _recorded(self, effect: EffectRecord) -> EffectRecord:
        """The effect as the records have it now: what the caller holds is no evidence."""
        found = self.store.effect(
            effect.tenant_id,
            principal_id=effect.principal_id,
            capability=effect.capability,
            business_key=effect.business_key,
        )
        if found is None:
            raise InputError("no such effect is recorded", code="effect_unknown")
        if found.version != effect.version:
            raise ConflictError("the effect was changed by somebody else", code="effect_changed", hint="read it again")
        return found


def _decision(word: str) -> VoteDecision:
    try:
        return VoteDecision(word)
    except ValueError as exc:
        raise InputError(
            "a vote is approved or rejected, delegated, cancelled or revoked", code="vote_decision_unknown"
        ) from exc


def _person(agent_id: str, session_id: str, run_id: str, trace_id: str, tenant_id: str, who: str) -> Run:
    return Run(
        agent_id=agent_id,
        session_id=session_id,
        run_id=run_id,
        trace_id=trace_id,
        identity=Identity(tenant_id=tenant_id, principal_id=who, authorization_mode="human_approved"),
    )
