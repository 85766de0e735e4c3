from __future__ import annotations

import copy
import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opa_point import OpaPoint

from gate.compiler import Compiled, assemble, compile_bundle
from gate.documents import Case, load_cases
from gate.errors import ToolchainError
from gate.release import case_document, explain

pytestmark = pytest.mark.opa

MODULE: Any = importlib.import_module("gate.release.explain")  # the room exports the function under that name
MARK = "zq-untrusted-zq"


@pytest.fixture(scope="module")
def bundle(repo: Path) -> Compiled:
    return compile_bundle(repo / "bundles" / "support-triage")


@pytest.fixture(scope="module")
def point(bundle: Compiled) -> OpaPoint:
    assembly = assemble([bundle])
    return OpaPoint(assembly.modules, revision=assembly.revision)


@pytest.fixture(scope="module")
def documents(repo: Path, point: OpaPoint) -> dict[str, dict[str, Any]]:
    facts = point.facts("support-triage-ref")
    sections = {
        "bundle": facts.bundle,
        "capabilities": facts.capabilities,
        "contracts": facts.contracts,
        "reviewers": facts.reviewers,
    }

    def filled(case: Case) -> dict[str, Any]:
        return case_document(case, sections)

    return {case.id: filled(case) for case in load_cases(repo / "bundles" / "support-triage")}


@pytest.fixture(scope="module", autouse=True)
def parsed_once() -> Iterator[None]:
    """The policies are the same in every test here: each file is parsed by OPA and searched once."""
    real, cache = MODULE._parsed, {}

    def parsed(assembly: Any) -> Any:
        if assembly.content_digest not in cache:
            cache[assembly.content_digest] = real(assembly)
        return cache[assembly.content_digest]

    index, indexes = MODULE._Index, {}

    def indexed(sources: Any) -> Any:
        if len(sources) not in indexes:
            indexes[len(sources)] = index(sources)
        return indexes[len(sources)]

    patch = pytest.MonkeyPatch()
    patch.setattr(MODULE, "_parsed", parsed)
    patch.setattr(MODULE, "_Index", indexed)
    yield
    patch.undo()


def test_every_reason_that_a_golden_case_expects_has_a_position(
    repo: Path, bundle: Compiled, point: OpaPoint, documents: dict[str, dict[str, Any]]
) -> None:
    # One case for each reason: an explanation costs many decisions.
    shown: dict[str, str] = {}
    for case in load_cases(repo / "bundles" / "support-triage"):
        if set(case.expect_reasons) - set(shown):
            shown |= dict.fromkeys(case.expect_reasons, case.id)
    explained = {name: explain(bundle, documents[name], point) for name in sorted(set(shown.values()))}
    assert {one.reason.code for e in explained.values() for one in e.reasons} >= set(shown)
    assert [
        (name, one.reason.code)
        for name, explanation in explained.items()
        for one in explanation.reasons
        if not re.fullmatch(r".+\.(rego|yaml):\d+:\d+", one.position)
    ] == []
    assert {e.note for e in explained.values()} == {""}
    assert all(e.decision.reasons == tuple(one.reason for one in e.reasons) for e in explained.values())


def test_reason_of_the_bundle_points_at_its_line_of_yaml(
    repo: Path, bundle: Compiled, point: OpaPoint, documents: dict[str, dict[str, Any]]
) -> None:
    names = {
        "search_docs_allowed": "search_docs:",
        "run_shell_denied": "run_shell:",
        "ticket_approved": "create_ticket:",
        "run_start_allowed": "run_start: allow",
    }
    seen = {}
    for case in names:
        (one,) = explain(bundle, documents[case], point).reasons
        file, line, column = one.position.rsplit(":", 2)
        assert file == str(repo / "bundles" / "support-triage" / "policy.yaml")
        seen[case] = Path(file).read_text().splitlines()[int(line) - 1][int(column) - 1 :]
    assert seen == names


def test_reason_of_the_core_points_at_its_finding(
    repo: Path, bundle: Compiled, point: OpaPoint, documents: dict[str, dict[str, Any]]
) -> None:
    cases = ("ticket_without_approval", "unknown_tool_denied", "operation_not_named", "foreign_tenant", "run_stopped")
    pointed = set()
    for case in cases:
        for one in explain(bundle, documents[case], point).reasons:
            file, line, _ = one.position.rsplit(":", 2)
            if file.startswith("gate/"):
                text = (repo / "policies" / file).read_text().splitlines()[int(line) - 1]
                assert f'finding.new("{one.reason.code}", "{one.reason.verdict}"' in text
                pointed.add(one.reason.code)
    assert {
        "approval_missing",
        "capability_unknown",
        "no_rule_permits",
        "tenant_mismatch",
        "run_not_running",
    } <= pointed


def test_what_a_rule_looks_at_is_shown_with_what_stands_there(
    bundle: Compiled, point: OpaPoint, documents: dict[str, dict[str, Any]]
) -> None:
    document = copy.deepcopy(documents["run_stopped"])
    (one,) = explain(bundle, document, point).reasons[-1:]
    looked = {r.reason.code: dict(r.looked_at) for r in explain(bundle, document, point).reasons}
    assert looked["run_not_running"]["state.run.status"] == json.dumps(document["state"]["run"]["status"])
    del document["state"]["run"]["status"]
    absent = {r.reason.code: dict(r.looked_at) for r in explain(bundle, document, point).reasons}
    assert absent["run_not_running"]["state.run.status"] == "absent"
    document["state"]["run"]["status"] = None
    null = {r.reason.code: dict(r.looked_at) for r in explain(bundle, document, point).reasons}
    assert null["run_not_running"]["state.run.status"] == "null"
    assert one.change == one.reason.remedy != ""


def _marked(value: Any) -> Any:
    """The request with every string, name and number in it replaced by a mark."""
    if isinstance(value, dict):
        return {key: _marked(item) for key, item in value.items()}
    return MARK if isinstance(value, (str, int)) else value


def test_values_of_the_request_never_appear(
    bundle: Compiled, point: OpaPoint, documents: dict[str, dict[str, Any]]
) -> None:
    for name, document in list(documents.items())[::5]:
        marked = copy.deepcopy(document)
        marked["request"] = {
            **_marked(document.get("request", {})),
            **dict.fromkeys(("text", "reason", "memory_kind", "transition", "outcome", "resource"), MARK),
            "arguments": {MARK: [MARK, {"a": MARK}]},
        }
        for version in (
            marked,
            {**marked, "request": {**marked["request"], "capability": document.get("request", {}).get("capability")}},
        ):
            explanation = explain(bundle, version, point)
            shown = [(one.looked_at, one.change, one.position, one.reason) for one in explanation.reasons]
            assert MARK not in repr(shown), name


def test_without_opa_the_decision_stands_and_a_note_says_what_is_missing(
    bundle: Compiled,
    point: OpaPoint,
    documents: dict[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(assembly: Any) -> Any:
        raise ToolchainError("OPA 1.22.3 was not found")

    monkeypatch.setattr(MODULE, "_parsed", gone)
    explanation = explain(bundle, documents["run_shell_denied"], point)
    assert explanation.note == "what each rule looks at is not shown: OPA 1.22.3 was not found"
    assert explanation.decision.codes == ("configured_deny",)
    assert re.search(r"/policy\.yaml:\d+:5$", explanation.reasons[0].position)
