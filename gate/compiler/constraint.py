"""A user's constraint compiled when it is stated: predicate text to the JSON that `policies/gate/constraint` evaluates.

Pure. The language is that of control checkpoints, checked against the served catalog. What is written is disjunctive
normal form: Kleene's `and`, `or` and `not` distribute over each other, so the three values survive the rewriting and
Rego needs no recursion. What cannot be expressed within the bounds is an error; nothing is dropped to make it fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gate.compiler.predicate import Kind, Node, Operand, PredicateError, Scope, check, parse_predicate
from gate.compiler.predicate.syntax import Compare, Exists, Junction, Literal, Name, Not, Truth
from gate.documents.wording import did_you_mean, quoted
from gate.errors import GateError

MAX_TEXT = 2000
"""Characters of a predicate."""

MAX_ALTERNATIVES = 64
MAX_LITERALS = 32
"""Bounds of the normal form, the same as in `policies/gate/constraint`, which refuses whatever is beyond them."""

ANY = "*"
"""Stands alone in `applies_to` for every capability."""

_COMPLEMENT = {
    **{"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"},
    **{"in": "not_in", "contains": "not_contains", "matches": "not_matches"},
}
_MIRROR = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "in": "contains"}

Alternative = tuple[Mapping[str, Any], ...]
"""Literals that hold together."""


class ConstraintError(GateError):
    """A constraint that cannot be enforced as it is written, so that it must not be recorded."""

    code = "constraint_invalid"


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a predicate needs to know of a capability."""

    arguments: Mapping[str, Any]


def compile_constraint(
    text: str, *, applies_to: Sequence[str], capabilities: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The `predicate` section of a constraint: `{"text": …, "dnf": [[literal, …], …]}`.

    `applies_to`: names of the catalog, or `*` alone; `capabilities`: the served catalog by name. The constraint holds
    unless every alternative is provably false. Raises `ConstraintError`: `constraint_invalid`, `constraint_too_long`,
    `constraint_too_complex`, `capability_unknown`, or the code of the predicate's own mistake.
    """
    _readable(text)
    scope = Scope(_bound_to(applies_to, capabilities))
    try:
        node = parse_predicate(text)
        operands = check(node, scope, restricting=True)
    except PredicateError as exc:
        raise ConstraintError(f"{exc} (character {exc.offset + 1})", code=exc.code, hint=exc.hint) from exc
    alternatives = _normal(node, operands, negated=False)
    return {"text": text, "dnf": [[dict(literal) for literal in alternative] for alternative in alternatives]}


def _readable(text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ConstraintError("a constraint needs a predicate", hint="say what must not be done, as a predicate")
    if len(text) > MAX_TEXT:
        raise ConstraintError(f"a predicate is over {MAX_TEXT} characters", code="constraint_too_long")


def _bound_to(applies_to: Sequence[str], capabilities: Mapping[str, Mapping[str, Any]]) -> list[_Entry]:
    if isinstance(applies_to, str) or not applies_to or not all(isinstance(name, str) for name in applies_to):
        raise ConstraintError("`applies_to` is a list of capabilities", hint=f"name them, or write {quoted(ANY)} alone")
    if ANY in applies_to:
        if len(applies_to) > 1:
            raise ConstraintError(f"{quoted(ANY)} stands alone in `applies_to`")
        return []
    for name in applies_to:
        if name not in capabilities:
            raise ConstraintError(
                f"{quoted(name)} is not in the catalog",
                code="capability_unknown",
                hint=did_you_mean(name, tuple(capabilities)) or "see capabilities.yaml",
            )
    return [_Entry(capabilities[name]["arguments"]) for name in applies_to]


def _normal(node: Node, operands: Mapping[str, Operand], *, negated: bool) -> list[Alternative]:
    match node:
        case Not(inner):
            return _normal(inner, operands, negated=not negated)
        case Junction(op, parts):
            forms = [_normal(part, operands, negated=negated) for part in parts]
            # De Morgan: under a negation `and` and `or` change places.
            return _either(forms) if (op == "or") is not negated else _both(forms)
    return [(_literal(node, operands, negated=negated),)]


def _either(forms: Sequence[list[Alternative]]) -> list[Alternative]:
    return _bounded([alternative for form in forms for alternative in form])


def _both(forms: Sequence[list[Alternative]]) -> list[Alternative]:
    product: list[Alternative] = [()]
    for form in forms:
        product = _bounded([_joined(left, right) for left in product for right in form])
    return product


def _joined(left: Alternative, right: Alternative) -> Alternative:
    return (*left, *(literal for literal in right if literal not in left))


def _bounded(alternatives: list[Alternative]) -> list[Alternative]:
    distinct = [a for index, a in enumerate(alternatives) if a not in alternatives[:index]]
    if len(distinct) > MAX_ALTERNATIVES or any(len(a) > MAX_LITERALS for a in distinct):
        raise ConstraintError(
            f"the predicate has over {MAX_ALTERNATIVES} alternatives, or over {MAX_LITERALS} conditions in one",
            code="constraint_too_complex",
            hint="state it as several constraints",
        )
    return distinct


def _literal(node: Node, operands: Mapping[str, Operand], *, negated: bool) -> dict[str, Any]:
    match node:
        case Truth(name):
            return {**_side(name, operands), "op": "==", "value": not negated}
        case Exists(name):
            return {**_side(name, operands), "op": "absent" if negated else "exists"}
        case Compare(op, left, right):
            if isinstance(left, Literal):
                # Checked before: of two sides at most one is a constant.
                op, left, right = _MIRROR[op], right, left
            if not isinstance(left, Name):
                raise TypeError("a comparison of two constants passed the check")
            side = {**_side(left, operands), "op": _COMPLEMENT[op] if negated else op}
            if isinstance(right, Name):
                return {**side, "other": _side(right, operands)}
            return {**side, "value": list(right.value) if isinstance(right.value, tuple) else right.value}
    raise TypeError(type(node).__name__)


def _side(name: Name, operands: Mapping[str, Operand]) -> dict[str, Any]:
    operand = operands[str(name)]
    return {"base": operand.base, "path": list(operand.path), "kind": str(Kind(operand.kind))}
