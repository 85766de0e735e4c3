"""`policy.evidence`: what the compiler makes of it, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiler_support import edited, put

from gate.compiler import compile_bundle
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
