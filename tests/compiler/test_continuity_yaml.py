"""`continuity.yaml`: typed, linked, compiled; it can only add, and each field changes a decision."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compiler_support import DOCUMENTS, edited, put
from opa_point import OpaPoint

from gate.compiler import assemble, compile_bundle
from gate.compiler.link_continuity import link_continuity
from gate.documents import ContinuityPolicy, load_bundle, load_cases
from gate.errors import BundleError
from gate.release import case_document

EVERYTHING: dict[str, Any] = {
    "compare": ["role", "objective", "evidence_refs", "budget_remaining", "pending_obligations"],
    "reconfirm_approval": True,
    "max_age_seconds": 10,
    "max_boundaries": 2,
    "max_steps_after_failed_compaction": 3,
    "forbidden_states": ["obligation_open", "sandbox_not_saved", "budget_exhausted"],
    "required_constraints": ["constraint-17"],
}
ARTIFACTS = "artifacts: [policy.yaml, capabilities.yaml, approvals.yaml, reviewers.yaml"
OPERATIONS = ("model_call", "compact", "reset", "recover", "rehydrate", "handoff", "fork")


def bundle(folder: Path, stated: object, *, operations: tuple[str, ...] = OPERATIONS) -> Path:
    """The sound bundle with `continuity: stated`, and these operations allowed."""
    allowed = "".join(f"    {name}: allow\n" for name in operations)
    documents = edited(
        ("bundle.yaml", ARTIFACTS, f"{ARTIFACTS}, continuity.yaml"),
        ("policy.yaml", "    emit: allow\n", f"    emit: allow\n{allowed}"),
    )
    return put(folder, {**documents, "continuity.yaml": json.dumps({"continuity": stated})})


def problems(folder: Path) -> list[tuple[str, str]]:
    with pytest.raises(BundleError) as caught:
        compile_bundle(folder)
    return [(problem.code, problem.message) for problem in caught.value.problems]


def test_document_is_typed(tmp_path: Path) -> None:
    assert load_bundle(bundle(tmp_path, EVERYTHING)).continuity == ContinuityPolicy(
        compare=("role", "objective", "evidence_refs", "budget_remaining", "pending_obligations"),
        reconfirm_approval=True,
        max_age_seconds=10,
        max_boundaries=2,
        max_steps_after_failed_compaction=3,
        forbidden_states=("obligation_open", "sandbox_not_saved", "budget_exhausted"),
        required_constraints=("constraint-17",),
    )


def test_what_is_left_out_adds_nothing(tmp_path: Path) -> None:
    assert load_bundle(bundle(tmp_path / "a", {"max_boundaries": 1})).continuity == ContinuityPolicy(max_boundaries=1)
    assert load_bundle(put(tmp_path / "b", DOCUMENTS)).continuity is None


def test_every_field_becomes_a_constant_with_its_source(tmp_path: Path) -> None:
    compiled = compile_bundle(bundle(tmp_path, {"max_age_seconds": 10, "compare": ["role"]}))
    text = compiled.rego["continuity.rego"]
    assert 'continuity["max_age_ms"] := 10000\n' in text
    assert '#   source: "continuity.yaml#/continuity/max_age_seconds"\n' in text
    assert '# title: "continuity.max_boundaries is left out and adds nothing"\n' in text
    assert 'continuity["max_boundaries"] := null\n' in text
    assert text.count("# METADATA\n") == 6
    assert "max_steps_after_failed_compaction" not in text
    assert "continuity.yaml#/continuity/compare" in json.loads(compiled.source_map)


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        ({}, "schema_empty"),
        (None, "schema_type"),
        ({"compare": ["tenant"]}, "schema_enum"),
        ({"compare": []}, "schema_empty"),
        ({"compare": ["role", "role"]}, "schema_duplicate"),
        ({"reconfirm_approval": "yes"}, "schema_type"),
        ({"max_age_seconds": 0}, "schema_range"),
        ({"max_age_seconds": 1.5}, "schema_type"),
        ({"max_age_seconds": None}, "schema_type"),
        ({"max_boundaries": 0}, "schema_range"),
        ({"max_steps_after_failed_compaction": 0}, "schema_range"),
        ({"max_steps_after_failed_compaction": "8"}, "schema_type"),
        ({"forbidden_states": ["weekend"]}, "schema_enum"),
        ({"required_constraints": [""]}, "schema_empty"),
        ({"skip": ["tenant_mismatch"]}, "unknown_key"),
        ({"ignore": ["epoch"]}, "unknown_key"),
    ],
)
def test_word_that_is_not_in_the_language_is_refused(tmp_path: Path, stated: object, code: str) -> None:
    found = {problem for problem, _ in problems(bundle(tmp_path, stated))}
    assert len(found) == 1
    assert found == {code}


@pytest.mark.parametrize(
    ("stated", "operations", "message"),
    [
        (
            {"max_boundaries": 2},
            (),
            "`continuity` has no effect, because policy.yaml permits no boundary",
        ),
        (
            {"max_age_seconds": 5},
            ("compact",),
            "`max_age_seconds` has no effect, because policy.yaml does not allow operation `rehydrate`",
        ),
        (
            {"compare": ["role"]},
            ("recover",),
            "`compare` has no effect, because policy.yaml does not allow operation `rehydrate`",
        ),
        (
            {"max_steps_after_failed_compaction": 3},
            ("recover", "rehydrate"),
            "`max_steps_after_failed_compaction` has no effect, because policy.yaml does not allow `compact` and "
            "`model_call`",
        ),
        (
            {"forbidden_states": ["approval_pending"]},
            OPERATIONS,
            "`approval_pending` has no effect, because it forbids every boundary already",
        ),
    ],
)
def test_field_without_effect_is_refused(
    tmp_path: Path, stated: object, operations: tuple[str, ...], message: str
) -> None:
    assert problems(bundle(tmp_path, stated, operations=operations)) == [("continuity_without_effect", message)]


def test_reconfirmation_without_any_contract_is_refused(tmp_path: Path) -> None:
    unapproved = replace(load_bundle(bundle(tmp_path, {"reconfirm_approval": True})), contracts=())
    assert [problem.message for problem in link_continuity(unapproved)] == [
        "`reconfirm_approval` has no effect, because no capability has an approval contract"
    ]


# What a field adds, on a document of the shipped bundle that is sound without it.
ADDED: dict[str, tuple[str, str, dict[str, Any], Any]] = {
    "compare": ("cr_validated", "role_changed", {"agent": {"role": "another"}}, ["role"]),
    "reconfirm_approval": ("cc_approval_of_this_epoch", "approval_epoch_changed", {"approval_epoch": 2}, True),
    "max_age_seconds": ("cr_validated", "boundary_too_old", {}, 1),
    "max_boundaries": ("cb_compact_allowed", "boundary_limit_reached", {}, 1),
    "forbidden_states": ("cb_compact_allowed", "obligation_open", {}, ["obligation_open"]),
    "required_constraints": ("cb_compact_allowed", "required_constraint_missing", {}, ["another"]),
    "max_steps_after_failed_compaction": ("model_call_allowed", "compaction_overdue", {"steps": 3}, 3),
}


@pytest.mark.parametrize("field", sorted(ADDED))
def test_field_adds_its_reason_and_takes_none_away(repo: Path, tmp_path: Path, field: str) -> None:
    case_id, code, change, value = ADDED[field]
    with_it, without = (_codes(repo, tmp_path / name, case_id, change, stated) for name, stated in (
        ("added", {field: value}), ("plain", {"max_boundaries": 10000}),
    ))  # fmt: skip
    assert with_it - without - {"configured_with_approval"} == {code}
    # What a refusal leaves out is that nothing refuses.
    assert without - with_it <= {"continuity_validated"}


def _codes(repo: Path, folder: Path, case_id: str, change: dict[str, Any], stated: object) -> set[str]:
    shipped = repo / "bundles" / "support-triage"
    put(folder, {path.name: path.read_text("utf-8") for path in shipped.glob("*.yaml") if path.name != "releases.yaml"})
    (folder / "continuity.yaml").write_text(json.dumps({"continuity": stated}), encoding="utf-8")
    (folder / "checkpoints.yaml").unlink()
    text = (folder / "bundle.yaml").read_text("utf-8").replace("    - checkpoints.yaml\n", "")
    (folder / "bundle.yaml").write_text(text, encoding="utf-8")
    compiled = compile_bundle(folder)
    assembly = assemble([compiled])
    point = OpaPoint(assembly.modules, revision=assembly.revision)
    facts = point.facts("support-triage-ref")
    known = {"bundle": facts.bundle, "capabilities": facts.capabilities, "contracts": facts.contracts}
    (case,) = [case for case in load_cases(shipped) if case.id == case_id]
    document = case_document(case, known)
    if "approval_epoch" in change:
        document["state"]["approval"]["epoch"] = change["approval_epoch"]
    document["agent"] |= change.get("agent", {})
    if "steps" in change:
        document["state"]["longtask"] = {"phase": "step", "steps_since_failure": change["steps"]}
    return set(point.decide(document).decision.codes)
