"""What a bundle has been lowered to before it becomes text: modules of constants and of findings.

Pure data. Every node knows the YAML it came from; `gate.compiler.emit` dispatches on the node's type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Equals:
    """`input.<path>` equals a constant. Equality on input paths is what OPA indexes rules by."""

    path: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class NotHolds:
    """The named local rule does not hold: the only shape in which a restricting rule tests anything else."""

    rule: str


Condition = Equals | NotHolds


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


@dataclass(frozen=True, slots=True)
class StatedRule:
    """Helper rule `name`: `input.<path>` is a string that is not blank."""

    name: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the package; with `key`, one entry of an object that other modules look up by name."""

    name: str
    value: Any
    title: str
    source: str
    key: str | None = None


Item = FindingRule | StatedRule | Constant


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
