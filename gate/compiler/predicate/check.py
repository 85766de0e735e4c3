"""Types of a predicate, and whether it says anything: every comparison is between like types, none is always the same.

Pure. Raises at the first mistake of one predicate; each predicate is checked by itself, so that no other is hidden.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from gate.compiler.predicate.pattern import PatternError, check_pattern
from gate.compiler.predicate.scope import Kind, Operand, Scope
from gate.compiler.predicate.syntax import Compare, Exists, Junction, Literal, Name, Node, Not, PredicateError, Truth

_ORDERED = frozenset({"<", "<=", ">", ">="})
_MAX_ATOMS = 12
"""Atoms up to which every combination is tried for a predicate that is always the same: 4096 combinations."""


def check(node: Node, scope: Scope, *, restricting: bool) -> dict[str, Operand]:
    """The operands of `node` by name. Raises `PredicateError`.

    `restricting`: the predicate guards a refusal; there `exists` may name only what the model sends, because a
    missing record must not silence it.
    """
    operands = {str(name): scope.resolve(name) for name in _names(node)}
    for part in _walk(node):
        match part:
            case Compare():
                _check_comparison(part, operands)
            case Truth(name) if operands[str(name)].kind is not Kind.BOOLEAN:
                raise PredicateError(
                    f"`{name}` is a {operands[str(name)].kind}, not a boolean", name.at, code="predicate_not_boolean"
                )
            case Exists(name) if restricting and not operands[str(name)].untrusted:
                raise PredicateError(
                    f"`exists {name}` would be silent when the record is missing",
                    name.at,
                    code="predicate_exists_trusted",
                    hint="in a restricting control, exists may name only arguments or request.text",
                )
    _refuse_constant(node)
    return operands


def _walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Not(inner):
            yield from _walk(inner)
        case Junction(_, operands):
            for inner in operands:
                yield from _walk(inner)


def _names(node: Node) -> Iterator[Name]:
    for part in _walk(node):
        match part:
            case Truth(name) | Exists(name):
                yield name
            case Compare(_, left, right):
                yield from (side for side in (left, right) if isinstance(side, Name))


def _check_comparison(part: Compare, operands: Mapping[str, Operand]) -> None:
    left, right = _kind(part.left, operands), _kind(part.right, operands)
    if part.left == part.right or (isinstance(part.left, Literal) and isinstance(part.right, Literal)):
        raise PredicateError("this comparison is always the same", part.at, code="predicate_constant")
    if isinstance(part.left, Name) and isinstance(part.right, Name) and part.left.path == part.right.path:
        raise PredicateError("this comparison is always the same", part.at, code="predicate_constant")
    if part.op == "matches":
        _check_match(part, left)
    elif part.op == "in":
        _check_member(part, left, right)
    elif Kind.LIST in (left, right) or left is not right:
        raise _unlike(part, left, right)
    elif part.op in _ORDERED and left is not Kind.NUMBER:
        raise PredicateError(f"`{part.op}` orders numbers only", part.at, code="predicate_type_mismatch")
    _check_declared_values(part, operands)


def _check_match(part: Compare, left: Kind) -> None:
    pattern = part.right.value if isinstance(part.right, Literal) else None
    if left is not Kind.STRING or not isinstance(part.left, Name) or not isinstance(pattern, str):
        raise PredicateError("`matches` takes a string name and a pattern", part.at, code="predicate_type_mismatch")
    try:
        check_pattern(pattern)
    except PatternError as exc:
        raise PredicateError(
            f"{exc.message} (character {exc.offset + 1} of the pattern)",
            part.right.at,
            code="predicate_pattern_invalid",
            hint="patterns are RE2 without flags; spell both cases out, as in `[pP]assword`",
        ) from exc


def _check_member(part: Compare, left: Kind, right: Kind) -> None:
    if right is not Kind.LIST or left is Kind.LIST:
        raise PredicateError("`in` takes a value and a list", part.at, code="predicate_type_mismatch")
    if not isinstance(part.right, Literal):
        if left is not Kind.STRING:
            raise _unlike(part, left, right)
        return
    items = part.right.value
    if not isinstance(items, tuple) or not items:
        raise PredicateError("a list is empty", part.right.at, code="predicate_constant")
    if any(_literal_kind(item) is not left for item in items):
        raise PredicateError("the list holds other types", part.right.at, code="predicate_type_mismatch")


def _check_declared_values(part: Compare, operands: Mapping[str, Operand]) -> None:
    for name, literal in ((part.left, part.right), (part.right, part.left)):
        if isinstance(name, Name) and isinstance(literal, Literal) and part.op in {"==", "!=", "in"}:
            declared = operands[str(name)].values
            items = literal.value if isinstance(literal.value, tuple) else (literal.value,)
            for item in items if declared else ():
                if item not in declared:
                    raise PredicateError(
                        f"`{name}` is never {item!a}",
                        literal.at,
                        code="predicate_value_undeclared",
                        hint="declared are " + ", ".join(map(str, declared)),
                    )


def _unlike(part: Compare, left: Kind, right: Kind) -> PredicateError:
    return PredicateError(f"`{part.op}` compares a {left} with a {right}", part.at, code="predicate_type_mismatch")


def _kind(side: Name | Literal, operands: Mapping[str, Operand]) -> Kind:
    return operands[str(side)].kind if isinstance(side, Name) else _literal_kind(side.value)


def _literal_kind(value: Any) -> Kind:
    if isinstance(value, tuple):
        return Kind.LIST
    if isinstance(value, bool):
        return Kind.BOOLEAN
    return Kind.STRING if isinstance(value, str) else Kind.NUMBER


def _refuse_constant(node: Node) -> None:
    atoms = list(dict.fromkeys(_atom(part) for part in _walk(node) if not isinstance(part, (Not, Junction))))
    if len(atoms) > _MAX_ATOMS:
        return
    results = {
        _evaluate(node, dict(zip(atoms, values, strict=True)))
        for values in itertools.product((False, True), repeat=len(atoms))
    }
    if len(results) == 1:
        raise PredicateError("the predicate is always the same, whatever its names hold", 0, code="predicate_constant")


def _atom(part: Node) -> tuple[Any, ...]:
    match part:
        case Compare(op, left, right):
            return (op, _side(left), _side(right))
        case Truth(name) | Exists(name):
            return (type(part).__name__, name.path)
    raise PredicateError("not an atom", 0)


def _side(side: Name | Literal) -> tuple[Any, ...]:
    return ("name", side.path) if isinstance(side, Name) else ("literal", repr(side.value))


def _evaluate(node: Node, values: Mapping[tuple[Any, ...], bool]) -> bool:
    match node:
        case Not(inner):
            return not _evaluate(inner, values)
        case Junction("and", operands):
            return all(_evaluate(inner, values) for inner in operands)
        case Junction(_, operands):
            return any(_evaluate(inner, values) for inner in operands)
    return values[_atom(node)]
