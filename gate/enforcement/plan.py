"""Plans of several steps: authorized as a whole before the first, and again before each; stopped at the first refusal.

Decides nothing: whether plan and step may run, and what a refused step makes of the plan, is in the decisions. Nothing
is ever rolled back: a plan that stops after an effect is partial, blocks, and is to be reconciled by people.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from gate.canonical import canonical_bytes, parse
from gate.decision import ActionBlocked, Decision, Verdict
from gate.enforcement.asking import refusal
from gate.enforcement.obligations import undischarged
from gate.enforcement.outcome import EffectNotStarted, PlanIncomplete
from gate.enforcement.tool_call import CallRunner, ToolCall
from gate.enforcement.tracing import Tracer
from gate.errors import GateError, InputError, PdpError
from gate.evidence import Call, PlanPlace, PlanStep, RequirementAdapter, RightsService, Run, require_text
from gate.evidence.plan import MAX_STEPS, plan_progress
from gate.records import Claimed, EffectStatus, PlanRecord, Store

_logger = logging.getLogger(__name__)

_STOPPED = frozenset({str(EffectStatus.PARTIAL), str(EffectStatus.FAILED_BEFORE_EFFECT)})
"""All that a stopped plan may be."""

Enter = Callable[[Run, Call, PlanPlace], AbstractContextManager[ToolCall]]
"""Carries out one call of a plan: decides, claims, hands over and settles."""

Settle = Callable[["PlanRun", ToolCall, EffectStatus, dict[str, Any], tuple[str, ...]], None]
"""Records what became of a plan."""


class PlanRun:
    """An authorized plan that is being carried out. Not to be shared between threads: steps have an order."""

    def __init__(
        self, *, run: Run, place: PlanPlace, record: PlanRecord, call: ToolCall, enter: Enter, settle: Settle
    ) -> None:
        self.run = run
        self.record = record
        """The immutable plan."""
        self.decision: Decision = call.decision
        """The decision that let the plan begin."""
        self.completed: list[int] = []
        """Steps that are done, 0-based."""
        self.uncertain: list[int] = []
        """Steps that were entered and are not known to be done."""
        self.settled: EffectStatus | None = None
        """What became of the plan; None while it is carried out."""
        self.suspended = False
        """The plan was left where it stands, to be resumed."""
        self._place, self._call, self._enter, self._settle = place, call, enter, settle

    @contextmanager
    def step(self, index: int) -> Iterator[ToolCall]:
        """Enters step `index`, 0-based, when plan, rights and order still hold; its body is that of a tool call.

        Raises `ActionBlocked` when it may not run (the plan is then stopped, unless a person is waited for),
        `AlreadyCommitted` with the first receipt, `InputError` for a number that no step has.
        """
        if self.suspended:
            raise InputError("the plan was suspended", code="plan_suspended", hint="go on with `gate.resume_plan`")
        place = replace(self._place, step=index)
        entered = False
        try:
            with self._enter(self.run, place.step_call(index), place) as call:
                entered = True
                self.uncertain.append(index)
                yield call
        except ActionBlocked as blocked:
            if not entered:
                self._stop(blocked)
            raise
        except EffectNotStarted:
            # The ledger has it as failed before its effect: there is nothing uncertain about it.
            self.uncertain.remove(index)
            raise
        self.uncertain.remove(index)
        self.completed.append(index)

    def suspend(self) -> None:
        """Leaves the plan where it stands: leaving the body settles nothing, and `gate.resume_plan` goes on with it.

        The lease of the plan runs on; after it only a reconciliation tells what became of the plan. Raises `InputError`
        (`plan_step_uncertain`) while a step is not known to be done.
        """
        if self.uncertain:
            raise InputError("a step of the plan is not known to be done", code="plan_step_uncertain")
        self.suspended = True

    def stop(self, blocked: ActionBlocked) -> None:
        """Settles the plan as the refusal `blocked` says, if it says that the plan is to be stopped."""
        self._stop(blocked)

    def finish(self, status: EffectStatus | None = None, reasons: tuple[str, ...] = ()) -> EffectStatus:
        """Settles the plan, once; without a `status` by what its steps came to. Raises `GateError` when it cannot."""
        if self.settled is None:
            status = status or self._outcome()
            result = {"completed": self.completed, "uncertain": self.uncertain, "plan_digest": self.record.plan_digest}
            self._settle(self, self._call, status, result, reasons)
            self.settled = status
        return self.settled

    def _stop(self, blocked: ActionBlocked) -> None:
        obligation = blocked.decision.obligation("stop_plan")
        if obligation is None:
            return
        if obligation.get("plan_ref") != self.record.plan_ref or obligation.get("to") not in _STOPPED:
            raise undischarged() from blocked
        self.finish(EffectStatus(obligation["to"]), blocked.decision.codes)

    def _outcome(self) -> EffectStatus:
        """Done only when every step is; nothing only when none had an effect or may have had one."""
        if len(self.completed) == len(self._place.steps):
            return EffectStatus.COMMITTED
        touched = self.completed or self.uncertain
        return EffectStatus.PARTIAL if touched else EffectStatus.FAILED_BEFORE_EFFECT


def plan_place(
    capability: str,
    *,
    plan_ref: str,
    task_ref: str,
    steps: Sequence[PlanStep],
    adapter: RequirementAdapter,
    rights: RightsService,
    reason: str | None,
    approval_id: str | None,
) -> PlanPlace:
    """The plan as it will be checked and carried out. Raises `InputError`: `plan_steps_invalid`, `field_invalid`."""
    if not 1 <= len(steps) <= MAX_STEPS:
        raise InputError(f"a plan has 1 to {MAX_STEPS} steps", code="plan_steps_invalid")
    for name, value in (("plan_ref", plan_ref), ("task_ref", task_ref)):
        require_text(name, value)
    return PlanPlace(
        capability=capability,
        plan_ref=plan_ref,
        task_ref=task_ref,
        # Parsed anew, so that no caller's object can change under a checked plan.
        steps=tuple(replace(step, arguments=parse(canonical_bytes(step.arguments))) for step in steps),
        adapter=adapter,
        rights=rights,
        reason=reason,
        approval_id=approval_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCarrier:
    """Records, enters and settles the plans of one gate."""

    store: Store
    runner: CallRunner
    tracer: Tracer
    enter: Enter

    @contextmanager
    def carry_out(self, run: Run, place: PlanPlace) -> Iterator[PlanRun]:
        """Records the plan, enters it, and settles it by what its steps came to. See `Gate.plan`."""
        derived = place.derive(run)
        record = self.store.record_plan(
            PlanRecord(
                tenant_id=run.identity.tenant_id or "",
                plan_ref=place.plan_ref,
                run_id=run.run_id,
                principal_id=run.identity.principal_id or "",
                capability=place.capability,
                task_ref=place.task_ref,
                plan_digest=derived.plan_digest,
                content=derived.content,
            )
        )
        try:
            call = self.runner.enter(run, place.call(derived.arguments), plan=place)
        except GateError as exc:
            self.tracer.blocked(run, exc)
            raise
        plan = PlanRun(run=run, place=place, record=record, call=call, enter=self.enter, settle=self._settle)
        with self._settled(run, place, plan):
            yield plan

    @contextmanager
    def resume(self, run: Run, place: PlanPlace) -> Iterator[PlanRun]:
        """Goes on with a recorded plan where the ledger says it stands. See `Gate.resume_plan`."""
        record = self.store.plan(run.identity.tenant_id or "", place.plan_ref)
        if record is None:
            raise InputError("no plan of that name is recorded", code="plan_unknown")
        try:
            facts = self.runner.point.facts(run.agent_id)
        except PdpError as exc:
            raise ActionBlocked(refusal(exc, None)) from exc
        effect, completed, same = plan_progress(place, run, record, store=self.store, facts=facts)
        last = len(place.steps) - 1
        following = min(completed, last)
        answer = self.runner.ask(run, place.step_call(following), plan=replace(place, step=following))
        if answer.prepared is None or effect is None:
            raise self._blocked(run, answer.decision)
        call = ToolCall(decision=answer.decision, prepared=answer.prepared, claimed=Claimed(effect=effect))
        plan = PlanRun(run=run, place=place, record=record, call=call, enter=self.enter, settle=self._settle)
        plan.completed.extend(range(completed))
        # Every step is decided again when it is entered: this refuses early, and permits nothing. A person who is
        # waited for may answer while the plan goes on; where every step is done there is nothing left to permit.
        done = completed > last and same
        if not answer.decision.allowed and answer.decision.verdict is not Verdict.REQUIRE_APPROVAL and not done:
            blocked = self._blocked(run, answer.decision)
            plan.stop(blocked)
            raise blocked
        self.store.record_plan_resumed(record, {"completed": plan.completed})
        with self._settled(run, place, plan):
            yield plan

    def _blocked(self, run: Run, decision: Decision) -> ActionBlocked:
        blocked = ActionBlocked(decision)
        self.tracer.blocked(run, blocked)
        return blocked

    @contextmanager
    def _settled(self, run: Run, place: PlanPlace, plan: PlanRun) -> Iterator[None]:
        try:
            self.tracer.allowed(run, plan.decision)
            yield
        except BaseException:
            try:
                plan.finish()
            except GateError as exc:
                # What ended the plan outranks the failure to record; the plan stays claimed, which blocks.
                _logger.warning("the end of a plan could not be recorded: %s", exc.code)
            raise
        if plan.suspended:
            self.store.record_plan_suspended(plan.record, {"completed": plan.completed})
            return
        if plan.finish() is not EffectStatus.COMMITTED:
            raise PlanIncomplete(
                f"{len(plan.completed)} of {len(place.steps)} steps were carried out",
                hint="reconcile the plan's effects; nothing was rolled back",
            )

    def _settle(
        self, plan: PlanRun, call: ToolCall, status: EffectStatus, result: dict[str, Any], reasons: tuple[str, ...]
    ) -> None:
        if status is not EffectStatus.COMMITTED:
            self.store.record_plan_stopped(plan.record, {**result, "status": str(status), "reasons": list(reasons)})
        if status is not EffectStatus.FAILED_BEFORE_EFFECT:
            call.complete(result)
        self.runner.settle(call, status)
        if call.claimed is not None:
            self.tracer.settled(plan.run, status=str(status), business_key=call.claimed.effect.business_key)
