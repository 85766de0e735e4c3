"""A checked predicate to two rules: one holds when it is provably true, one when it is provably false.

Pure. Absent, null and wrong-typed values make neither hold: the predicate is unknown there. Kleene's logic: `not` swaps
the two, `and` is false as soon as one part is, `or` true as soon as one part is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gate.compiler.model import (
    AllStrings,
    Compares,
    Condition,
    Holds,
    Is,
    Item,
    Matches,
    NotHolds,
    OperandRule,
    Ref,
    ResultRule,
    TruthRule,
    UnknownRule,
)
from gate.compiler.predicate.scope import Kind, Operand
from gate.compiler.predicate.syntax import Compare, Exists, Junction, Literal, Name, Node, Not, Truth

_TYPE_CHECK = {Kind.STRING: "is_string", Kind.NUMBER: "is_number", Kind.BOOLEAN: "is_boolean", Kind.LIST: "is_array"}
_COMPLEMENT = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Lowered:
    """The rules of one predicate and the names to refer to them by."""

    items: tuple[Item, ...]
    true: str
    false: str
    result: str
    """Rule whose value is `true`, `false` or `unknown`."""
    unknown: str
    """Set of the names of operands that are absent, null or of the wrong type."""


Clause = tuple[Condition, ...]
"""Conditions that hold together; a rule body."""


@dataclass(frozen=True, slots=True)
class _Truths:
    """When a node is provably true and when provably false: alternatives, each a clause."""

    true: tuple[Clause, ...]
    false: tuple[Clause, ...]


def lower_predicate(prefix: str, node: Node, operands: Mapping[str, Operand]) -> Lowered:
    """Lowers `node`; every rule but those of operands is named `prefix_…`."""
    lowering = _Lowering(prefix, operands)
    truths = lowering.node(node)
    true, false, result, unknown = (f"{prefix}_{part}" for part in ("true", "false", "result", "unknown"))
    items: list[Item] = [*lowering.items, TruthRule(true, truths.true), TruthRule(false, truths.false)]
    items.append(ResultRule(result, true, false))
    items += [UnknownRule(unknown, name, f"{operand.rule}_typed") for name, operand in sorted(operands.items())]
    return Lowered(tuple(items), true, false, result, unknown)


def operand_rules(operands: Mapping[str, Operand]) -> Iterator[Item]:
    """The value and the type rule of each operand, by rule name, which predicates of one bundle share."""
    for rule, operand in sorted({o.rule: o for o in operands.values()}.items()):
        if operand.path[0] == "evidence" and operand.base == "input":
            # Not as it is stated: evidence that does not count is unknown.
            yield OperandRule(rule, "evidence", operand.path[1:])
        else:
            yield OperandRule(rule, operand.base, operand.path)
        checks: tuple[Condition, ...] = (Is(_TYPE_CHECK[operand.kind], rule),)
        if operand.kind is Kind.LIST:
            checks = (*checks, AllStrings(rule))
        yield TruthRule(f"{rule}_typed", (checks,))


@dataclass(slots=True)
class _Lowering:
    """Only what has no single clause gets a rule of its own, numbered in the order it is read: rules cost time."""

    prefix: str
    operands: Mapping[str, Operand]
    items: list[Item] = field(default_factory=list)
    count: int = 0

    def node(self, node: Node) -> _Truths:
        """When `node` is true and when it is false."""
        match node:
            case Not(inner):
                truths = self.node(inner)
                return _Truths(truths.false, truths.true)
            case Junction("and", parts):
                truths_of = [self.node(part) for part in parts]
                return _Truths(self._all(t.true for t in truths_of), _any(t.false for t in truths_of))
            case Junction(_, parts):
                truths_of = [self.node(part) for part in parts]
                return _Truths(_any(t.true for t in truths_of), self._all(t.false for t in truths_of))
            case Truth(name):
                operand, typed = self._typed(name)
                sides = (Compares("==", Ref(operand), value) for value in (True, False))
                true, false = ((typed, side) for side in sides)
                return _Truths((true,), (false,))
            case Exists(name):
                absent = self._rule(((Is("is_null", self.operands[str(name)].rule),),))
                return _Truths(((NotHolds(absent),),), ((Holds(absent),),))
            case Compare():
                return self._compare(node)
        raise TypeError(type(node).__name__)

    def _compare(self, node: Compare) -> _Truths:
        names = [side for side in (node.left, node.right) if isinstance(side, Name)]
        typed = tuple(self._typed(name)[1] for name in names)
        left, right = self._side(node.left), self._side(node.right)
        if node.op in _COMPLEMENT:
            true: Clause = (*typed, Compares(node.op, left, right))
            return _Truths((true,), ((*typed, Compares(_COMPLEMENT[node.op], left, right)),))
        # Membership and matching have no complement in Rego: false is where the types hold and true does not.
        if node.op == "in":
            test: Condition = Compares("in", left, right)
        else:
            test = Matches(str(right), self.operands[str(node.left)].rule)
        found = self._rule(((*typed, test),))
        return _Truths(((Holds(found),),), ((*typed, NotHolds(found)),))

    def _all(self, parts: Iterable[tuple[Clause, ...]]) -> tuple[Clause, ...]:
        """One clause that holds when every part has a clause that does."""
        clause: list[Condition] = []
        for alternatives in parts:
            single = alternatives[0] if len(alternatives) == 1 else (Holds(self._rule(alternatives)),)
            clause += [condition for condition in single if condition not in clause]
        return (tuple(clause),)

    def _rule(self, clauses: tuple[Clause, ...]) -> str:
        self.count += 1
        name = f"{self.prefix}_{self.count}"
        self.items.append(TruthRule(name, clauses))
        return name

    def _typed(self, name: Name) -> tuple[str, Condition]:
        rule = self.operands[str(name)].rule
        return rule, Holds(f"{rule}_typed")

    def _side(self, side: Name | Literal) -> object:
        if isinstance(side, Name):
            return Ref(self.operands[str(side)].rule)
        return list(side.value) if isinstance(side.value, tuple) else side.value


def _any(parts: Iterable[tuple[Clause, ...]]) -> tuple[Clause, ...]:
    return tuple(dict.fromkeys(clause for alternatives in parts for clause in alternatives))
