"""The predicate language of control checkpoints and of `when`: parse, resolve, check, lower."""

from __future__ import annotations

from gate.compiler.predicate.check import check
from gate.compiler.predicate.lower import Lowered, lower_predicate, operand_rules
from gate.compiler.predicate.scope import Kind, Operand, Scope
from gate.compiler.predicate.syntax import Node, PredicateError, parse_predicate

__all__ = [
    "Kind",
    "Lowered",
    "Node",
    "Operand",
    "PredicateError",
    "Scope",
    "check",
    "lower_predicate",
    "operand_rules",
    "parse_predicate",
]
