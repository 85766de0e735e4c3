"""`policy.evidence`: what the compiler makes of it, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from compiler_support import call, edited, point_of, put

from gate.compiler import compile_bundle
from gate.compiler.link_evidence import contractable
from gate.documents.resources import policies_dir
from gate.errors import BundleError

KEY = "A" * 43 + "="
ANCHOR = "  capabilities:\n"


def folder(tmp_path: Path, text: str) -> Path:
    """The sample bundle with `text` as what its policy says of evidence."""
    block = "".join(f"    {line}\n" for line in text.splitlines())
    return put(tmp_path / "support-triage", edited(("policy.yaml", ANCHOR, f"  evidence:\n{block}{ANCHOR}")))


def problems(tmp_path: Path, text: str) -> list[tuple[str, str]]:
    with pytest.raises(BundleError) as caught:
        compile_bundle(folder(tmp_path, text))
    return [(problem.code, problem.message) for problem in caught.value.problems]


def test_contract_becomes_one_constant_with_every_field(tmp_path: Path) -> None:
    compiled = compile_bundle(folder(tmp_path, "mcp: {max_age_seconds: 60}"))
    assert (
        'evidence_controls["mcp"] := {\n\t"max_age_ms": 60000,\n\t"checked_by": null,\n'
        '\t"signature_keys": null,\n\t"required_for": [],\n}\n'
    ) in compiled.rego["policy.rego"]
    assert "policy.yaml#/policy/evidence/mcp" in compiled.rego["policy.rego"]


def test_contract_that_asks_for_everything(tmp_path: Path) -> None:
    keys = f"signature_keys: {{k-1: {KEY}}}"
    text = f"mcp: {{max_age_seconds: 0, checked_by: [svc-mcp], {keys}, required_for: [search_docs]}}"
    compiled = compile_bundle(folder(tmp_path, text))
    assert (
        'evidence_controls["mcp"] := {\n\t"max_age_ms": 0,\n\t"checked_by": ["svc-mcp"],\n'
        f'\t"signature_keys": {{"k-1": "{KEY}"}},\n\t"required_for": ["search_docs"],\n}}\n'
    ) in compiled.rego["policy.rego"]


@pytest.mark.parametrize("section", ["weather", "arguments", "vote", "reconciliation"])
def test_section_that_nobody_checks_is_refused(tmp_path: Path, section: str) -> None:
    assert problems(tmp_path, f"{section}: {{max_age_seconds: 60}}") == [
        ("evidence_section_unknown", f"`{section}` is not a section of evidence that somebody checks")
    ]


def test_requirement_of_an_unknown_capability_is_refused(tmp_path: Path) -> None:
    assert problems(tmp_path, "mcp: {max_age_seconds: 60, required_for: [search_dox]}") == [
        ("capability_unknown", "`search_dox` is not in the catalog")
    ]


def test_key_with_another_spelling_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, f"mcp: {{max_age_seconds: 60, signature_keys: {{k-1: {'A' * 42}B=}}}}")
    assert found == [("key_malformed", "public key `k-1` is not base64 as an encoder writes it")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("mcp: {}", "missing_key"),
        ("mcp: {max_age_seconds: -1}", "schema_range"),
        ("mcp: {max_age_seconds: 1.5}", "schema_type"),
        ("mcp: {max_age_seconds: null}", "schema_type"),
        ("mcp: {max_age_seconds: 60, checked_by: []}", "schema_empty"),
        ("mcp: {max_age_seconds: 60, signature_keys: {}}", "schema_empty"),
        ("mcp: {max_age_seconds: 60, max_age: 5}", "unknown_key"),
        ("mcp: {max_age_seconds: 60, signature_keys: {k-1: short}}", "schema_pattern"),
    ],
)
def test_contract_without_a_meaning_is_refused(tmp_path: Path, text: str, code: str) -> None:
    assert [found for found, _ in problems(tmp_path, text)] == [code]


CHECKPOINTS = """\
control_checkpoints:
  - checkpoint: tool_execution
    policy_requirement: alert_is_noise
    applies_to: [search_docs]
    predicate: evidence.ownership.alert_state == "noise"
    action: ACTION
    control_version: "1.0"
    eval_case_id: case
    audit_fields: [predicate_result, unknown_operands]
"""
OWNED = {"owner": "mira", "alert_state": "confirmed", "checked_by": "svc-registry", "check_age_ms": 1000}


def decided(tmp_path: Path, action: str, checked_ago_ms: int | None, when: str | None = None) -> dict[str, Any]:
    """The decision on a search of a bundle whose one control reads evidence with a greatest age of ten seconds."""
    edits = [
        ("policy.yaml", ANCHOR, f"  evidence:\n    ownership: {{max_age_seconds: 10}}\n{ANCHOR}"),
        ("bundle.yaml", "reviewers.yaml]", "reviewers.yaml, checkpoints.yaml]"),
    ]
    if when is not None:
        permit = "    search_docs:\n      decision: allow\n"
        edits.append(("policy.yaml", permit, f"{permit}      when: {when}\n"))
    documents = edited(*edits) | {"checkpoints.yaml": CHECKPOINTS.replace("ACTION", action)}
    bundle = compile_bundle(put(tmp_path / "support-triage", documents))
    document = call(bundle, "search_docs")
    at = None if checked_ago_ms is None else document["now_ms"] - checked_ago_ms
    document["evidence"]["ownership"] = {**OWNED, "checked_at_ms": at}
    decision: dict[str, Any] = point_of(bundle).decide(document).decision.as_dict()
    return decision


def test_evidence_that_counts_is_read_as_it_is_stated(tmp_path: Path) -> None:
    decision = decided(tmp_path, "deny", 10_000)
    assert (decision["verdict"], decision["advice"]) == ("allow", [])
    assert decision["audit"]["controls"][0]["predicate_result"] == "false"


@pytest.mark.parametrize(
    ("ago_ms", "code"), [(10_001, "evidence_stale"), (-1, "evidence_future_dated"), (None, "evidence_undated")]
)
def test_evidence_that_does_not_count_makes_a_restricting_control_fire_and_nothing_else(
    tmp_path: Path, ago_ms: int | None, code: str
) -> None:
    decision = decided(tmp_path, "deny", ago_ms)
    assert decision["verdict"] == "deny"
    assert {r["code"] for r in decision["reasons"]} - {"configured_allow"} == {"alert_is_noise"}
    assert [a["code"] for a in decision["advice"]] == [code]
    assert decision["advice"][0]["source"] == "policy.yaml#/policy/evidence/ownership"
    control = decision["audit"]["controls"][0]
    assert (control["predicate_result"], control["unknown_operands"]) == ("unknown", ["evidence.ownership.alert_state"])


def test_evidence_that_does_not_count_only_warns_where_the_control_warns(tmp_path: Path) -> None:
    decision = decided(tmp_path, "warn", 10_001)
    assert decision["verdict"] == "allow"
    assert [a["code"] for a in decision["advice"]] == ["evidence_stale", "alert_is_noise"]


def test_evidence_that_does_not_count_permits_nothing(tmp_path: Path) -> None:
    when = 'evidence.ownership.owner == "mira"'
    assert decided(tmp_path / "young", "warn", 10_000, when)["verdict"] == "allow"
    stale = decided(tmp_path / "stale", "warn", 10_001, when)
    assert (stale["verdict"], [r["code"] for r in stale["reasons"]]) == ("deny", ["no_rule_permits"])


def test_sections_that_guards_read_as_stated_are_those_whose_doubt_refuses() -> None:
    read: set[str] = set()
    for path in policies_dir().rglob("*.rego"):
        if not path.name.endswith("_test.rego"):
            read |= set(re.findall(r"input\.evidence\.([a-z_]+)", path.read_text("utf-8")))
    text = (policies_dir() / "gate/evidence/evidence.rego").read_text("utf-8")
    named = set(re.findall(r'"([a-z_]+)"', text.split("_of_guards := {")[1].split("}")[0]))
    assert named == read & contractable()
