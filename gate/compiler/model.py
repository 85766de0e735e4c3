"""What a bundle has been lowered to before it becomes text: modules of constants and of findings.

Pure data. Every node knows the YAML it came from; `gate.compiler.emit` dispatches on the node's type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CHECKPOINTS: Mapping[str, tuple[str, ...]] = {
    "input": ("run_start", "user_message", "retrieve"),
    "llm": ("model_call",),
    "state": (
        *("memory_write", "compact", "reset", "recover", "rehydrate", "handoff", "fork"),
        *("approval_transition", "effect_transition"),
    ),
    "tool_execution": ("call_tool", "resume_tool", "list_tools", "elicit", "progress"),
    "output": ("emit", "notify"),
}
"""Operations of each checkpoint. Rego checks the pairing; this only says where a rule belongs."""


@dataclass(frozen=True, slots=True)
class Equals:
    """`input.<path>` equals a constant. Equality on input paths is what OPA indexes rules by."""

    path: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class Holds:
    """The named local rule holds."""

    rule: str


@dataclass(frozen=True, slots=True)
class NotHolds:
    """The named local rule does not hold: the only shape in which a restricting rule tests anything else."""

    rule: str


@dataclass(frozen=True, slots=True)
class Is:
    """The value of an operand rule passes a type check, such as `is_number`."""

    builtin: str
    operand: str


@dataclass(frozen=True, slots=True)
class AllStrings:
    """Every element of a list operand is a string."""

    operand: str


@dataclass(frozen=True, slots=True)
class Ref:
    """The value of the operand rule of that name, in a comparison."""

    rule: str


@dataclass(frozen=True, slots=True)
class Compares:
    """`left OP right`, each an operand or a constant. Stands only behind type checks of its operands."""

    op: str
    left: Ref | Any
    right: Ref | Any


@dataclass(frozen=True, slots=True)
class Matches:
    """The RE2 pattern is found in the operand."""

    pattern: str
    operand: str


Condition = Equals | Holds | NotHolds | Is | AllStrings | Compares | Matches


@dataclass(frozen=True, slots=True)
class FindingRule:
    """One requirement: when all conditions hold, the finding is raised."""

    title: str
    code: str
    verdict: str
    rule_id: str
    requirement: str
    source: str
    conditions: tuple[Condition, ...]
    head: str = "findings"
    """Set the finding goes to: `findings`, or `demands` when an approval can meet it."""


@dataclass(frozen=True, slots=True)
class StatedRule:
    """Helper rule `name`: `input.<path>` is a string that is not blank."""

    name: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperandRule:
    """Helper rule `name`: the value at a reference, null when it is absent.

    `base` is `input`, `catalog`, or `evidence`: the sections of the input that count.
    """

    name: str
    base: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TruthRule:
    """Helper rule `name`: holds when all conditions of one of its clauses hold; each clause is a body of its own."""

    name: str
    clauses: tuple[tuple[Condition, ...], ...]


@dataclass(frozen=True, slots=True)
class ResultRule:
    """Helper rule `name`: `true`, `false` or `unknown`, from the two rules of a predicate."""

    name: str
    true: str
    false: str


@dataclass(frozen=True, slots=True)
class UnknownRule:
    """Helper set `name`: `label` when the named type rule does not hold, so that an audit says which operand it was."""

    name: str
    label: str
    typed: str


@dataclass(frozen=True, slots=True)
class Member:
    """One value of an object that is a reference to a rule or an input path rather than a constant."""

    rule: str | None = None
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntryRule:
    """An entry of a partial set `name`: an object of constants and members, when all conditions hold."""

    name: str
    title: str
    source: str
    fields: tuple[tuple[str, Any], ...]
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the package; with `key`, one entry of an object that other modules look up by name."""

    name: str
    value: Any
    title: str
    source: str
    key: str | None = None


Item = FindingRule | StatedRule | OperandRule | TruthRule | ResultRule | UnknownRule | EntryRule | Constant


@dataclass(frozen=True, slots=True)
class Module:
    """One Rego file of a compiled bundle."""

    file: str
    title: str
    items: tuple[Item, ...]
    documents_package: bool = False
    """This file carries the METADATA of the package; OPA allows that once."""


@dataclass(frozen=True, slots=True)
class CompiledBundle:
    """The modules of one bundle, in the order they are written."""

    package: str
    modules: tuple[Module, ...]
