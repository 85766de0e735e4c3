"""`trajectory.yaml` and `compound.yaml` to constants that the guards over history and plans look up.

Pure. One constant a rule, in the order of the YAML, so that a changed rule is one changed constant. Amounts become
whole units and millionths, because no engine may round a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from gate.compiler.link_trajectory import COMPOUND, TRAJECTORY
from gate.compiler.model import Constant, Item, Module
from gate.documents import Bundle, pointer_of

MICROS = 1_000_000
"""Millionths in one unit."""


def split_amount(amount: Decimal) -> dict[str, int]:
    """`amount`, which is not negative and has at most six places, as whole units and millionths."""
    units, micros = divmod(int(amount.scaleb(6)), MICROS)
    return {"units": units, "micros": micros}


def history_modules(bundle: Bundle) -> Iterator[Module]:
    """One module for each of the two documents that the bundle has."""
    if bundle.trajectory is not None:
        yield Module("trajectory.rego", "Rules over history", tuple(_trajectory(bundle)))
    if bundle.compound is not None:
        yield Module("compound.rego", "Plans and tasks", tuple(_compound(bundle)))


def _trajectory(bundle: Bundle) -> Iterator[Item]:
    policy = bundle.trajectory
    if policy is None:
        return
    for observation in policy.observations:
        yield Constant(
            name="trajectory",
            key=observation.action,
            value={
                "policy_id": policy.policy_id,
                "policy_version": policy.policy_version,
                "fingerprints": dict(observation.fingerprints),
                "counters": dict(observation.counters),
                "rules": [rule.rule_id for rule in policy.rules if observation.action in rule.applies_to],
                "scope": next(
                    (
                        rule.approval_scope
                        for rule in policy.rules
                        if rule.approval_scope is not None and observation.action in rule.applies_to
                    ),
                    None,
                ),
            },
            title=f"History that {observation.action} makes and depends on",
            source=f"{TRAJECTORY}#{pointer_of('trajectory', 'observe', observation.action)}",
        )
    for index, rule in enumerate(policy.rules):
        source = f"{TRAJECTORY}#{pointer_of('trajectory', 'rules', index)}"
        value: dict[str, Any] = {"kind": rule.kind, "source": source}
        for name in ("fingerprint_name", "counter_name", "predecessor", "approval_scope"):
            if getattr(rule, name) is not None:
                value[name] = getattr(rule, name)
        if rule.limit is not None:
            value["limit"] = split_amount(rule.limit)
        yield Constant(
            name="trajectory_rules",
            key=rule.rule_id,
            value=value,
            title=f"{rule.kind} {rule.rule_id}",
            source=source,
        )


def _compound(bundle: Bundle) -> Iterator[Item]:
    policy = bundle.compound
    if policy is None:
        return
    root = "compound_authorization"
    yield Constant(
        name="compound_policy",
        value={
            "adapters": list(policy.adapters),
            "max_age_ms": policy.max_age_seconds * 1000,
            "reasons": dict(policy.reasons),
        },
        title="How plans are authorized",
        source=f"{COMPOUND}#{pointer_of(root)}",
    )
    for index, plan in enumerate(policy.plans):
        source = f"{COMPOUND}#{pointer_of(root, 'plans', index)}"
        for name, role in ((plan.capability, "plan"), *((step, "step") for step in plan.steps)):
            yield Constant(
                name="compound",
                key=name,
                value={"role": role, "plan": plan.capability, "steps": list(plan.steps)},
                title=f"{name} is a {role}" if role == "plan" else f"{name} is a step of {plan.capability}",
                source=source,
            )
    for index, task in enumerate(policy.tasks):
        yield Constant(
            name="compound_tasks",
            key=task.task_ref,
            value={"actions": list(task.actions), "resources": list(task.resources)},
            title=f"Scope of {task.task_ref}",
            source=f"{COMPOUND}#{pointer_of(root, 'tasks', index)}",
        )
