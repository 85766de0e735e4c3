"""Moves of an approval that no vote makes: taken back, expired, escalated. Decided in Rego, applied by compare-and-set.

Nothing here knows who may take an approval back, when its time is over or to whom it is escalated; it gathers the
signed word, asks, and moves the record exactly as the decision's obligations say.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from gate.decision import ActionBlocked
from gate.enforcement.asking import Answer, ask, refusal
from gate.enforcement.obligations import ended_by, obliged_to_move, refuse_unknown, resumes, undischarged
from gate.enforcement.tracing import Tracer
from gate.errors import ConflictError, EvidenceError, InputError
from gate.evidence import EvidenceBuilder, Identity, Run
from gate.pdp import DecisionPoint
from gate.records import ApprovalRecord, ApprovalStatus, RunStatus, Store, StoredVote, peek_reason

_logger = logging.getLogger(__name__)

CLOCK = "gate-clock"
"""Principal under which the gate says that time has passed; it signs nothing and grants nothing."""

_Status = TypeVar("_Status", bound=StrEnum)
_DISCHARGED_BY_MOVING = frozenset({"move_approval", "escalate_approval", "move_effect", "end_run", "resume_run"})
_OPEN = (ApprovalStatus.PENDING, ApprovalStatus.APPROVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What an allowed transition does to an approval and to the run that asked."""

    to_status: ApprovalStatus
    ends_run: RunStatus | None
    resumes_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """Takes approvals back and tells them the time, for one gate."""

    point: DecisionPoint
    store: Store
    evidence: EvidenceBuilder
    clock_ms: Callable[[], int]
    environment: str
    tracer: Tracer

    def revoke(self, tenant_id: str, approval_id: str, vote: StoredVote, *, reviewer: str) -> ApprovalRecord:
        """Takes an approval back that was given; `vote` is signed over `revoked`.

        One that a call has consumed is taken back while the call's tool has not started: a tool that verifies its calls
        then refuses to. Raises as `cancel` does.
        """
        return self._signed(tenant_id, approval_id, vote, "revoke", said="revoked", who=reviewer)

    def cancel(self, tenant_id: str, approval_id: str, vote: StoredVote, *, reviewer: str) -> ApprovalRecord:
        """Takes a pending request back; `vote` is signed over `cancelled`.

        Raises `ActionBlocked` when the policies refuse it, `InputError` for an unknown approval, `ConflictError` when
        somebody else changed the approval first.
        """
        return self._signed(tenant_id, approval_id, vote, "cancel", said="cancelled", who=reviewer)

    def take_back(self, requester: Identity, approval_id: str) -> ApprovalRecord:
        """Takes the requester's own pending request back; the host has verified that it is he. Raises as `cancel`."""
        approval = self.known(requester.tenant_id or "", approval_id)
        person = _run_of(approval, requester)
        move = self.move_of(person, self._ask(approval, person, None, "cancel"), approval)
        return self.store.set_approval_status(
            approval.tenant_id,
            approval_id,
            expected_version=approval.version,
            to_status=move.to_status,
            reason=f"taken back by {requester.principal_id}",
            ends_run=move.ends_run,
            resumes_run=move.resumes_run,
        )

    def expire(self, tenant_id: str, approval_id: str) -> ApprovalRecord:
        """Lets an approval expire whose time is over; its contract says what becomes of the run. Raises as `cancel`."""
        approval = self.known(tenant_id, approval_id)
        person = _run_of(approval, _clock(tenant_id))
        move = self.move_of(person, self._ask(approval, person, None, "expire"), approval)
        return self.store.set_approval_status(
            tenant_id,
            approval_id,
            expected_version=approval.version,
            to_status=move.to_status,
            reason="its time is over",
            ends_run=move.ends_run,
            resumes_run=move.resumes_run,
        )

    def escalate(self, tenant_id: str, approval_id: str) -> ApprovalRecord:
        """Opens a request to the default reviewer too that nobody decided in time. Raises as `cancel`."""
        approval = self.known(tenant_id, approval_id)
        person = _run_of(approval, _clock(tenant_id))
        answer = self._ask(approval, person, None, "escalate")
        decision = self.tracer.decision(person, answer.decision).enforce()
        try:
            refuse_unknown(decision, frozenset({"escalate_approval"}))
            found = decision.obligation("escalate_approval")
            if found is None or (found.get("approval_id"), found.get("version")) != (approval_id, approval.version):
                raise undischarged()
        except EvidenceError as exc:
            raise ActionBlocked(refusal(exc, answer.prepared)) from exc
        return self.store.escalate_approval(tenant_id, approval_id, expected_version=approval.version)

    def sweep(self, tenant_id: str) -> list[ApprovalRecord]:
        """Expires and escalates whatever of the tenant's approvals the policies say is due; what was moved.

        Each is asked about, so that no clock but the policies' decides; harmless to run twice or at once.
        """
        moved: list[ApprovalRecord] = []
        for status in _OPEN:
            for approval in self.store.approvals(tenant_id, status=status):
                for step in (self.expire, self.escalate):
                    try:
                        moved.append(step(tenant_id, approval.approval_id))
                        break
                    except (ActionBlocked, ConflictError) as exc:
                        _logger.debug("approval %s stays as it is: %s", approval.approval_id, exc.code)
        return moved

    def known(self, tenant_id: str, approval_id: str) -> ApprovalRecord:
        """The approval; raises `InputError` (`approval_unknown`) when the tenant has none of that id."""
        approval = self.store.approval(tenant_id, approval_id)
        if approval is None:
            raise InputError(f"approval `{approval_id!a}` is not known", code="approval_unknown")
        return approval

    def move_of(self, person: Run, answer: Answer, approval: ApprovalRecord) -> Move:
        """What an allowed transition does; raises `ActionBlocked` unless it is allowed and can be carried out."""
        subject = {"approval_id": approval.approval_id, "version": approval.version}
        to_status = self.enforce(person, answer, "move_approval", ApprovalStatus, subject)
        try:
            ends_run = ended_by(answer.decision)
            resumes_run = resumes(answer.decision, approval.approval_id)
        except EvidenceError as exc:
            raise ActionBlocked(refusal(exc, answer.prepared)) from exc
        return Move(to_status=to_status, ends_run=ends_run, resumes_run=resumes_run)

    def enforce(
        self, person: Run, answer: Answer, kind: str, statuses: type[_Status], subject: Mapping[str, object]
    ) -> _Status:
        """The state that an allowed transition moves to; raises `ActionBlocked` unless it can be carried out."""
        decision = self.tracer.decision(person, answer.decision).enforce()
        try:
            refuse_unknown(decision, _DISCHARGED_BY_MOVING)
            to = obliged_to_move(decision, kind, subject=subject)
            if to not in set(statuses):
                raise undischarged()
        except EvidenceError as exc:
            raise ActionBlocked(refusal(exc, answer.prepared)) from exc
        return statuses(to)

    def _signed(
        self, tenant_id: str, approval_id: str, vote: StoredVote, transition: str, *, said: str, who: str
    ) -> ApprovalRecord:
        approval = self.known(tenant_id, approval_id)
        person = reviewing(approval, who)
        move = self.move_of(person, self._ask(approval, person, vote, transition), approval)
        # Allowed: the signature holds, over the reason too.
        why = peek_reason(vote)
        return self.store.add_vote(
            tenant_id,
            approval_id,
            expected_version=approval.version,
            vote=vote,
            to_status=move.to_status,
            reason=f"{said} by {who}" + (f": {why}" if why else ""),
            ends_run=move.ends_run,
            resumes_run=move.resumes_run,
        )

    def _ask(self, approval: ApprovalRecord, person: Run, vote: StoredVote | None, transition: str) -> Answer:
        return ask(
            self.point,
            approval.agent_id,
            lambda facts: self.evidence.approval_transition(
                approval, person, vote, transition=transition, now_ms=self.clock_ms(), facts=facts
            ),
        )


def reviewing(approval: ApprovalRecord, who: str) -> Run:
    """The run that asked, with a person in it who reviews it."""
    return _run_of(
        approval, Identity(tenant_id=approval.tenant_id, principal_id=who, authorization_mode="human_approved")
    )


def _clock(tenant_id: str) -> Identity:
    return Identity(tenant_id=tenant_id, principal_id=CLOCK, authorization_mode="platform_owned")


def _run_of(approval: ApprovalRecord, identity: Identity) -> Run:
    return Run(
        agent_id=approval.agent_id,
        session_id=approval.session_id,
        run_id=approval.run_id,
        trace_id=approval.trace_id,
        identity=identity,
    )
