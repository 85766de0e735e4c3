"""Golden and damaged documents on the real OPA, over TCP and a unix socket, and on the embedded engine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from parity_support import Path_, changed, damaged, paths, unlike_types, value_at

from gate.compiler import Compiled, assemble, compile_bundle, write
from gate.documents import Case, load_cases
from gate.errors import PdpError
from gate.pdp import DecisionPoint, EmbeddedDecisionPoint, Sidecar, SidecarDecisionPoint
from gate.release import build, case_document, run_cases

pytestmark = pytest.mark.opa

AGENT = "support-triage-ref"

# Fields of the sound document without which the call is still allowed, and why that gives nothing away.
DO_NOT_MATTER: dict[Path_, str] = {
    ("request", "resource"): "stands in the action digest, which the approval is bound to",
    ("request", "arguments", "queue"): "judged by the gate: evidence.arguments, and bound by the action digest",
    ("request", "arguments", "title"): "judged by the gate: evidence.arguments, and bound by the action digest",
    ("state", "run", "version"): "compared by the records when the effect is claimed",
    ("state", "versions", "contract_digest"): "the approval's own contract digest is compared with the served one",
    ("state", "approval", "contract_id"): "a name for people; the digest is what binds",
    ("state", "approval", "intent_digest"): "rejections are matched by it in the records; the action digest binds",
    ("state", "approval", "created_at_ms"): "when a request escalates is counted from it; this one is decided",
    ("state", "approval", "escalated_at_ms"): "whether the default reviewer may vote; this one is decided",
    ("state", "approval", "standing_digest"): "the contract lets no approval stand",
    ("state", "approval", "uses"): "the contract lets no approval stand",
    ("digests", "tool_definition"): "null here: the capability is not an MCP tool",
    (
        "evidence",
        "verifier",
        "contract_version",
    ): "another contract than the trusted one wants an approval, and there is one",
    (
        "evidence",
        "verifier",
        "contract_digest",
    ): "another contract than the trusted one wants an approval, and there is one",
    ("evidence", "verifier", "checked_by"): "the bundle names no checkers of verdicts; their signature counts",
    ("evidence", "verifier", "check_age_ms"): "for predicates; the guards reckon with checked_at_ms",
}


@pytest.fixture(scope="module")
def folder(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("parity") / "support-triage"
    shutil.copytree(repo / "bundles" / "support-triage", target)
    write(compile_bundle(target))
    return target


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Compiled:
    return compile_bundle(folder)


@pytest.fixture(scope="module")
def embedded(bundle: Compiled) -> EmbeddedDecisionPoint:
    assembly = assemble([bundle])
    return EmbeddedDecisionPoint(assembly.modules, revision=assembly.revision)


@pytest.fixture(scope="module")
def tarball(bundle: Compiled, opa_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build([bundle], tmp_path_factory.mktemp("dist"), binary=opa_binary, trial=True).path


@pytest.fixture(scope="module", params=["tcp", "unix"])
def over(
    request: pytest.FixtureRequest, tarball: Path, opa_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SidecarDecisionPoint]:
    """The sidecar, asked with strict builtin errors, over each transport."""
    yield from _served(request.param, tarball, opa_binary, tmp_path_factory)


@pytest.fixture(scope="module")
def sidecar(
    tarball: Path, opa_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SidecarDecisionPoint]:
    yield from _served("unix", tarball, opa_binary, tmp_path_factory)


def _served(
    listen: str, tarball: Path, opa_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SidecarDecisionPoint]:
    folder = tmp_path_factory.mktemp("s")
    where: Any = "tcp" if listen == "tcp" else folder / "s" / "opa.sock"
    with Sidecar.start(tarball=tarball, opa=opa_binary, listen=where, work_dir=folder / "work") as running:
        client = running.client(timeout_ms=5000)
        yield client
        client.close()


@pytest.fixture(scope="module")
def cases(folder: Path) -> tuple[Case, ...]:
    return load_cases(folder)


@pytest.fixture(scope="module")
def sound(cases: tuple[Case, ...], embedded: EmbeddedDecisionPoint) -> dict[str, Any]:
    """A ticket write that is allowed by its approval: what the base of the cases says."""
    facts = embedded.facts(AGENT)
    (case,) = [c for c in cases if c.id == "ticket_approved"]
    sections = {"bundle": facts.bundle, "capabilities": facts.capabilities, "contracts": facts.contracts}
    return case_document(case, {**sections, "reviewers": facts.reviewers})


def answer(point: DecisionPoint, document: dict[str, Any]) -> tuple[str, ...]:
    """Verdict and reason codes; the code of the refusal when there was no decision."""
    try:
        decision = point.decide(document).decision
    except PdpError as exc:
        return (exc.code,)
    return (str(decision.verdict), *decision.codes)


def test_golden_cases_pass_on_real_opa_over_each_transport(cases: tuple[Case, ...], over: SidecarDecisionPoint) -> None:
    real = list(run_cases(cases, over, agent_id=AGENT))
    assert [r for r in real if not r.passed] == []
    assert [r.id for r in real] == [c.id for c in cases]


def test_golden_decisions_are_the_same_to_the_last_field(
    cases: tuple[Case, ...], sidecar: SidecarDecisionPoint, embedded: EmbeddedDecisionPoint
) -> None:
    facts = embedded.facts(AGENT)
    sections = {"bundle": facts.bundle, "capabilities": facts.capabilities, "contracts": facts.contracts}
    for case in cases:
        document = case_document(case, {**sections, "reviewers": facts.reviewers})
        assert sidecar.decide(document).decision == embedded.decide(document).decision, case.id


def test_facts_are_the_same_on_both_engines(sidecar: SidecarDecisionPoint, embedded: EmbeddedDecisionPoint) -> None:
    assert sidecar.facts(AGENT) == embedded.facts(AGENT)
    assert sidecar.facts("nobody") == embedded.facts("nobody")


def test_sound_document_is_allowed(sound: dict[str, Any], sidecar: SidecarDecisionPoint) -> None:
    assert answer(sidecar, sound) == ("allow", "configured_with_approval")


def _matters(at: Path_) -> bool:
    return not any(at[: len(free)] == free for free in DO_NOT_MATTER)


def test_without_any_field_that_matters_nothing_is_allowed(
    sound: dict[str, Any], sidecar: SidecarDecisionPoint, embedded: EmbeddedDecisionPoint
) -> None:
    allowed, unlike = set(), []
    for at in paths(sound):
        if at == ("request_id",):
            continue  # without one the gate does not even ask
        damaged_here = [changed(sound, at, None, delete=True)]
        if value_at(sound, at) is not None:
            damaged_here.append(changed(sound, at, None))
        for document in damaged_here:
            real = answer(sidecar, document)
            if answer(embedded, document) != real:
                unlike.append((at, real))
            if real[0] == "allow":
                allowed.add(at)
    assert {".".join(map(str, at)) for at in allowed} == {".".join(map(str, at)) for at in DO_NOT_MATTER}
    assert unlike == []


def test_field_of_another_type_allows_nothing(sound: dict[str, Any], sidecar: SidecarDecisionPoint) -> None:
    for at in paths(sound):
        if at == ("request_id",) or not _matters(at):
            continue
        for value in unlike_types(value_at(sound, at)):
            assert answer(sidecar, changed(sound, at, value))[0] != "allow", (at, value)


def test_damaged_documents_get_the_same_answer_from_both_engines_and_no_allow(
    sound: dict[str, Any], sidecar: SidecarDecisionPoint, embedded: EmbeddedDecisionPoint
) -> None:
    verdicts = set()
    for touched, document in damaged(sound, count=150, seed=20260407):
        real = answer(sidecar, document)
        assert answer(embedded, document) == real, touched
        assert real[0] != "allow" or not any(map(_matters, touched)), touched
        verdicts.add(real[0])
    assert len(verdicts) >= 3


@pytest.mark.parametrize("document", [{}, {"checkpoint": None}, {"operation": "call_tool"}, {"identity": []}])
def test_nearly_empty_document_is_denied_by_both_engines(
    document: dict[str, Any], sidecar: SidecarDecisionPoint, embedded: EmbeddedDecisionPoint
) -> None:
    asked = {"request_id": "r-1", **document}
    real = answer(sidecar, asked)
    assert real == answer(embedded, asked)
    assert real[0] == "deny"
