"""No refusal may hang on a field being there: the part of "write what good looks like" that one rule does not show.

Pure; hand-written policies only (compiled predicates are three-valued, and have a proof of their own). From every
restricting finding the rules it refers to are followed; `not` changes sides. A test that only ever stands on the
positive side is badness tested through a helper: the field is absent, the helper is undefined, the finding is silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gate.compiler.parsed import (
    CONSTRUCTOR,
    Key,
    Node,
    RuleIndex,
    Source,
    call_of,
    constructor_calls,
    input_path,
    operator,
    walk,
)
from gate.errors import Problem

INDEXED = frozenset({("checkpoint",), ("operation",), ("request", "capability")})
"""Input fields that rules are indexed by: what they may be is closed elsewhere, so a rule may ask for one value."""

_BINDS = frozenset({"assign", "eq"})
_CONSTANT = frozenset({"string", "number", "boolean", "null", "set", "array"})
State = tuple[Key, bool]
"""A rule, and whether it is reached on the positive side."""


def one_sided(sources: Sequence[Source], index: RuleIndex) -> Iterator[Problem]:
    """A problem for each test that can silence a finding and whose failing raises none."""
    reached = _reached(sources, index)
    negative = {key for key, positive in reached if not positive}
    confined = {
        (key[0], path)
        for key in _negated(sources, index)
        for source, rule in index.definitions(key)
        for path in _confined(source, index, rule)
    }
    for key in sorted({key for key, positive in reached if positive} - negative):
        for source, rule in index.definitions(key):
            for expression, call in _tests(source, index, rule):
                path = _compared(call)
                if path is None or (path not in INDEXED and (key[0], path) not in confined):
                    yield source.problem(
                        expression,
                        "rego_one_sided",
                        f"`{key[1]}` raises a finding where this holds and none raises one where it does not",
                    )


def _bodies(sources: Sequence[Source], index: RuleIndex) -> Iterator[tuple[Source, Sequence[Node]]]:
    """The body of every restricting finding."""
    for source in sources:
        if not source.package.startswith("gate.bundles."):
            for rule in source.rules:
                if _restricts(source, index, rule):
                    yield source, rule.get("body", [])


def _negated(sources: Sequence[Source], index: RuleIndex) -> set[Key]:
    """The rules that some finding negates itself: what they test is what it calls good."""
    found = {
        index.resolve(source, expression["terms"])
        for source, body in _bodies(sources, index)
        for expression in body
        if expression.get("negated") and not isinstance(expression["terms"], list)
    }
    return {resolved[0] for resolved in found if resolved is not None}


def _reached(sources: Sequence[Source], index: RuleIndex) -> set[State]:
    reached: set[State] = set()
    pending: list[State] = []
    for source, body in _bodies(sources, index):
        pending += _references(source, index, body, positive=True)
    while pending:
        state = pending.pop()
        if state not in reached and state[0] != CONSTRUCTOR:
            reached.add(state)
            key, positive = state
            for source, rule in index.definitions(key):
                pending += _references(source, index, rule, positive=positive)
    return reached


def _restricts(source: Source, index: RuleIndex, rule: Node) -> bool:
    return any(
        len(arguments) > 1 and arguments[1].get("value") != "allow"
        for _, arguments in constructor_calls(source, index, rule["head"])
    )


def _references(source: Source, index: RuleIndex, node: object, *, positive: bool) -> Iterator[State]:
    """Every rule that `node` refers to, on the side it stands on."""
    if isinstance(node, list):
        for item in node:
            yield from _references(source, index, item, positive=positive)
    elif isinstance(node, dict):
        side = positive is not bool(node.get("negated"))
        if node.get("type") in {"ref", "var"}:
            resolved = index.resolve(source, node)
            if resolved is not None:
                yield resolved[0], side
        for name, value in node.items():
            if name not in {"location", "annotations"}:
                yield from _references(source, index, value, positive=side)


def _tests(source: Source, index: RuleIndex, rule: Node) -> Iterator[tuple[Node, Sequence[Node]]]:
    """Every expression of `rule` that finds something out: a builtin, a function, or a lookup (without arguments)."""
    for node in walk(rule):
        if "terms" not in node or node.get("negated"):
            continue
        call, terms = call_of(node), node["terms"]
        if call is not None:
            if operator(call) not in _BINDS:
                yield node, call
        elif not isinstance(terms, list) and terms.get("type") == "ref":
            resolved = index.resolve(source, terms)
            if resolved is None or not resolved[1]:
                yield node, ()


def _compared(call: Sequence[Node]) -> tuple[str, ...] | None:
    """The input path of a test whether it is a constant, or one of several."""
    if len(call) == 3 and operator(call) in {"equal", "internal.member_2"} and call[2]["type"] in _CONSTANT:
        return input_path(call[1]) or None
    return None


def _confined(source: Source, index: RuleIndex, rule: Node) -> Iterator[tuple[str, ...]]:
    for _, call in _tests(source, index, rule):
        path = _compared(call)
        if path is not None:
            yield path
