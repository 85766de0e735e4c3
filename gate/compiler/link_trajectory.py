"""What `trajectory.yaml` and `compound.yaml` must say of the rest of the bundle: names that exist, rules that act.

Pure. A rule that could refuse nothing, or everything, as the bundle stands is refused, because its author believes
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gate.compiler.positions import APPROVALS, CATALOG, at
from gate.documents import Bundle, tokens_of
from gate.documents import pointer_of as pointer
from gate.errors import Problem

TRAJECTORY, COMPOUND = "trajectory.yaml", "compound.yaml"

PLAN_ARGUMENTS = ("plan_ref", "plan_digest", "task_ref", "steps", "requirements")
"""Arguments of a capability that carries out a plan: what the gate fills in and a reviewer approves."""


def link_trajectory(bundle: Bundle) -> Iterator[Problem]:
    """Every disagreement of `trajectory.yaml` with the rest of the bundle."""
    policy = bundle.trajectory
    if policy is None:
        return
    document = bundle.documents[TRAJECTORY]
    observed = {o.action: o for o in policy.observations}
    for action, observation in observed.items():
        here = ("trajectory", "observe", action)
        if action not in bundle.capabilities:
            yield _unknown(bundle, TRAJECTORY, here, action, key=True)
            continue
        for kind in ("fingerprints", "counters"):
            for name, place in getattr(observation, kind).items():
                node = _argument(bundle.capabilities[action].arguments, place)
                capability = bundle.capabilities[action]
                if kind == "counters" and capability.mode == "read" and capability.approval == "none":
                    message = f"`{action}` claims nothing, so two calls at once could pass the limit together"
                    yield document.problem(
                        pointer(*here, kind, name),
                        "trajectory_counter_unclaimed",
                        message,
                        "count a capability that writes",
                    )
                if node is None or (kind == "counters" and node.get("type") not in {"string", "integer"}):
                    wanted = "an argument" if kind == "fingerprints" else "a text or whole-number argument"
                    yield document.problem(
                        pointer(*here, kind, name),
                        "argument_undeclared",
                        f"`{place}` is not {wanted} that `{action}` declares",
                        f"see {at(bundle.documents[CATALOG], 'capabilities', action, key=True)}",
                    )
    for index, rule in enumerate(policy.rules):
        yield from _rule(bundle, index, rule, observed)


def _rule(bundle: Bundle, index: int, rule: Any, observed: dict[str, Any]) -> Iterator[Problem]:
    document, here = bundle.documents[TRAJECTORY], ("trajectory", "rules", index)
    for number, action in enumerate(rule.applies_to):
        if action not in observed:
            message = f"rule `{rule.rule_id}` is about `{action}`, which is not observed"
            yield document.problem(
                pointer(*here, "applies_to", number), "trajectory_action_unobserved", message, "add it under observe"
            )
            continue
        for kind, name in (("fingerprints", rule.fingerprint_name), ("counters", rule.counter_name)):
            if name is not None and name not in getattr(observed[action], kind):
                message = f"`{action}` leaves no {kind.removesuffix('s')} `{name}`, so the rule would refuse every call"
                yield document.problem(
                    pointer(*here, "applies_to", number),
                    "trajectory_value_unobserved",
                    message,
                    f"add it at {at(document, 'trajectory', 'observe', action, key=True)}",
                )
        if rule.kind == "required_approval":
            yield from _approvable(bundle, (*here, "approval_scope"), rule, action)
    if rule.predecessor is not None and rule.predecessor not in observed:
        message = f"predecessor `{rule.predecessor}` is not observed, so it could never be complete"
        yield document.problem(pointer(*here, "predecessor"), "trajectory_action_unobserved", message)
    if rule.fingerprint_name is not None and not any(
        rule.fingerprint_name in o.fingerprints for a, o in observed.items() if a not in rule.applies_to
    ):
        message = f"no other action leaves fingerprint `{rule.fingerprint_name}`, so the first call could never pass"
        yield document.problem(pointer(*here, "fingerprint_name"), "trajectory_value_unobserved", message)
    earlier = [r for r in (bundle.trajectory.rules[:index] if bundle.trajectory else ()) if r.kind == rule.kind]
    if rule.kind == "required_approval" and any(set(r.applies_to) & set(rule.applies_to) for r in earlier):
        message = "a capability has one approval scope; another rule names one already"
        yield document.problem(pointer(*here, "approval_scope"), "trajectory_scope_twice", message)


def _approvable(bundle: Bundle, place: tuple[str | int, ...], rule: Any, action: str) -> Iterator[Problem]:
    contract = next((c for c in bundle.contracts if c.capability == action), None)
    policy = bundle.policy.capabilities.get(action)
    approved = policy is not None and policy.decision == "approval_required"
    if contract is None or contract.contract_id != rule.approval_scope or not approved:
        document = bundle.documents.get(APPROVALS)
        hint = "" if document is None else f"see {at(document, 'approval_contracts', key=True)}"
        yield bundle.documents[TRAJECTORY].problem(
            pointer(*place),
            "trajectory_scope_unknown",
            f"`{rule.approval_scope}` is not the contract under which `{action}` needs an approval",
            hint,
        )


def link_compound(bundle: Bundle) -> Iterator[Problem]:
    """Every disagreement of `compound.yaml` with the rest of the bundle."""
    policy = bundle.compound
    if policy is None:
        return
    document = bundle.documents[COMPOUND]
    root = "compound_authorization"
    roles: dict[str, str] = {}
    for index, plan in enumerate(policy.plans):
        here = (root, "plans", index)
        places = [
            ((*here, "capability"), plan.capability),
            *(((*here, "steps", n), name) for n, name in enumerate(plan.steps)),
        ]
        for place, name in places:
            if name not in bundle.capabilities:
                yield _unknown(bundle, COMPOUND, place, name)
            elif bundle.capabilities[name].mode != "write":
                message = f"`{name}` reads only; a plan and its steps are recorded in the ledger of effects"
                yield document.problem(pointer(*place), "plan_capability_reads", message)
            if name in roles:
                message = f"`{name}` has a part in plans already, at {roles[name]}"
                yield document.problem(pointer(*place), "plan_capability_twice", message)
            roles.setdefault(name, at(document, *place))
        if plan.capability in bundle.capabilities:
            yield from _plan_arguments(bundle, here, plan.capability)
    seen: set[str] = set()
    for index, task in enumerate(policy.tasks):
        if task.task_ref in seen:
            message = f"task `{task.task_ref}` is stated twice"
            yield document.problem(pointer(root, "tasks", index, "task_ref"), "task_twice", message)
        seen.add(task.task_ref)


def _plan_arguments(bundle: Bundle, here: tuple[str | int, ...], name: str) -> Iterator[Problem]:
    entry = bundle.capabilities[name]
    if set(entry.arguments.get("properties", {})) != set(PLAN_ARGUMENTS) or entry.identifying_arguments != (
        "/plan_ref",
    ):
        yield bundle.documents[COMPOUND].problem(
            pointer(*here, "capability"),
            "plan_arguments_wrong",
            f"`{name}` must take exactly {', '.join(PLAN_ARGUMENTS)} and be identified by /plan_ref alone",
            f"see {at(bundle.documents[CATALOG], 'capabilities', name, key=True)}",
        )


def _unknown(bundle: Bundle, file: str, place: tuple[str | int, ...], name: str, *, key: bool = False) -> Problem:
    return bundle.documents[file].problem(
        pointer(*place),
        "capability_unknown",
        f"`{name}` is not in the catalog",
        f"see {at(bundle.documents[CATALOG], 'capabilities', key=True)}",
        key=key,
    )


def _argument(schema: Any, place: str) -> Any:
    node = schema
    for name in tokens_of(place):
        node = node.get("properties", {}).get(name) if isinstance(node, dict) else None
        if node is None:
            return None
    return node
