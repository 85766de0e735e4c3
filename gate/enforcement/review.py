"""What people do: vote on an approval, reconcile an effect. Decided in Rego, applied by compare-and-set.

Nothing here knows who may review or which outcome may follow; it gathers the vote or the evidence, asks, and moves the
record exactly as the decision's obligations say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gate.decision import ActionBlocked, Decision
from gate.enforcement.asking import Answer, ask, refusal
from gate.errors import EvidenceError, InputError
from gate.evidence import EvidenceBuilder, Identity, Run
from gate.pdp import DecisionPoint
from gate.records import (
    ApprovalRecord,
    ApprovalStatus,
    EffectRecord,
    ReconcileOutcome,
    ReviewerKey,
    RunStatus,
    Store,
    StoredVote,
    VoteDecision,
    VotePayload,
    sign,
)

_TRANSITIONS = {VoteDecision.APPROVED: "approve", VoteDecision.REJECTED: "reject"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviews:
    """Votes and reconciliations of one gate."""

    point: DecisionPoint
    store: Store
    evidence: EvidenceBuilder
    clock_ms: Callable[[], int]
    environment: str

    def sign(self, approval: ApprovalRecord, *, decision: str, key: ReviewerKey) -> StoredVote:
        """A reviewer's signed vote; runs where the reviewer's key is, never beside the agent.

        Raises `InputError` for a decision word that is neither approved nor rejected.
        """
        return sign(
            VotePayload(
                environment=self.environment,
                approval_id=approval.approval_id,
                nonce=approval.nonce,
                contract_digest=approval.contract_digest,
                action_digest=approval.action_digest,
                decision=_decision(decision),
                reviewer=key.reviewer,
                key_id=key.key_id,
                issued_at_ms=self.clock_ms(),
                expires_at_ms=approval.expires_at_ms,
            ),
            key.private_key,
        )

    def vote(
        self, tenant_id: str, approval_id: str, vote: StoredVote, *, decision: str, reviewer: str
    ) -> ApprovalRecord:
        """Hands in a signed vote; returns the approval as it now is.

        Raises `ActionBlocked` when the policies refuse the vote, `InputError` for an unknown approval or decision word,
        `ConflictError` when somebody else changed the approval first.
        """
        approval = self.store.approval(tenant_id, approval_id)
        if approval is None:
            raise InputError(f"approval `{approval_id!a}` is not known", code="approval_unknown")
        transition = _TRANSITIONS[_decision(decision)]
        person = _person(
            approval.agent_id, approval.session_id, approval.run_id, approval.trace_id, tenant_id, reviewer
        )
        answer = ask(
            self.point,
            approval.agent_id,
            lambda facts: self.evidence.approval_transition(
                approval, person, vote, transition=transition, now_ms=self.clock_ms(), facts=facts
            ),
        )
        allowed = answer.decision.enforce()
        move = _obligation(answer, "move_approval")
        moved = self.store.add_vote(
            tenant_id,
            approval_id,
            expected_version=approval.version,
            vote=vote,
            to_status=ApprovalStatus(str(move["to"])),
            reason=f"{decision} by {reviewer}",
        )
        self._end_run(allowed, answer)
        return moved

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
        `owner_fenced` says that the worker is known to be dead or fenced; not_committed needs it.
        """
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
        answer.decision.enforce()
        _obligation(answer, "move_effect")
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

    def _end_run(self, decision: Decision, answer: Answer) -> None:
        obligation = decision.obligation("end_run")
        run = None if answer.prepared is None else answer.prepared.run
        if obligation is None or run is None:
            return
        self.store.set_run_status(
            run.tenant_id,
            run.run_id,
            expected_version=run.version,
            status=RunStatus(obligation["status"]),
            reason="approval rejected",
        )


def _decision(word: str) -> VoteDecision:
    try:
        return VoteDecision(word)
    except ValueError as exc:
        raise InputError("a vote is approved or rejected", code="vote_decision_unknown") from exc


def _obligation(answer: Answer, kind: str) -> dict[str, object]:
    found = answer.decision.obligation(kind)
    if found is None or not isinstance(found.get("to"), str):
        error = EvidenceError("an obligation of the decision cannot be discharged", code="obligation_undischarged")
        raise ActionBlocked(refusal(error, answer.prepared)) from error
    return dict(found)


def _person(agent_id: str, session_id: str, run_id: str, trace_id: str, tenant_id: str, who: str) -> Run:
    return Run(
        agent_id=agent_id,
        session_id=session_id,
        run_id=run_id,
        trace_id=trace_id,
        identity=Identity(tenant_id=tenant_id, principal_id=who, authorization_mode="human_approved"),
    )
