from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from opa_point import OpaPoint

from gate.compiler import Compiled, assemble, compile_bundle
from gate.documents import Case, load_cases
from gate.errors import InputError, PdpError
from gate.pdp import Facts, Reply
from gate.release import CaseResult, case_document, run_cases

AGENT = "support-triage-ref"


@pytest.fixture(scope="module")
def bundle(repo: Path) -> Compiled:
    return compile_bundle(repo / "bundles" / "support-triage")


@pytest.fixture(scope="module")
def point(bundle: Compiled) -> OpaPoint:
    assembly = assemble([bundle])
    return OpaPoint(assembly.modules, revision=assembly.revision)


@pytest.fixture(scope="module")
def cases(repo: Path) -> tuple[Case, ...]:
    return load_cases(repo / "bundles" / "support-triage")


def case(document: Mapping[str, Any], verdict: str = "allow", reasons: tuple[str, ...] = ()) -> Case:
    return Case(
        id="x", title="a case", document=dict(document), expect_verdict=verdict, expect_reasons=reasons, file="x.yaml"
    )


def allowed_document(cases: tuple[Case, ...]) -> dict[str, Any]:
    (found,) = [c for c in cases if c.id == "ticket_approved"]
    return found.document


def test_cases_of_the_shipped_bundle_pass(cases: tuple[Case, ...], point: OpaPoint) -> None:
    # All of them are held against the real OPA, and both engines against each other, in the suite of parity.
    cases = cases[::5]
    results = list(run_cases(cases, point, agent_id=AGENT))
    assert [r for r in results if not r.passed] == []
    assert [r.id for r in results] == [c.id for c in cases]
    assert {"allow", "deny", "require_approval", "blocked_on_reconciliation"} <= {r.got[0] for r in results}


def test_case_that_expects_another_verdict_fails_with_both_sides(cases: tuple[Case, ...], point: OpaPoint) -> None:
    wrong = case(allowed_document(cases), "deny", ("configured_deny",))
    assert list(run_cases([wrong], point, agent_id=AGENT)) == [
        CaseResult(
            id="x",
            title="a case",
            file="x.yaml",
            passed=False,
            expected=("deny", "configured_deny"),
            got=("allow", "configured_with_approval"),
        )
    ]


def test_case_with_one_reason_too_many_or_too_few_fails(cases: tuple[Case, ...], point: OpaPoint) -> None:
    document = allowed_document(cases)
    wrong = [case(document, reasons=("configured_with_approval", "x")), case(document, reasons=())]
    assert [r.passed for r in run_cases(wrong, point, agent_id=AGENT)] == [False, False]


@pytest.mark.parametrize("place", [(), ("identity",), ("state", "run"), ("state", "approval", "votes", 0)])
def test_case_with_a_misspelt_field_fails_by_name(
    cases: tuple[Case, ...], point: OpaPoint, place: tuple[str | int, ...]
) -> None:
    document = _copy(allowed_document(cases))
    target: Any = document
    for part in place:
        target = target[part]
    target["tenat_id"] = "tenant-acme"
    (result,) = run_cases([case(document, reasons=("configured_with_approval",))], point, agent_id=AGENT)
    assert (result.passed, result.got) == (False, ("case_unknown_field",))


@pytest.mark.parametrize(
    "pointer", ["/capabilities/drop_table/capability_version", "/nothing", "/bundle/version/x", "x", ""]
)
def test_case_with_a_pointer_to_nothing_fails_by_name(cases: tuple[Case, ...], point: OpaPoint, pointer: str) -> None:
    document = {**allowed_document(cases), "trace": {"trace_id": {"$facts": pointer}}}
    (result,) = run_cases([case(document)], point, agent_id=AGENT)
    assert (result.passed, result.got) == (False, ("case_facts_unknown",))


def test_facts_are_filled_in_and_the_case_is_left_alone(
    bundle: Compiled, cases: tuple[Case, ...], point: OpaPoint
) -> None:
    document = allowed_document(cases)
    before = _copy(document)
    filled = case_document(
        case(document), {"bundle": {"version": "1"}, "capabilities": {}, "contracts": {}} | _facts(point)
    )
    assert filled["state"]["versions"]["bundle_version"] == bundle.bundle.meta.version
    assert document == before


def test_case_of_an_agent_nobody_governs_fails_for_its_facts(cases: tuple[Case, ...], point: OpaPoint) -> None:
    (result,) = run_cases([case(allowed_document(cases))], point, agent_id="nobody")
    assert result.got == ("case_facts_unknown",)


class Dying:
    """A decision point that answers about facts and is gone afterwards."""

    def __init__(self, point: OpaPoint, *, facts: bool) -> None:
        self._point, self._facts = point, facts

    def facts(self, agent_id: str) -> Facts:
        if not self._facts:
            raise PdpError("the connection was lost", code="pdp_connection_lost")
        return self._point.facts(agent_id)

    def decide(self, document: Mapping[str, Any]) -> Reply:
        raise PdpError("the decision point did not answer in time", code="pdp_timeout")

    def revision(self) -> str:
        return ""

    def ready(self) -> bool:
        return False

    def close(self) -> None:
        return None


def test_decision_point_that_dies_fails_each_case_with_its_code(cases: tuple[Case, ...], point: OpaPoint) -> None:
    results = list(run_cases(cases, Dying(point, facts=True), agent_id=AGENT))
    assert {(r.passed, r.got) for r in results} == {(False, ("pdp_timeout",))}
    assert len(results) == len(cases)


def test_decision_point_that_gives_no_facts_passes_no_case(cases: tuple[Case, ...], point: OpaPoint) -> None:
    with pytest.raises(PdpError) as caught:
        list(run_cases(cases, Dying(point, facts=False), agent_id=AGENT))
    assert caught.value.code == "pdp_connection_lost"


def test_refusal_without_a_decision_never_counts_as_an_expected_deny(cases: tuple[Case, ...], point: OpaPoint) -> None:
    denied = [c for c in cases if c.expect_verdict == "deny"]
    assert denied
    assert not any(r.passed for r in run_cases(denied, Dying(point, facts=True), agent_id=AGENT))


def test_document_that_is_not_closed_is_refused_before_it_is_asked_about() -> None:
    with pytest.raises(InputError) as caught:
        case_document(case({"checkpoint": "input", "chekpoint": "input"}), {})
    assert caught.value.code == "case_unknown_field"


def _facts(point: OpaPoint) -> dict[str, Any]:
    facts = point.facts(AGENT)
    return {"bundle": facts.bundle, "capabilities": facts.capabilities, "contracts": facts.contracts, "reviewers": {}}


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _copy(v) for k, v in value.items()}
    return [_copy(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("stated", "passed", "got"),
    [
        ({"type": "request_approval"}, True, "obligation:request_approval"),
        (
            {"type": "request_approval", "max_wait_seconds": 1800},
            True,
            "obligation:request_approval max_wait_seconds=1800",
        ),
        (
            {"type": "request_approval", "max_wait_seconds": 1801},
            False,
            "obligation:request_approval max_wait_seconds=1800",
        ),
        ({"type": "request_approval", "lease_seconds": None}, False, "obligation:request_approval no lease_seconds"),
    ],
)
def test_case_compares_of_an_obligation_its_type_and_the_fields_it_states(
    point: OpaPoint, cases: tuple[Case, ...], stated: Mapping[str, Any], passed: bool, got: str
) -> None:
    (asked,) = [one for one in cases if one.id == "ticket_without_approval"]
    (result,) = run_cases([dataclasses.replace(asked, expect_obligations=(stated,))], point, agent_id=AGENT)
    assert (result.passed, result.got[-1]) == (passed, got)
