"""A second, independent meaning of predicates: three values in plain Python, for comparison with what OPA does.

Knows nothing of how predicates are compiled. `None` is unknown.
"""

from __future__ import annotations

import re
from typing import Any

from gate.compiler.predicate import Kind, Operand
from gate.compiler.predicate.syntax import Compare, Exists, Junction, Name, Not, Truth

MISSING = object()


def truth(node: Any, operands: dict[str, Operand], document: dict[str, Any], catalog: dict[str, Any]) -> bool | None:
    """True, False, or None for unknown."""
    if isinstance(node, Not):
        inner = truth(node.operand, operands, document, catalog)
        return None if inner is None else not inner
    if isinstance(node, Junction):
        values = [truth(part, operands, document, catalog) for part in node.operands]
        decisive = node.op == "or"
        if decisive in values:
            return decisive
        return None if None in values else not decisive
    if isinstance(node, Exists):
        return _value(operands[str(node.name)], document, catalog) not in (MISSING, None)
    if isinstance(node, Truth):
        return _typed(node.name, operands, document, catalog)
    return _comparison(node, operands, document, catalog)


def _comparison(node: Compare, operands: dict[str, Operand], document: Any, catalog: Any) -> bool | None:
    left = _side(node.left, operands, document, catalog)
    right = _side(node.right, operands, document, catalog)
    if left is None or right is None:
        return None
    if node.op == "in":
        return any(_same(left, item) for item in right)
    if node.op == "matches":
        return re.search(right, left) is not None
    if node.op in {"==", "!="}:
        return _same(left, right) == (node.op == "==")
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[node.op]


def _same(left: Any, right: Any) -> bool:
    # Python's 1 == True must not leak into the meaning.
    return type(left) is type(right) and left == right if bool in (type(left), type(right)) else left == right


def _side(side: Any, operands: dict[str, Operand], document: Any, catalog: Any) -> Any:
    return _typed(side, operands, document, catalog) if isinstance(side, Name) else side.value


def _typed(name: Name, operands: dict[str, Operand], document: Any, catalog: Any) -> Any:
    operand = operands[str(name)]
    value = _value(operand, document, catalog)
    right = {
        Kind.STRING: lambda v: isinstance(v, str),
        Kind.NUMBER: lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
        Kind.BOOLEAN: lambda v: isinstance(v, bool),
        Kind.LIST: lambda v: isinstance(v, list) and all(isinstance(i, str) for i in v),
    }[operand.kind]
    return value if right(value) else None


def _value(operand: Operand, document: Any, catalog: Any) -> Any:
    value = catalog if operand.base == "catalog" else document
    for part in operand.path:
        if not isinstance(value, dict) or part not in value:
            return MISSING
        value = value[part]
    return value
