"""What a control or a `when` is about: its predicate, checked against the names its capabilities have.

Pure. Shared by the pass that links (`gate.compiler.link_controls`) and the one that lowers (`lower_controls`).
"""

from __future__ import annotations

from dataclasses import dataclass

from gate.compiler.literal import literal
from gate.compiler.predicate import Node, Operand, Scope, check, parse_predicate
from gate.documents import ControlCheckpoint

CONTROLS, POLICY = "checkpoints.yaml", "policy.yaml"


@dataclass(frozen=True, slots=True)
class Checked:
    """A predicate that passed every check."""

    node: Node
    operands: dict[str, Operand]


def checked(text: str, scope: Scope, *, restricting: bool) -> Checked:
    """The predicate `text`, parsed and checked. Raises `PredicateError`."""
    node = parse_predicate(text)
    return Checked(node, check(node, scope, restricting=restricting))


def predicate_of(control: ControlCheckpoint) -> str:
    """The control's predicate; a judge's is that no verifier is known to have passed exactly this action."""
    if control.predicate is not None:
        return control.predicate
    return (
        f"not (evidence.verifier.contract == {literal(control.judge)}"
        ' and evidence.verifier.verdict == "passed"'
        " and evidence.verifier.action_digest == digests.action_digest)"
    )
