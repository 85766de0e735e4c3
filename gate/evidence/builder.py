"""Builds the input document: host context, request, records and digests, each in its own section.

Reads the records and decides nothing. What could not be read is absent or null, and absence never helps the caller.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gate.canonical import canonical_bytes, parse
from gate.errors import InputError
from gate.evidence.action import Action, freeze
from gate.evidence.counters import budget_facts, counter_facts
from gate.evidence.host import Call, Run
from gate.evidence.plan import PlanPlace, plan_facts
from gate.evidence.source import Evidence, Question
from gate.evidence.state import constraint_facts, effect_facts, run_facts, versions
from gate.evidence.trajectory import Trajectory, trajectory
from gate.evidence.votes import approval_facts, vote_facts
from gate.pdp import Facts
from gate.records import ApprovalRecord, BoundaryRecord, Completion, EffectRecord, RunRecord, Store, StoredVote

SCHEMA_VERSION = "gate-input/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A document and the records it was built from, with the versions a claim compares."""

    document: Mapping[str, Any]
    facts: Facts
    run: RunRecord | None = None
    action: Action | None = None
    approval: ApprovalRecord | None = None
    effect: EffectRecord | None = None
    constraint_version: int = 0
    """Of the constraints that bind the principal in every run."""
    completion: Completion | None = None
    """What became of the run's work, looked up for an answer only."""
    trajectory: Trajectory | None = None
    """Place of the call in the history of its run; None when no rule over history is about the capability."""

    @property
    def request_id(self) -> str:
        """The id that the reply must echo."""
        return str(self.document["request_id"])


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceBuilder:
    """The policy information point of one gate."""

    store: Store
    environment: str
    """Names the deployment (prod, staging); signed into every vote, so that approvals do not cross."""
    evidence: Evidence = field(default_factory=Evidence)
    """The host's sources of evidence."""

    def operation(
        self,
        run: Run,
        *,
        checkpoint: str,
        operation: str,
        now_ms: int,
        facts: Facts,
        request: Mapping[str, Any],
    ) -> Prepared:
        """A document for anything but a tool call; `request` is what the model asked.

        Raises `InputError` (`json_*`) for a request that has no canonical form.
        """
        if not isinstance(request, Mapping):
            raise InputError("a request is an object", code="request_not_object")
        asked = parse(canonical_bytes(dict(request)))
        record = self._run(run)
        document = self._base(run, record, checkpoint=checkpoint, operation=operation, now_ms=now_ms)
        document["state"]["run"] = self._with_budget(run, document["state"]["run"], facts)
        document["request"] = asked
        if operation == "model_call" and record is not None:
            steps = self.store.steps_since_failed_compaction(record.tenant_id, record.run_id)
            if steps is not None:
                document["state"]["longtask"] = {"phase": "step", "steps_since_failure": steps}
        collected = self.evidence.collect(
            Question(run=run, checkpoint=checkpoint, operation=operation, now_ms=now_ms, facts=facts)
        )
        if collected:
            document["evidence"] = collected
        completion = None
        if operation == "emit" and record is not None:
            completion = self.store.completion(record.tenant_id, record.run_id)
            document["state"]["completion"] = completion.counts()
        return Prepared(document=document, facts=facts, run=record, completion=completion)

    def tool_call(
        self,
        run: Run,
        call: Call,
        *,
        now_ms: int,
        facts: Facts,
        plan: PlanPlace | None = None,
        operation: str = "call_tool",
    ) -> Prepared:
        """A document for `call`; `plan` when it carries out a plan or is a step of one.

        `operation` is call_tool, or resume_tool when a paused session with the capability is to go on with the call.

        Raises `InputError` for arguments without canonical form, `StoreError` when a record cannot be read.
        """
        capability = facts.capabilities.get(call.capability)
        contract = facts.contracts.get(call.capability)
        question = Question(
            run=run, checkpoint="tool_execution", operation=operation, now_ms=now_ms, facts=facts, call=call
        )
        definition = self.evidence.tool_definition(question)
        action = freeze(
            run,
            call,
            bundle=facts.bundle,
            capability=capability,
            contract=contract,
            tool_definition=definition,
        )
        record = self._run(run)
        approval = self._approval(run, call, action, contract)
        effect = self._effect(run, call, action)
        constraint_version, bound = self._constraints(run, record)
        document = self._base(run, record, checkpoint="tool_execution", operation=operation, now_ms=now_ms)
        document["request"] = _request(call, action)
        document["state"] |= {
            "run": self._with_budget(run, document["state"]["run"], facts),
            "versions": versions(facts, capability, contract),
            "approval": self._approval_facts(approval, facts),
            "rejection": self._rejection(run, action),
            "side_effect": effect_facts(effect, action),
            "idempotency": self._idempotency(run, call, action),
            "counters": counter_facts(self.store, run, action, capability, facts=facts, now_ms=now_ms),
            "constraints": bound,
        }
        collected = self.evidence.collect(replace(question, action=action))
        document["evidence"] = collected | {
            "arguments": {
                "valid": action.arguments_valid,
                "schema_digest": None if capability is None else capability["arguments_digest"],
                "identified": action.identified,
            }
        }
        place = self._trajectory(run, call, action, facts, record)
        if place is not None:
            document["evidence"]["trajectory"] = place.section
        if plan is not None:
            section, state = plan_facts(plan, run, store=self.store, facts=facts, clock_ms=lambda: now_ms)
            document["evidence"]["compound_authorization"] = section
            document["state"]["plan"] = state
        document["digests"] = {
            "action_digest": action.action_digest,
            "intent_digest": action.intent_digest,
            "arguments": action.arguments_digest,
            "standing_digest": action.standing_digest,
            "tool_definition": definition,
        }
        return Prepared(
            document=document,
            facts=facts,
            run=record,
            action=action,
            approval=approval,
            effect=effect,
            trajectory=place,
            constraint_version=constraint_version,
        )

    def approval_transition(
        self,
        approval: ApprovalRecord,
        reviewer: Run,
        vote: StoredVote | None,
        *,
        transition: str,
        now_ms: int,
        facts: Facts,
    ) -> Prepared:
        """A document for a move of an approval.

        `transition` is approve, reject, delegate, cancel, revoke, expire or escalate; `vote` the signed word that it
        rests on, None when nobody signs.
        """
        record = self.store.run(approval.tenant_id, approval.run_id)
        document = self._base(reviewer, record, checkpoint="state", operation="approval_transition", now_ms=now_ms)
        document["request"] = {"transition": transition}
        document["state"]["approval"] = self._approval_facts(approval, facts, vote)
        document["state"]["approval"]["undispatched"] = self.store.undispatched(
            approval.tenant_id, approval.approval_id
        )
        document["evidence"] = {"vote": None if vote is None else vote_facts(vote, facts.reviewers)}
        return Prepared(document=document, facts=facts, run=record, approval=approval)

    def effect_transition(
        self,
        effect: EffectRecord,
        operator: Run,
        *,
        outcome: str,
        evidence_ref: str,
        owner_fenced: bool,
        now_ms: int,
        facts: Facts,
    ) -> Prepared:
        """A document for a reconciliation; `outcome` is committed, not_committed or partial."""
        record = self.store.run(effect.tenant_id, effect.run_id)
        document = self._base(operator, record, checkpoint="state", operation="effect_transition", now_ms=now_ms)
        document["request"] = {"outcome": outcome}
        document["state"]["side_effect"] = effect_facts(effect, None)
        document["evidence"] = {"reconciliation": {"evidence_ref": evidence_ref, "owner_fenced": owner_fenced}}
        return Prepared(document=document, facts=facts, run=record, effect=effect)

    def _base(
        self, run: Run, record: RunRecord | None, *, checkpoint: str, operation: str, now_ms: int
    ) -> dict[str, Any]:
        identity = run.identity
        return {
            "schema_version": SCHEMA_VERSION,
            "checkpoint": checkpoint,
            "request_id": secrets.token_hex(16),
            "operation": operation,
            "now_ms": now_ms,
            "trace": {
                "trace_id": run.trace_id,
                "session_id": run.session_id,
                "run_id": run.run_id,
                "epoch": run.epoch,
            },
            "agent": {"agent_id": run.agent_id, "environment": self.environment}
            | ({} if run.role is None else {"role": run.role}),
            "identity": {
                "tenant_id": identity.tenant_id,
                "principal_id": identity.principal_id,
                "authorization_mode": identity.authorization_mode,
                "delegated_principal_id": identity.delegated_principal_id,
                "delegated_scope": identity.delegated_scope,
            },
            "state": {"run": run_facts(record, self._boundary(record))},
        }

    def _with_budget(self, run: Run, found: dict[str, Any] | None, facts: Facts) -> dict[str, Any] | None:
        return None if found is None else {**found, **budget_facts(self.store, run, facts)}

    def _approval_facts(
        self, approval: ApprovalRecord | None, facts: Facts, presented: StoredVote | None = None
    ) -> dict[str, Any] | None:
        if approval is None:
            return None
        return approval_facts(approval, facts.reviewers, self.store.denied_keys(approval.tenant_id), presented)

    def _boundary(self, record: RunRecord | None) -> BoundaryRecord | None:
        if record is None or record.boundary_id is None:
            return None
        return self.store.boundary(record.tenant_id, record.boundary_id)

    def _constraints(self, run: Run, record: RunRecord | None) -> tuple[int, list[dict[str, Any]] | None]:
        """What binds the caller, with its version: null, which refuses, when nobody knows who that is."""
        tenant = run.identity.tenant_id
        principal = run.identity.principal_id if record is None else record.principal_id
        if not tenant or not principal:
            return 0, None
        version, found = self.store.binding_constraints(tenant, principal)
        return version, constraint_facts(found)

    def _trajectory(
        self, run: Run, call: Call, action: Action, facts: Facts, record: RunRecord | None
    ) -> Trajectory | None:
        observed = facts.trajectory.get(call.capability)
        if observed is None:
            return None
        tenant = run.identity.tenant_id
        history = self.store.history(tenant, run.run_id) if tenant else None
        return trajectory(run, call, action, observed=observed, record=record, history=history)

    def _run(self, run: Run) -> RunRecord | None:
        tenant = run.identity.tenant_id
        return self.store.run(tenant, run.run_id) if tenant else None

    def _approval(
        self, run: Run, call: Call, action: Action, contract: Mapping[str, Any] | None
    ) -> ApprovalRecord | None:
        tenant = run.identity.tenant_id
        if not tenant:
            return None
        if call.approval_id is not None:
            # Loaded whatever it is for, so that a mismatch is seen and named.
            return self.store.approval(tenant, call.approval_id)
        if contract is None or action.action_digest is None:
            return None
        if action.standing_digest is not None:
            return self.store.standing_approval(
                tenant, standing_digest=action.standing_digest, contract_digest=contract["contract_digest"]
            )
        return self.store.approval_for(
            tenant, action_digest=action.action_digest, contract_digest=contract["contract_digest"]
        )

    def _rejection(self, run: Run, action: Action) -> dict[str, Any] | None:
        tenant, principal = run.identity.tenant_id, run.identity.principal_id
        if not tenant or not principal or action.intent_digest is None:
            return None
        found = self.store.rejection_for(
            tenant,
            principal_id=principal,
            intent_digest=action.intent_digest,
            standing_digest=action.standing_digest,
        )
        if found is None:
            return {"approval_id": None, "intent_digest": None}
        return {"approval_id": found.approval_id, "intent_digest": found.intent_digest}

    def _effect(self, run: Run, call: Call, action: Action) -> EffectRecord | None:
        tenant, principal = run.identity.tenant_id, run.identity.principal_id
        if not tenant or not principal or action.business_key is None:
            return None
        return self.store.effect(
            tenant, principal_id=principal, capability=call.capability, business_key=action.business_key
        )

    def _idempotency(self, run: Run, call: Call, action: Action) -> dict[str, Any] | None:
        tenant, principal = run.identity.tenant_id, run.identity.principal_id
        # A name that the bundle does not know is refused by the policies; it need not be one the records can hold.
        if not tenant or not principal or not call.idempotency_key or action.action_digest is None:
            return None
        found = self.store.idempotency(
            tenant, principal_id=principal, capability=call.capability, idempotency_key=call.idempotency_key
        )
        if found is None:
            return {"idempotency_key": None, "action_digest": None}
        return {"idempotency_key": found.idempotency_key, "action_digest": found.action_digest}


def _request(call: Call, action: Action) -> dict[str, Any]:
    request: dict[str, Any] = {
        "capability": call.capability,
        "idempotency_key": call.idempotency_key,
        "resource": call.resource,
        "reason": call.reason,
    }
    if action.argument_bytes is not None:
        request["arguments"] = action.fresh_arguments()
    # Text that no JSON reader could carry is refused here, before anybody hashes or sends it.
    canonical_bytes(request)
    return request
