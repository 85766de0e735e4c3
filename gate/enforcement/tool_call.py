"""One tool call from question to settled effect: decide, claim, run, settle.

Decides nothing. Steps, cited below by number: 1 build the document; 2 decide; 3 ask for approval and stop; 4 claim
effect and approval in one transaction; 5 the caller runs the tool with a fresh parse of the digested bytes; 6 settle;
7 trace.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gate.canonical import canonical_bytes, parse
from gate.decision import ActionBlocked, Decision, Verdict
from gate.enforcement.asking import Answer, ask, refusal
from gate.enforcement.obligations import end_run, refuse_unclaimed, refuse_unknown, undischarged
from gate.enforcement.outcome import AlreadyCommitted
from gate.enforcement.redaction import redacted
from gate.enforcement.tracing import Tracer
from gate.errors import ConflictError, EvidenceError, InputError
from gate.evidence import Action, Call, EvidenceBuilder, PlanPlace, Prepared, Run, redacted_view
from gate.pdp import DecisionPoint
from gate.records import NARROWED, ApprovalRequest, Claim, Claimed, CounterUse, EffectStatus, HistoryStep, Store

Signer = Callable[[Claimed, Prepared], str]

_logger = logging.getLogger(__name__)

LEASE_MARGIN_MS = 5_000
"""What a lease lasts beyond the tool's own deadline, in ms: time to settle."""

CLAIM_ROUNDS = 8
"""How often a call is decided before it is given up because records that it counts on keep changing."""

# `redact` is carried out before either, and the call decided again.
_DISCHARGED_BY_CLAIM = frozenset({"consume_approval", "claim_effect", "redact", "mark_partial"})
# `stop_plan` is carried out by the plan that the call is a step of; no other call is told to.
_DISCHARGED_BY_STOPPING = frozenset(
    {"request_approval", "return_receipt", "reconcile", "end_run", "pause_run", "redact", "stop_plan"}
)


class ToolCall:
    """An allowed call. The body of the `with` statement uses `arguments` and hands its receipt to `complete`."""

    def __init__(
        self, *, decision: Decision, prepared: Prepared, claimed: Claimed | None, sign: Signer | None = None
    ) -> None:
        self.decision = decision
        self._prepared = prepared
        self._claimed = claimed
        self._sign = sign
        self._receipt: Any = None
        self._completed = False

    @property
    def arguments(self) -> Any:
        """A fresh parse of the bytes that were decided about; changing it changes nothing else."""
        action = self._prepared.action
        return None if action is None else action.fresh_arguments()

    @property
    def claimed(self) -> Claimed | None:
        """The claim on the effect; None for a call that claims nothing."""
        return self._claimed

    @property
    def token(self) -> str:
        """What `gate.verify_call` in the tool's own process wants to see; good for one start of this very call.

        Raises `InputError`: `call_not_claimed` for a call that claims nothing, `call_key_missing` when the gate has
        no key to sign with.
        """
        if self._claimed is None:
            raise InputError("a call that claims no effect has no token", code="call_not_claimed")
        if self._sign is None:
            raise InputError(
                "this gate has no key to sign calls with", code="call_key_missing", hint="open it with `call_key`"
            )
        return self._sign(self._claimed, self._prepared)

    @property
    def timeout_seconds(self) -> int:
        """Deadline of the tool in seconds, from the compiled catalog."""
        name = self._prepared.document["request"]["capability"]
        return int(self._prepared.facts.capabilities[name]["timeout_seconds"])

    def record_step(self, store: Store, status: EffectStatus) -> None:
        """Adds a call that claimed nothing to the history of its run, when rules over history are about it."""
        step, run = _step_of(self._prepared), self._prepared.run
        if step is not None and run is not None:
            # It added nothing up, so that it matters to no limit what came between.
            store.record_step(run.tenant_id, run.run_id, replace(step, version=None), status=str(status))

    @property
    def partial(self) -> bool:
        """Less was granted than was asked for: whoever gets the result must be told that it may be a part of it."""
        return self.decision.obligation("mark_partial") is not None

    @property
    def completed(self) -> bool:
        """The tool said that its effect happened."""
        return self._completed

    @property
    def receipt(self) -> Any:
        """What the tool returned, if it has."""
        return self._receipt

    def complete(self, receipt: Any = None) -> Any:
        """Says that the effect happened, with the tool's JSON `receipt`, which a repeated call will be answered with.

        Raises `InputError` when the receipt is not JSON; the effect is committed all the same.
        """
        self._completed = True
        # A copy: what the tool does to its own object afterwards must not reach the ledger.
        self._receipt = parse(canonical_bytes(receipt))
        return receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRunner:
    """Carries out steps 1 to 4 and 6 for one gate."""

    point: DecisionPoint
    store: Store
    evidence: EvidenceBuilder
    clock_ms: Callable[[], int]
    owner: Callable[[], str]
    tracer: Tracer
    sign: Signer | None = None
    """Signs the tokens of claimed calls; None when tools do not verify."""

    def enter(self, run: Run, call: Call, *, plan: PlanPlace | None = None) -> ToolCall:
        """Steps 1 to 4; `plan` is where the call stands in a plan of several steps.

        Raises `ActionBlocked` unless the call may run now, `AlreadyCommitted` when it already did.
        """
        contended = 0
        for _ in range(CLAIM_ROUNDS):
            answer = self.ask(run, call, plan=plan)
            blanked = self._redacted(call, answer)
            if blanked is not call:
                # What is approved, claimed and run is the redacted call: it is another action, so it is decided again.
                call = blanked
                continue
            if not answer.decision.allowed:
                self._stop(run, call, answer)
            prepared = answer.prepared
            if prepared is None:
                break
            try:
                claimed = self._claim(run, call, answer.decision, prepared)
            except ConflictError as exc:
                _logger.info("claim met a changed record (%s); deciding again", exc.code)
                contended += 1
                # Apart at random, or those who met at a counter meet there again.
                time.sleep(random.uniform(0, 0.002 * 2**contended))  # noqa: S311 - not a secret
                continue
            except EvidenceError as exc:
                raise ActionBlocked(refusal(exc, prepared)) from exc
            if answer.decision.obligation("mark_partial") is not None:
                # So that whatever is told at the end of the run tells it, too.
                self.store.append_event(
                    run.identity.tenant_id or "", run.run_id, NARROWED, {"capability": call.capability}
                )
            return ToolCall(decision=answer.decision, prepared=prepared, claimed=claimed, sign=self.sign)
        error = ConflictError(
            "the records kept changing while the call was decided",
            code="claim_contended",
            hint="try again later",
        )
        raise ActionBlocked(refusal(error, None)) from error

    def ask(self, run: Run, call: Call, *, plan: PlanPlace | None = None, operation: str = "call_tool") -> Answer:
        """Steps 1 and 2."""
        answer = ask(
            self.point,
            run.agent_id,
            lambda facts: self.evidence.tool_call(
                run, call, now_ms=self.clock_ms(), facts=facts, plan=plan, operation=operation
            ),
        )
        self.tracer.trajectory(run, answer)
        return answer

    def _redacted(self, call: Call, answer: Answer) -> Call:
        """`call` with its arguments blanked as the decision wants; `call` itself when they are as they should be."""
        action = None if answer.prepared is None else answer.prepared.action
        if answer.decision.obligation("redact") is None or action is None:
            return call
        try:
            arguments = action.fresh_arguments()
            blanked = redacted(answer.decision, arguments)
        except EvidenceError as exc:
            raise ActionBlocked(refusal(exc, answer.prepared)) from exc
        return call if blanked is arguments else replace(call, arguments=blanked)

    def settle(self, call: ToolCall, status: EffectStatus) -> None:
        """Step 6. Raises `ConflictError` (`lease_expired`) when the outcome came too late to be believed."""
        if call.claimed is None:
            call.record_step(self.store, status)
            return
        effect = call.claimed.effect
        self.store.settle(
            effect.tenant_id,
            principal_id=effect.principal_id,
            capability=effect.capability,
            business_key=effect.business_key,
            fencing=effect.fencing,
            owner=effect.owner,
            status=status,
            receipt=call.receipt if status in (EffectStatus.COMMITTED, EffectStatus.PARTIAL) else None,
        )

    def _stop(self, run: Run, call: Call, answer: Answer) -> None:
        """Discharges the obligations of a refusal, then raises it."""
        decision, prepared = answer.decision, answer.prepared
        if prepared is None or not decision.decided:
            raise ActionBlocked(decision)
        try:
            refuse_unknown(decision, _DISCHARGED_BY_STOPPING)
            if decision.obligation("return_receipt") is not None and prepared.effect is not None:
                raise AlreadyCommitted(decision, prepared.effect.receipt)
            approval_id = None
            if decision.verdict is Verdict.REQUIRE_APPROVAL:
                approval_id = self._request_approval(run, call, decision, prepared)
            end_run(self.store, prepared.run, decision, reason=",".join(decision.codes))
        except ConflictError:
            # Somebody else ended the run or asked first; the refusal stands either way.
            raise ActionBlocked(decision) from None
        except EvidenceError as exc:
            raise ActionBlocked(refusal(exc, prepared)) from exc
        raise ActionBlocked(decision, approval_id=approval_id)

    def _request_approval(self, run: Run, call: Call, decision: Decision, prepared: Prepared) -> str | None:
        obligation = decision.obligation("request_approval")
        action, facts = prepared.action, prepared.facts
        if obligation is None or action is None or facts.bundle is None:
            return None
        if action.action_digest is None or action.intent_digest is None:
            return None
        principal = run.identity.principal_id or ""
        request = ApprovalRequest(
            tenant_id=run.identity.tenant_id or "",
            run_id=run.run_id,
            capability=call.capability,
            contract_id=obligation["contract_id"],
            contract_digest=obligation["contract_digest"],
            action_digest=action.action_digest,
            intent_digest=action.intent_digest,
            principal_id=principal,
            agent_id=run.agent_id,
            session_id=run.session_id,
            trace_id=run.trace_id,
            requested_by=principal,
            reason=call.reason or "",
            bundle_version=facts.bundle["version"],
            release_identity=facts.bundle["release_identity"],
            view=redacted_view(action, list(facts.show_arguments.get(call.capability, []))),
            capability_version=facts.capabilities.get(call.capability, {}).get("capability_version"),
            idempotency_key=call.idempotency_key,
            business_key=action.business_key,
            **_standing_of(action, facts.contracts.get(call.capability, {})),
            request_fingerprint=place.step["request_fingerprint"] if (place := prepared.trajectory) else None,
        )
        asked = self.store.request_approval(
            request,
            max_wait_ms=obligation["max_wait_seconds"] * 1000,
            pauses_run=decision.obligation("pause_run") is not None,
            min_epoch=obligation.get("min_epoch"),
        )
        return asked.approval_id

    def _claim(self, run: Run, call: Call, decision: Decision, prepared: Prepared) -> Claimed | None:
        """Step 4. None only for a call whose decision asks for no claim and consumes nothing."""
        refuse_unknown(decision, _DISCHARGED_BY_CLAIM)
        refuse_unclaimed(decision, prepared)
        claim, consume = decision.obligation("claim_effect"), decision.obligation("consume_approval")
        if claim is None and consume is None:
            return None
        action = prepared.action
        if (
            claim is None
            or claim["lease_seconds"] <= 0
            or action is None
            or action.action_digest is None
            or action.business_key is None
            or prepared.run is None
            or not call.idempotency_key
        ):
            raise undischarged()
        return self.store.claim(
            Claim(
                tenant_id=prepared.run.tenant_id,
                run_id=prepared.run.run_id,
                run_version=prepared.run.version,
                principal_id=prepared.run.principal_id,
                capability=call.capability,
                business_key=action.business_key,
                idempotency_key=call.idempotency_key,
                action_digest=action.action_digest,
                owner=self.owner(),
                lease_ms=claim["lease_seconds"] * 1000 + LEASE_MARGIN_MS,
                effect_version=None if prepared.effect is None else prepared.effect.version,
                counters=_counters_of(claim, prepared),
                intent_digest=action.intent_digest,
                constraint_version=prepared.constraint_version,
                step=_step_of(prepared),
                **_approval_of(consume),
            )
        )


def _step_of(prepared: Prepared) -> HistoryStep | None:
    place = prepared.trajectory
    return None if place is None else HistoryStep(version=place.version, payload=place.step)


def _approval_of(consume: Mapping[str, Any] | None) -> dict[str, Any]:
    if consume is None:
        return {}
    if consume["approval_id"] is None or consume["version"] is None:
        raise undischarged()
    claimed = {"approval_id": consume["approval_id"], "approval_version": consume["version"]}
    if "standing_digest" not in consume:
        return claimed
    if not isinstance(consume["standing_digest"], str) or type(consume.get("max_uses")) is not int:
        raise undischarged()
    return {**claimed, "standing_digest": consume["standing_digest"], "max_uses": consume["max_uses"]}


def _standing_of(action: Action, contract: Mapping[str, Any]) -> dict[str, Any]:
    """What the reviewer is asked for besides this one execution, as the served contract has it."""
    if action.standing_digest is None:
        return {}
    return {"standing_digest": action.standing_digest, "standing_terms": contract["standing"]}


def _counters_of(claim: Mapping[str, Any], prepared: Prepared) -> tuple[CounterUse, ...]:
    """What the claim counts; one use for each limit that the served catalog has the capability counted by."""
    entry = prepared.facts.capabilities.get(prepared.document["request"]["capability"], {})
    uses = claim.get("counters", [])
    if not isinstance(uses, list) or len(uses) != len(entry.get("counted_by", ())):
        raise undischarged()
    try:
        return tuple(CounterUse(**use) for use in uses)
    except TypeError as exc:
        raise undischarged() from exc
