"""Control checkpoints and `when` to rules: audit, action and the rules of their predicates.

Pure. Lowers only what `gate.compiler.link_controls` found nothing wrong with.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gate.canonical import digest
from gate.compiler.controls import CONTROLS, checked, predicate_of
from gate.compiler.model import (
    Condition,
    EntryRule,
    Equals,
    FindingRule,
    Item,
    Member,
    NotHolds,
    OperandRule,
    TruthRule,
)
from gate.compiler.predicate import Lowered, Operand, Scope, lower_predicate, operand_rules
from gate.documents import EVERY, Bundle, ControlCheckpoint
from gate.documents import pointer_of as pointer

_VERDICTS = {"deny": "deny", "require_approval": "require_approval"}


@dataclass(frozen=True, slots=True)
class LoweredPredicates:
    """The rules of every predicate of a bundle."""

    controls: tuple[Item, ...]
    """What each control does, and the rules of its predicate."""
    operands: tuple[Item, ...]
    """Values that the predicates share."""
    when: dict[str, str]
    """Rule that must hold for the capability of that name to be permitted."""
    when_rules: dict[str, tuple[Item, ...]]
    """The rules behind `when`, by capability."""


def lower_predicates(bundle: Bundle) -> LoweredPredicates:
    """Lowers what `link_predicates` found nothing wrong with."""
    operands: dict[str, Operand] = {}
    controls: list[Item] = []
    for index, control in enumerate(bundle.checkpoints):
        scope = Scope([bundle.capabilities[name] for name in control.applies_to if name != EVERY])
        found = checked(predicate_of(control), scope, restricting=True)
        operands |= {o.rule: o for o in found.operands.values()}
        lowered = lower_predicate(f"{control.checkpoint}_{control.policy_requirement}", found.node, found.operands)
        controls += [*_effects(index, control, lowered), *lowered.items]
    when: dict[str, str] = {}
    when_rules: dict[str, tuple[Item, ...]] = {}
    for name, entry in bundle.policy.capabilities.items():
        if entry.when is not None:
            found = checked(entry.when, Scope([bundle.capabilities[name]]), restricting=False)
            operands |= {o.rule: o for o in found.operands.values()}
            lowered = lower_predicate(f"when_{_mangled(name)}", found.node, found.operands)
            when[name], when_rules[name] = lowered.true, lowered.items
    extra: tuple[Item, ...] = ()
    if any("trace_id" in c.audit_fields for c in bundle.checkpoints):
        extra = (OperandRule("audit_trace_id", "input", ("trace", "trace_id")),)
    if any(c.applies_to == (EVERY,) and c.checkpoint == "tool_execution" for c in bundle.checkpoints):
        extra = (*extra, TruthRule("lists_tools", ((Equals(("operation",), "list_tools"),),)))
    return LoweredPredicates(tuple(controls), (*extra, *operand_rules(operands)), when, when_rules)


def _mangled(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower())
    return plain if plain == name else f"{plain}_{digest(name)[7:15]}"


def _effects(index: int, control: ControlCheckpoint, lowered: Lowered) -> Iterator[Item]:
    """The rules that make a control do something: for each capability it is bound to, its audit and its action."""
    source = f"{CONTROLS}#{pointer('control_checkpoints', index)}"
    for capability, operation in itertools.product(control.applies_to, control.operations or (None,)):
        bound: tuple[Condition, ...] = (Equals(("checkpoint",), control.checkpoint),)
        if operation is not None:
            bound = (*bound, Equals(("operation",), operation))
        if capability != EVERY:
            bound = (*bound, Equals(("request", "capability"), capability))
        elif control.checkpoint == "tool_execution" and operation is None:
            bound = (*bound, NotHolds("lists_tools"))
        suffix = ("" if capability == EVERY else f" on {capability}") + (f" at {operation}" if operation else "")
        yield EntryRule(
            name="controls",
            title=f"audit of {control.policy_requirement}{suffix}",
            source=source,
            fields=tuple(_audit(control, lowered)),
            conditions=bound,
        )
        fires = (*bound, NotHolds(lowered.false))
        title = f"{control.action} {control.policy_requirement}{suffix}"
        if control.action in _VERDICTS:
            yield FindingRule(
                title=title,
                code=control.policy_requirement,
                verdict=_VERDICTS[control.action],
                rule_id=f"control.{control.checkpoint}",
                requirement=f"control_checkpoints.{control.policy_requirement}",
                source=source,
                conditions=fires,
                head="demands" if control.action == "require_approval" else "findings",
            )
        else:
            yield EntryRule(
                name="redactions" if control.action == "redact" else "advice",
                title=title,
                source=source,
                fields=tuple(_consequence(control, source)),
                conditions=fires,
            )


def _audit(control: ControlCheckpoint, lowered: Lowered) -> Iterator[tuple[str, object]]:
    values: dict[str, object] = {
        "checkpoint": control.checkpoint,
        "policy_requirement": control.policy_requirement,
        "predicate_result": Member(rule=lowered.result),
        "action": control.action,
        "control_version": control.control_version,
        "eval_case_id": control.eval_case_id,
        "trace_id": Member(rule="audit_trace_id"),
        "observed_signal": control.observed_signal,
        "unknown_operands": Member(rule=lowered.unknown),
    }
    for name, value in values.items():
        if name in control.audit_fields or name == "policy_requirement":
            yield name, value


def _consequence(control: ControlCheckpoint, source: str) -> Iterator[tuple[str, object]]:
    yield "code", control.policy_requirement
    yield "source", source
    if control.action == "redact":
        yield "pointers", list(control.redact)
