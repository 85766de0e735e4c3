"""Predicates of a bundle: of control checkpoints and of `when` in the policy. Checked when linked, lowered after.

Pure. A restricting control holds unless its predicate is provably false; a `when` permits only when provably true.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gate.canonical import digest
from gate.compiler.model import (
    CHECKPOINTS,
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
from gate.compiler.predicate import (
    Lowered,
    Node,
    Operand,
    PredicateError,
    Scope,
    check,
    lower_predicate,
    operand_rules,
    parse_predicate,
)
from gate.documents import EVERY, Bundle, ControlCheckpoint
from gate.documents import pointer_of as pointer
from gate.errors import Problem

CONTROLS, POLICY = "checkpoints.yaml", "policy.yaml"

_WITH_CAPABILITY = frozenset({"tool_execution", "output", "state"})
"""Checkpoints whose operations may concern a capability."""

_VERDICTS = {"deny": "deny", "require_approval": "require_approval"}


@dataclass(frozen=True, slots=True)
class Checked:
    """A predicate that passed every check."""

    node: Node
    operands: dict[str, Operand]


def link_predicates(bundle: Bundle) -> Iterator[Problem]:
    """Every problem of every predicate and control, each at its place."""
    for index, control in enumerate(bundle.checkpoints):
        yield from _control_problems(bundle, index, control)
    for name, entry in bundle.policy.capabilities.items():
        if entry.when is None:
            continue
        at = pointer("policy", "capabilities", name, "when")
        capability = bundle.capabilities.get(name)
        if capability is None or entry.decision == "deny":
            yield bundle.documents[POLICY].problem(
                at, "when_without_permit", f"`when` of `{name}` permits nothing", "drop it or change the decision"
            )
            continue
        yield from _predicate_problems(bundle, POLICY, at, entry.when, Scope([capability]), restricting=False)


def _control_problems(bundle: Bundle, index: int, control: ControlCheckpoint) -> Iterator[Problem]:
    document, here = bundle.documents[CONTROLS], ("control_checkpoints", index)
    same = [c for c in bundle.checkpoints[:index] if _key(c) == _key(control)]
    if same:
        yield document.problem(
            pointer(*here, "policy_requirement"),
            "control_duplicate",
            f"`{control.policy_requirement}` stands twice at checkpoint `{control.checkpoint}`",
        )
    if EVERY in control.applies_to and len(control.applies_to) > 1:
        yield document.problem(
            pointer(*here, "applies_to"), "control_applies_to_mixed", "`*` already means every capability"
        )
    for at, name in enumerate(control.applies_to):
        if name != EVERY and name not in bundle.capabilities:
            yield document.problem(
                pointer(*here, "applies_to", at),
                "control_capability_unknown",
                f"control `{control.policy_requirement}` is bound to `{name}`, which is not in the catalog",
                f"see {_catalog_at(bundle)}",
            )
    if control.checkpoint not in _WITH_CAPABILITY and control.applies_to != (EVERY,):
        yield document.problem(
            pointer(*here, "applies_to"),
            "control_never_fires",
            f"nothing at checkpoint `{control.checkpoint}` concerns a capability",
            'write applies_to: ["*"]',
        )
    for at, operation in enumerate(control.operations):
        if operation not in CHECKPOINTS[control.checkpoint]:
            yield document.problem(
                pointer(*here, "operations", at),
                "control_operation_unknown",
                f"operation `{operation}` does not belong to checkpoint `{control.checkpoint}`",
                "its operations are " + ", ".join(CHECKPOINTS[control.checkpoint]),
            )
    yield from _action_problems(bundle, index, control)
    known = [bundle.capabilities[name] for name in control.applies_to if name in bundle.capabilities]
    yield from _predicate_problems(
        bundle,
        CONTROLS,
        pointer(*here, "predicate"),
        control.predicate,
        Scope(known),
        restricting=True,
        catalog=control.applies_to != (EVERY,) or control.checkpoint == "tool_execution",
    )


def _catalog_at(bundle: Bundle) -> str:
    catalog = bundle.documents["capabilities.yaml"]
    line, column = catalog.position(pointer("capabilities"), key=True)
    return f"{catalog.file}:{line}:{column}"


def _action_problems(bundle: Bundle, index: int, control: ControlCheckpoint) -> Iterator[Problem]:
    document, here = bundle.documents[CONTROLS], ("control_checkpoints", index)
    if (control.action == "redact") != bool(control.redact):
        yield document.problem(
            pointer(*here, "action"),
            "control_redact_mismatch",
            "action redact and the pointers under `redact` go together",
        )
    if control.action == "redact" and control.checkpoint not in {"tool_execution", "output"}:
        yield document.problem(
            pointer(*here, "action"), "control_redact_misplaced", "only arguments and outputs can be redacted"
        )
    if control.action != "require_approval":
        return
    if control.checkpoint != "tool_execution":
        yield document.problem(
            pointer(*here, "action"), "control_approval_misplaced", "an approval is for a tool call at tool_execution"
        )
    contracts = {c.capability for c in bundle.contracts}
    governed = bundle.capabilities if EVERY in control.applies_to else control.applies_to
    for name in governed:
        denied = name in bundle.policy.capabilities and bundle.policy.capabilities[name].decision == "deny"
        if name in bundle.capabilities and name not in contracts and not denied:
            yield document.problem(
                pointer(*here, "action"),
                "approval_contract_missing",
                f"control `{control.policy_requirement}` asks for an approval of `{name}`, which has no contract",
            )


def _predicate_problems(
    bundle: Bundle, file: str, at: str, text: str, scope: Scope, *, restricting: bool, catalog: bool = True
) -> Iterator[Problem]:
    document = bundle.documents[file]
    try:
        checked = _checked(text, scope, restricting=restricting)
        for name, operand in checked.operands.items():
            if operand.base == "catalog" and not catalog:
                raise PredicateError(
                    f"`{name}` is a field of a capability, and no capability is in question here",
                    0,
                    code="predicate_name_unknown",
                )
    except PredicateError as exc:
        line, column = document.position(at)
        message = f"{exc.message} (character {exc.offset + 1} of the predicate)"
        yield Problem(document.file, line, column + exc.offset, exc.code, message, exc.hint)


def _checked(text: str, scope: Scope, *, restricting: bool) -> Checked:
    node = parse_predicate(text)
    return Checked(node, check(node, scope, restricting=restricting))


def _key(control: ControlCheckpoint) -> tuple[str, str]:
    return control.checkpoint, control.policy_requirement


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
        checked = _checked(control.predicate, scope, restricting=True)
        operands |= {o.rule: o for o in checked.operands.values()}
        lowered = lower_predicate(f"{control.checkpoint}_{control.policy_requirement}", checked.node, checked.operands)
        controls += [*_effects(index, control, lowered), *lowered.items]
    when: dict[str, str] = {}
    when_rules: dict[str, tuple[Item, ...]] = {}
    for name, entry in bundle.policy.capabilities.items():
        if entry.when is not None:
            checked = _checked(entry.when, Scope([bundle.capabilities[name]]), restricting=False)
            operands |= {o.rule: o for o in checked.operands.values()}
            lowered = lower_predicate(f"when_{_mangled(name)}", checked.node, checked.operands)
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
