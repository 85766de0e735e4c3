"""A checked predicate to two rules for every node: one holds when it is provably true, one when provably false.

Pure. Absent, null and wrong-typed values make neither hold: the predicate is unknown there. Kleene's logic: `not` swaps
the two, `and` is false as soon as one part is, `or` true as soon as one part is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


def lower_predicate(prefix: str, node: Node, operands: Mapping[str, Operand]) -> Lowered:
    """Lowers `node`; every rule but those of operands is named `prefix_…`."""
    lowering = _Lowering(prefix, operands)
    true, false = lowering.node(node)
    result, unknown = f"{prefix}_result", f"{prefix}_unknown"
    items: list[Item] = [*lowering.items, ResultRule(result, true, false)]
    items += [UnknownRule(unknown, name, f"{operand.rule}_typed") for name, operand in sorted(operands.items())]
    return Lowered(tuple(items), true, false, result, unknown)


def operand_rules(operands: Mapping[str, Operand]) -> Iterator[Item]:
    """The value and the type rule of each operand, by rule name, which predicates of one bundle share."""
    for rule, operand in sorted({o.rule: o for o in operands.values()}.items()):
        yield OperandRule(rule, operand.base, operand.path)
        checks: tuple[Condition, ...] = (Is(_TYPE_CHECK[operand.kind], rule),)
        if operand.kind is Kind.LIST:
            checks = (*checks, AllStrings(rule))
        yield TruthRule(f"{rule}_typed", (checks,))


@dataclass(slots=True)
class _Lowering:
    """Numbers the nodes of one predicate in the order they are read."""

    prefix: str
    operands: Mapping[str, Operand]
    items: list[Item] = field(default_factory=list)
    count: int = 0

    def node(self, node: Node) -> tuple[str, str]:
        """Names of the rules that hold when `node` is true and when it is false."""
        match node:
            case Not(inner):
                true, false = self.node(inner)
                return false, true
            case Junction(op, parts):
                return self._junction(op, [self.node(part) for part in parts])
            case Truth(name):
                return self._truth(name)
            case Exists(name):
                return self._exists(name)
            case Compare():
                return self._compare(node)
        raise TypeError(type(node).__name__)

    def _pair(self, true: list[tuple[Condition, ...]], false: list[tuple[Condition, ...]]) -> tuple[str, str]:
        self.count += 1
        names = (f"{self.prefix}_{self.count}_true", f"{self.prefix}_{self.count}_false")
        self.items += [TruthRule(name, tuple(clauses)) for name, clauses in zip(names, (true, false), strict=True)]
        return names

    def _junction(self, op: str, parts: list[tuple[str, str]]) -> tuple[str, str]:
        trues, falses = [t for t, _ in parts], [f for _, f in parts]
        if op == "and":
            return self._pair([tuple(Holds(t) for t in trues)], [(Holds(f),) for f in falses])
        return self._pair([(Holds(t),) for t in trues], [tuple(Holds(f) for f in falses)])

    def _truth(self, name: Name) -> tuple[str, str]:
        operand = self.operands[str(name)].rule
        typed = Holds(f"{operand}_typed")
        return self._pair([(typed, Compares("==", Ref(operand), True))], [(typed, Compares("==", Ref(operand), False))])

    def _exists(self, name: Name) -> tuple[str, str]:
        operand = self.operands[str(name)].rule
        self.count += 1
        absent = f"{self.prefix}_{self.count}_false"
        present = f"{self.prefix}_{self.count}_true"
        self.items += [TruthRule(absent, ((Is("is_null", operand),),)), TruthRule(present, ((NotHolds(absent),),))]
        return present, absent

    def _compare(self, node: Compare) -> tuple[str, str]:
        typed = tuple(
            Holds(f"{self.operands[str(side)].rule}_typed")
            for side in (node.left, node.right)
            if isinstance(side, Name)
        )
        left, right = self._side(node.left), self._side(node.right)
        if node.op in _COMPLEMENT:
            return self._pair(
                [(*typed, Compares(node.op, left, right))], [(*typed, Compares(_COMPLEMENT[node.op], left, right))]
            )
        # Membership and matching have no complement in Rego: false is where the types hold and true does not.
        if node.op == "in":
            test: Condition = Compares("in", left, right)
        else:
            test = Matches(str(right), self.operands[str(node.left)].rule)
        true = f"{self.prefix}_{self.count + 1}_true"
        return self._pair([(*typed, test)], [(*typed, NotHolds(true))])

    def _side(self, side: Name | Literal) -> object:
        if isinstance(side, Name):
            return Ref(self.operands[str(side)].rule)
        return list(side.value) if isinstance(side.value, tuple) else side.value
