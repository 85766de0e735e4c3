"""Control checkpoints and `when`: what linking refuses, each with its place in the YAML and in the predicate.

Pure. A restricting control holds unless its predicate is provably false; a `when` permits only when provably true.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.compiler.controls import CONTROLS, POLICY, checked
from gate.compiler.model import CHECKPOINTS
from gate.compiler.predicate import PredicateError, Scope
from gate.documents import EVERY, Bundle, ControlCheckpoint
from gate.documents import pointer_of as pointer
from gate.errors import Problem

_WITH_CAPABILITY = frozenset({"tool_execution", "output", "state"})
"""Checkpoints whose operations may concern a capability."""


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
    if control.predicate is None or control.judge is not None:
        yield from _judge_problems(bundle, index, control)
        return
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


def _judge_problems(bundle: Bundle, index: int, control: ControlCheckpoint) -> Iterator[Problem]:
    document, here = bundle.documents[CONTROLS], ("control_checkpoints", index)
    if control.judge is None or control.predicate is not None:
        yield document.problem(
            pointer(*here),
            "control_predicate_or_judge",
            f"control `{control.policy_requirement}` needs a predicate or a judge, and not both",
        )
        return
    if control.checkpoint != "tool_execution":
        yield document.problem(
            pointer(*here, "judge"), "control_judge_misplaced", "a verifier judges a tool call at tool_execution"
        )
    runtime = bundle.runtime_controls
    verifiers = None if runtime is None else runtime.verifiers
    trusted = () if verifiers is None else verifiers.trusted_verifier_contracts or ()
    if control.judge not in trusted:
        yield document.problem(
            pointer(*here, "judge"),
            "judge_contract_untrusted",
            f"verifier contract `{control.judge}` is not one the bundle trusts",
            f"list it in `{bundle.folder / 'runtime-controls.yaml'}` under verifiers.trusted_verifier_contracts",
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
        found = checked(text, scope, restricting=restricting)
        for name, operand in found.operands.items():
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


def _key(control: ControlCheckpoint) -> tuple[str, str]:
    return control.checkpoint, control.policy_requirement
