"""Golden cases: each input document is put to a real decision point and its decision compared as a whole.

Decides nothing and repairs nothing. A case that misspells a field fails by name: it would test less than it says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gate.documents import Case, schema, strict_validator, tokens_of
from gate.errors import GateError, InputError
from gate.pdp import DecisionPoint, Facts

FACTS = "$facts"
"""`{"$facts": POINTER}` in a case stands for what the compiled bundle says there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What one case got beside what it expects."""

    id: str
    title: str
    file: str
    passed: bool
    expected: tuple[str, ...]
    """Verdict, the sorted reason codes, then `obligation:TYPE` and `advice:CODE` where the case states them."""
    got: tuple[str, ...]
    """The same of the decision; a `pdp_*` or `case_*` code when there was none."""


def run_cases(cases: Sequence[Case], point: DecisionPoint, *, agent_id: str) -> Iterator[CaseResult]:
    """Runs each case on `point`; `agent_id` is an agent of the bundle, whose facts fill the `$facts` of a case."""
    facts = as_document(point.facts(agent_id))
    for case in cases:
        expected = (
            case.expect_verdict,
            *sorted(set(case.expect_reasons)),
            *_labelled("obligation", duties_shown(case, case.expect_obligations or ())),
            *_labelled("advice", case.expect_advice),
        )
        got = _outcome(case, point, facts)
        yield CaseResult(
            id=case.id, title=case.title, file=case.file, passed=got == expected, expected=expected, got=got
        )


def case_document(case: Case, facts: dict[str, Any]) -> dict[str, Any]:
    """The document of `case` with its `$facts` filled in.

    Raises `InputError` for a pointer to nothing and for a misspelt field.
    """
    document = _fill(case.document, facts)
    for error in strict_validator(schema("input")).iter_errors(document):
        if error.validator == "additionalProperties":
            where = "/".join(str(part) for part in error.absolute_path)
            raise InputError(f"`{where}` is not a field of an input document", code="case_unknown_field")
    return document  # type: ignore[no-any-return] # a mapping is filled with a mapping


def _outcome(case: Case, point: DecisionPoint, facts: dict[str, Any]) -> tuple[str, ...]:
    try:
        decision = point.decide(case_document(case, facts)).decision
    except GateError as exc:
        return (exc.code,)
    advice = None if case.expect_advice is None else [str(a["code"]) for a in decision.advice]
    return (
        str(decision.verdict),
        *sorted(set(decision.codes)),
        *_labelled("obligation", duties_shown(case, decision.obligations)),
        *_labelled("advice", advice),
    )


def duties_shown(case: Case, obligations: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Each obligation as far as `case` is about it: its type, and the fields that the case states of the one there."""
    if case.expect_obligations is None:
        return ()
    stated = [one.keys() - {"type"} for one in case.expect_obligations]
    shown = []
    for index, one in enumerate(obligations):
        fields = sorted(stated[index]) if index < len(stated) else []
        said = [f"{name}={json.dumps(one[name], sort_keys=True)}" if name in one else f"no {name}" for name in fields]
        shown.append(" ".join([str(one["type"]), *said]))
    return tuple(shown)


def _labelled(label: str, values: Sequence[str] | None) -> Iterator[str]:
    return (f"{label}:{value}" for value in values or ())


def as_document(facts: Facts) -> dict[str, Any]:
    """The facts that the `$facts` of a case point into."""
    return {
        "bundle": facts.bundle,
        "capabilities": facts.capabilities,
        "contracts": facts.contracts,
        "reviewers": facts.reviewers,
    }


def _fill(value: Any, facts: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {FACTS}:
            return _resolve(facts, str(value[FACTS]))
        return {key: _fill(item, facts) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, facts) for item in value]
    return value


def _resolve(facts: Any, pointer: str) -> Any:
    if not pointer.startswith("/"):
        raise InputError(f"`{pointer}` is not a pointer; it starts with `/`", code="case_facts_unknown")
    for name in tokens_of(pointer):
        if not isinstance(facts, Mapping) or name not in facts:
            raise InputError(f"the compiled bundle has nothing at `{pointer}`", code="case_facts_unknown")
        facts = facts[name]
    return facts
