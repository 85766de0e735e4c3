"""Plans of several steps, as a host asks for them: the part of `Gate` that starts them and goes on with them.

Decides nothing and settles nothing: `gate.enforcement.plan` carries plans out, and the decisions say what may run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gate.enforcement.plan import PlanCarrier, PlanRun, plan_place
from gate.evidence import PlanStep, RequirementAdapter, RightsService, Run


class Planning:
    """What a gate offers for plans."""

    _plans: PlanCarrier

    @contextmanager
    def plan(
        self,
        run: Run,
        capability: str,
        *,
        plan_ref: str,
        task_ref: str,
        steps: Sequence[PlanStep],
        adapter: RequirementAdapter,
        rights: RightsService,
        reason: str | None = None,
        approval_id: str | None = None,
    ) -> Iterator[PlanRun]:
        """Enters only when the whole plan may be carried out now; the body enters `plan.step(0)`, `plan.step(1)`, ...

        `capability` carries plans out, `task_ref` is the host's word for what the run is for. `adapter` derives what
        the steps need from canonical resource ids, and `rights` says what the principal may do; both are asked again
        before each step. A plan is recorded once under `plan_ref`; another one under that name is refused.

        Leaving the body with every step done commits the plan. Otherwise it is partial as soon as one step had an
        effect, or failed before any: nothing is rolled back. Raises what `tool_call` raises, and `PlanIncomplete` when
        the body was left early without an error.
        """
        place = plan_place(
            capability,
            plan_ref=plan_ref,
            task_ref=task_ref,
            steps=steps,
            adapter=adapter,
            rights=rights,
            reason=reason,
            approval_id=approval_id,
        )
        with self._plans.carry_out(run, place) as entered:
            yield entered

    @contextmanager
    def resume_plan(
        self,
        run: Run,
        capability: str,
        *,
        plan_ref: str,
        task_ref: str,
        steps: Sequence[PlanStep],
        adapter: RequirementAdapter,
        rights: RightsService,
        reason: str | None = None,
        approval_id: str | None = None,
    ) -> Iterator[PlanRun]:
        """Goes on with a plan that another body, thread or process suspended or left, at the step the ledger says.

        `steps` are stated again, because the record keeps digests of arguments only; other steps than the recorded
        ones are refused, as `plan_changed`. Plan, rights and order are asked for at once, and again before each step.
        `plan.completed` says which steps are done. Only while the plan's lease lasts: after it, or with a step whose
        outcome is unknown, the plan is to be reconciled. The body may be in two processes at once, and each step runs
        once all the same; whoever is done first settles the plan.

        Raises what `plan` raises, and `InputError` (`plan_unknown`) when no plan of that name is recorded.
        """
        place = plan_place(
            capability,
            plan_ref=plan_ref,
            task_ref=task_ref,
            steps=steps,
            adapter=adapter,
            rights=rights,
            reason=reason,
            approval_id=approval_id,
        )
        with self._plans.resume(run, place) as entered:
            yield entered
