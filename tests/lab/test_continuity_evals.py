from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from opa_point import OpaPoint

from gate.cli import cli
from gate.compiler import Compiled, assemble
from gate.errors import InputError
from gate.lab import continuity_evals
from gate.lab.continuity_evals import EVALS, Finding, evaluate
from gate.lab.continuity_stage import REASONS
from gate.pdp import DecisionPoint

# The guard that each eval is about: without it, that eval must fail.
GUARD_OF: Mapping[str, tuple[str, ...]] = {
    "negative_constraint": ("gate.constraint",),
    "approval_not_reusable": ("gate.continuity.action",),
    "changed_versions": ("gate.continuity.lineage",),
    "unknown_effect": ("gate.continuity.action",),
    "identity": ("gate.continuity.lineage", "gate.identity", "gate.run"),
    "injected_summary": ("gate.approval",),
    "open_obligation": ("gate.continuity.carried",),
    "linked_trace": ("gate.continuity.lineage",),
}


@pytest.fixture(scope="module")
def bundle(repo: Path) -> Path:
    return repo / "bundles" / "support-triage"


def opened_without(*packages: str):  # type: ignore[no-untyped-def] # a context manager function
    """The decision point of a bundle from whose policies the findings of some guards were taken out."""

    @contextmanager
    def opened(compiled: Compiled) -> Iterator[DecisionPoint]:
        assembly = assemble([compiled])
        modules = {name: _without_findings(text, packages) for name, text in assembly.modules.items()}
        changed = sum(modules[name] != text for name, text in assembly.modules.items())
        assert changed == len(packages)
        point = OpaPoint(modules, revision=assembly.revision)
        yield point
        point.close()

    return opened


def _without_findings(text: str, packages: tuple[str, ...]) -> str:
    package = re.search(r"^package (\S+)$", text, re.MULTILINE)
    if package is None or package[1] not in packages:
        return text
    return re.sub(r"^findings contains ", "_taken_out contains ", text, flags=re.MULTILINE) + "\nfindings := set()\n"


@pytest.fixture(scope="module")
def findings(bundle: Path) -> list[Finding]:
    return evaluate(bundle, opened_without())


def test_every_eval_passes_at_every_boundary_of_the_canonical_bundle(findings: list[Finding]) -> None:
    assert [(f.eval_id, f.boundary, f.witness) for f in findings if not f.passed] == []
    assert [(f.eval_id, f.boundary) for f in findings] == [(e, b) for e in EVALS for b in REASONS]


def test_every_probe_was_decided_with_and_without_the_boundary(findings: list[Finding]) -> None:
    for finding in findings:
        assert [o.probe for o in finding.full] == [o.probe for o in finding.compacted]
        assert finding.full


@pytest.mark.parametrize("eval_id", list(EVALS))
def test_eval_fails_with_a_witness_when_its_guard_is_taken_out(
    bundle: Path, eval_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuity_evals, "EVALS", {eval_id: EVALS[eval_id]})
    monkeypatch.setattr(continuity_evals, "REASONS", ("context_compaction", "process_recovery"))

    found = evaluate(bundle, opened_without(*GUARD_OF[eval_id]))

    assert {(f.eval_id, f.passed) for f in found} == {(eval_id, False)}
    assert all(f.witness for f in found)


@pytest.mark.parametrize("name", ["edge-deployment", "incident-coordination", "knowledge-assistant", "refund-desk"])
def test_every_eval_passes_on_every_other_bundle_across_a_compaction_and_a_crash(
    repo: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuity_evals, "REASONS", ("context_compaction", "process_recovery"))

    found = evaluate(repo / "bundles" / name, opened_without())

    assert [(f.eval_id, f.boundary, f.witness) for f in found if not f.passed] == []
    # One of the bundles permits no boundary at all, and the report says so; identity is asked about all the same.
    permitted = {f.permitted for f in found if f.eval_id == "injected_summary"}
    assert permitted == {name != "edge-deployment"}


def test_bundle_without_a_case_that_wants_an_approval_cannot_be_played_on(repo: Path, tmp_path: Path) -> None:
    copy = tmp_path / "knowledge-assistant"
    shutil.copytree(repo / "bundles" / "knowledge-assistant", copy)
    for case in (copy / "cases").glob("*.yaml"):
        case.write_text(case.read_text("utf-8").replace("approval_missing", "approval_not_live"), "utf-8")

    with pytest.raises(InputError) as caught:
        evaluate(copy, opened_without())

    assert caught.value.code == "eval_bundle_unfit"


def test_command_reports_in_every_form(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuity_evals, "EVALS", {"open_obligation": EVALS["open_obligation"]})
    monkeypatch.setattr(continuity_evals, "REASONS", ("handoff",))
    found = {}
    for form in ("text", "json", "junit", "markdown"):
        command = ["lab", "continuity-evals", str(bundle), "--engine", "embedded", "--output", form]
        result = CliRunner().invoke(cli, command, catch_exceptions=False)
        assert result.exit_code == 0
        found[form] = result.stdout

    assert found["text"].splitlines()[0] == "ok    open_obligation  handoff"
    assert '"passed": 1' in found["json"]
    assert ElementTree.fromstring(found["junit"]).attrib["tests"] == "1"
    assert "| an unresolved obligation stays visible | handoff | passed |" in found["markdown"]
