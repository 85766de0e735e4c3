"""Plans of several steps: what an adapter derives from them, what a rights service says of it, and where a call stands.

Gathers and decides nothing. What cannot be derived is missing, and what cannot be asked is `unavailable`; neither is
allowed by any rule. Argument values stay out of the plan: it names their digests.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gate.canonical import digest
from gate.errors import EvidenceError, GateError, InputError
from gate.evidence.action import freeze
from gate.evidence.host import Call, Run, require_text
from gate.evidence.http_json import JsonService
from gate.pdp import Facts
from gate.records import EffectRecord, EffectStatus, PlanRecord, Store

_logger = logging.getLogger(__name__)

MAX_STEPS, MAX_REQUIREMENTS = 20, 100
DECISIONS = frozenset({"allow", "deny", "unknown", "unavailable"})
"""All that a rights service may say of a requirement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One step as the model planned it. UNTRUSTED. Raises `InputError` for a name that is blank or not text."""

    capability: str
    arguments: Any
    idempotency_key: str
    resource: str
    """Canonical id of what the step changes."""

    def __post_init__(self) -> None:
        for name in ("capability", "idempotency_key", "resource"):
            require_text(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Requirement:
    """One right that a step needs."""

    step: int
    """Which step, 0-based."""
    action: str
    """Such as `worker.update`."""
    resource_ref: str
    """Canonical id of the resource, a zone that a route leaves included."""
    required_access: str
    """Such as `Editor`."""


class RequirementAdapter(Protocol):
    """Derives what a plan needs from canonical resource ids. A list that a model wrote is no derivation."""

    @property
    def name(self) -> str:
        """The name under which bundles trust it."""

    def requirements(self, steps: Sequence[PlanStep]) -> Sequence[Requirement]:
        """Everything that `steps` need. Whatever it raises leaves the plan without requirements, which is refused."""


class RightsService(Protocol):
    """Says what a principal may do now."""

    def decisions(self, *, tenant_id: str, principal_id: str, requirements: Sequence[Requirement]) -> Sequence[str]:
        """One of `DECISIONS` for each requirement, in order, from one moment. Whatever it raises is `unavailable`."""


@dataclass(frozen=True, slots=True)
class HttpRights:
    """A rights service over HTTP: one question for the whole plan."""

    service: JsonService

    def decisions(self, *, tenant_id: str, principal_id: str, requirements: Sequence[Requirement]) -> list[str]:
        """Asks the service, whose answer must name the principal and each requirement again.

        Raises `EvidenceError` when it does not answer, or answers about somebody else.
        """
        asked = [_triple(need) for need in requirements]
        answer = self.service.ask({"tenant_ref": tenant_id, "principal_ref": principal_id, "requirements": asked})
        if answer.get("tenant_ref") != tenant_id or answer.get("principal_ref") != principal_id:
            raise EvidenceError("the rights service answered about somebody else", code="evidence_subject_mismatch")
        said: dict[tuple[Any, ...], str] = {}
        for entry in answer.get("decisions", ()):
            key = tuple(entry.get(name) for name in ("action", "resource_ref", "required_access"))
            # Said twice and differently is not known.
            said[key] = entry.get("decision") if said.get(key, entry.get("decision")) == entry.get("decision") else ""
        return [said.get(tuple(need.values()), "unknown") for need in asked]


def _triple(need: Requirement) -> dict[str, str]:
    return {"action": need.action, "resource_ref": need.resource_ref, "required_access": need.required_access}


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedPlan:
    """A plan and what an adapter derived from it now."""

    plan_ref: str
    task_ref: str
    adapter: str
    steps: tuple[Mapping[str, Any], ...]
    requirements: tuple[Requirement, ...]
    plan_digest: str

    @property
    def content(self) -> dict[str, Any]:
        """Steps and requirements, as they are recorded and as a reviewer approves them."""
        return {
            "steps": [dict(step) for step in self.steps],
            "requirements": [{"step": need.step, **_triple(need)} for need in self.requirements],
        }

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the capability that carries the plan out."""
        return {"plan_ref": self.plan_ref, "plan_digest": self.plan_digest, "task_ref": self.task_ref, **self.content}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPlace:
    """Where a call stands in a plan: the plan itself, or one of its steps."""

    capability: str
    """Capability that carries the plan out."""
    plan_ref: str
    task_ref: str
    steps: tuple[PlanStep, ...]
    adapter: RequirementAdapter
    rights: RightsService
    reason: str | None = None
    approval_id: str | None = None
    """Approval the host says the plan is under; without it the approval is found by digest."""
    step: int | None = None
    """Step the call is, 0-based; None for the plan itself."""

    def derive(self, run: Run, recorded: PlanRecord | None = None, completed: int = 0) -> DerivedPlan:
        """What the adapter derives now. A step that was carried out keeps the requirements that were recorded."""
        steps = tuple(
            {
                "capability": step.capability,
                "arguments": digest({"value": step.arguments}),
                "resource": step.resource,
            }
            for step in self.steps
        )
        kept = () if recorded is None else _recorded_requirements(recorded, completed)
        found = tuple(sorted({*kept, *(need for need in self._asked() if need.step >= completed)}))
        identity = run.identity
        content = {
            "domain": "gate-plan/v1",
            "tenant_id": identity.tenant_id,
            "principal_id": identity.principal_id,
            "run_id": run.run_id,
            "capability": self.capability,
            "plan_ref": self.plan_ref,
            "task_ref": self.task_ref,
            "adapter": self.adapter.name,
            "steps": [
                {**step, "idempotency_key": planned.idempotency_key}
                for step, planned in zip(steps, self.steps, strict=True)
            ],
            "requirements": [{"step": need.step, **_triple(need)} for need in found],
        }
        return DerivedPlan(
            plan_ref=self.plan_ref,
            task_ref=self.task_ref,
            adapter=self.adapter.name,
            steps=steps,
            requirements=found,
            plan_digest=digest(content),
        )

    def _asked(self) -> list[Requirement]:
        try:
            found = list(self.adapter.requirements(self.steps))
        except Exception:  # noqa: BLE001 - whatever a host's adapter raises may quote a secret and goes no further
            _logger.warning("the requirements of a plan could not be derived")
            return []
        sound = len(found) <= MAX_REQUIREMENTS and all(_is_sound(need) for need in found)
        return found if sound else []

    def call(self, arguments: Mapping[str, Any]) -> Call:
        """The call that carries out the plan with these arguments."""
        return Call(
            capability=self.capability,
            arguments=dict(arguments),
            idempotency_key=self.plan_ref,
            reason=self.reason,
            approval_id=self.approval_id,
        )

    def step_call(self, index: int) -> Call:
        """The call of one step. Raises `InputError` (`plan_step_unknown`) for a number that no step has."""
        if type(index) is not int or not 0 <= index < len(self.steps):
            raise InputError("the plan has no step of that number", code="plan_step_unknown")
        step = self.steps[index]
        return Call(
            capability=step.capability,
            arguments=step.arguments,
            idempotency_key=step.idempotency_key,
            reason=self.reason,
            resource=step.resource,
        )


def _is_sound(need: Any) -> bool:
    if not isinstance(need, Requirement) or type(need.step) is not int:
        return False
    texts: tuple[Any, ...] = (need.action, need.resource_ref, need.required_access)
    return all(isinstance(text, str) and text for text in texts)


def _recorded_requirements(recorded: PlanRecord, completed: int) -> tuple[Requirement, ...]:
    return tuple(Requirement(**need) for need in recorded.content["requirements"] if need["step"] < completed)


def plan_facts(
    place: PlanPlace, run: Run, *, store: Store, facts: Facts, clock_ms: Callable[[], int]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """`evidence.compound_authorization` and `state.plan` of a call in a plan: rights are asked for at this moment."""
    tenant = run.identity.tenant_id or ""
    recorded = store.plan(tenant, place.plan_ref) if tenant else None
    completed, touched = _progress(place, run, store, facts)
    derived = place.derive(run, recorded, completed)
    checked_at_ms = clock_ms()
    decisions = _decisions(place, run, derived.requirements)
    section = {
        "principal_ref": run.identity.principal_id,
        "tenant_ref": run.identity.tenant_id,
        "task_ref": place.task_ref,
        "plan_ref": place.plan_ref,
        "plan_digest": derived.plan_digest,
        "adapter": derived.adapter,
        "checked_at_ms": checked_at_ms,
        "steps": derived.content["steps"],
        "requirements": [
            {**need, "decision": decision}
            for need, decision in zip(derived.content["requirements"], decisions, strict=True)
        ],
    }
    if recorded is None:
        return section, None
    effect = _effect_of(place, run, recorded, derived, store=store, facts=facts)
    return section, {
        "plan_ref": recorded.plan_ref,
        "plan_digest": recorded.plan_digest,
        "run_id": recorded.run_id,
        "principal_id": recorded.principal_id,
        "task_ref": recorded.task_ref,
        "status": str(EffectStatus.NOT_STARTED if effect is None else effect.status),
        "lease_expires_at_ms": None if effect is None else effect.lease_expires_at_ms,
        "step": place.step,
        "completed_steps": completed,
        "touched_steps": touched,
    }


def plan_progress(
    place: PlanPlace, run: Run, recorded: PlanRecord, *, store: Store, facts: Facts
) -> tuple[EffectRecord | None, int, bool]:
    """The effect of a recorded plan, how many of its steps are committed, and whether it still is the recorded plan."""
    completed, _ = _progress(place, run, store, facts)
    derived = place.derive(run, recorded, completed)
    effect = _effect_of(place, run, recorded, derived, store=store, facts=facts)
    return effect, completed, derived.plan_digest == recorded.plan_digest


def _effect_of(
    place: PlanPlace, run: Run, recorded: PlanRecord, derived: DerivedPlan, *, store: Store, facts: Facts
) -> EffectRecord | None:
    action = freeze(
        run,
        place.call({**derived.arguments, "plan_digest": recorded.plan_digest}),
        bundle=facts.bundle,
        capability=facts.capabilities.get(place.capability),
    )
    tenant, principal = run.identity.tenant_id, run.identity.principal_id
    if not tenant or not principal or action.business_key is None:
        return None
    return store.effect(tenant, principal_id=principal, capability=place.capability, business_key=action.business_key)


def _progress(place: PlanPlace, run: Run, store: Store, facts: Facts) -> tuple[int, int]:
    """How many steps from the first on are committed, and how many had an effect or may have had one."""
    completed = touched = 0
    tenant, principal = run.identity.tenant_id, run.identity.principal_id
    for index in range(len(place.steps)):
        call = place.step_call(index)
        action = freeze(run, call, bundle=facts.bundle, capability=facts.capabilities.get(call.capability))
        if not tenant or not principal or action.business_key is None:
            continue
        effect = store.effect(
            tenant, principal_id=principal, capability=call.capability, business_key=action.business_key
        )
        # The same effect by another call is no step of this plan; the step itself will be refused for it.
        if effect is None or effect.run_id != run.run_id or effect.idempotency_key != call.idempotency_key:
            continue
        if effect.status is EffectStatus.COMMITTED and completed == index:
            completed += 1
        touched += effect.status is not EffectStatus.FAILED_BEFORE_EFFECT
    return completed, touched


def _decisions(place: PlanPlace, run: Run, requirements: Sequence[Requirement]) -> list[str]:
    tenant, principal = run.identity.tenant_id, run.identity.principal_id
    missing = ["unavailable"] * len(requirements)
    if not tenant or not principal or not requirements:
        return missing
    said: list[Any]
    try:
        said = list(place.rights.decisions(tenant_id=tenant, principal_id=principal, requirements=requirements))
    except GateError as exc:
        _logger.warning("rights could not be asked for: %s", exc.code)
        return missing
    except Exception:  # noqa: BLE001 - whatever a host's adapter raises may quote a secret and goes no further
        _logger.warning("rights could not be asked for")
        return missing
    if len(said) != len(requirements):
        return missing
    return [word if isinstance(word, str) and word in DECISIONS else "unknown" for word in said]
