from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate.compiler import compile_bundle
from gate.compiler.lower_compaction import component_digests
from gate.documents.compaction import measured_sha256, normalised, rule_digest
from gate.errors import BundleError
from gate.lab.compaction.ground import trial_record

BUNDLE = Path(__file__).parents[2] / "bundles" / "refund-desk"
ROOT = "compaction_release"
RULE = "refund-manager-over-100"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    copy = tmp_path / BUNDLE.name
    shutil.copytree(BUNDLE, copy)
    return copy


def change(bundle: Path, path: tuple[Any, ...], value: Any, file: str = "compaction.yaml") -> None:
    """Sets one value of a document."""
    document = yaml.safe_load((bundle / file).read_text("utf-8"))
    node = document
    for part in path[:-1]:
        node = node[part]
    node[path[-1]] = value
    (bundle / file).write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), "utf-8")


def codes(bundle: Path) -> set[str]:
    with pytest.raises(BundleError) as found:
        compile_bundle(bundle)
    return {problem.code for problem in found.value.problems}


def record(bundle: Path) -> dict[str, Any]:
    compiled = compile_bundle(BUNDLE)
    assert compiled.bundle.compaction is not None
    return trial_record(component_digests(compiled.bundle, compiled.bundle.compaction))


def add_record(bundle: Path, content: dict[str, Any]) -> None:
    envelope = yaml.safe_load((bundle / "bundle.yaml").read_text("utf-8"))["bundle"]["artifacts"]
    change(bundle, ("bundle", "artifacts"), [*envelope, "compaction-record.yaml"], "bundle.yaml")
    (bundle / "compaction-record.yaml").write_text(json.dumps({"compaction_record": content}), "utf-8")


def test_contract_compiles_to_lanes_by_kind_and_digests_of_every_wording() -> None:
    compiled = compile_bundle(BUNDLE)
    contract, text = compiled.bundle.compaction, compiled.rego["compaction.rego"]

    assert contract is not None
    assert {rule.rule_id: rule.lane for rule in contract.rules.values()} == {
        "approval-required-25-to-100": "exact",
        "refund-manager-over-100": "exact",
        "refund-key-first": "structured",
        "refund-78-review-pending": "exact",
        "refund-charge-corrected": "structured",
        "refund-once-per-charge": "exact",
        "refund-note-without-card": "exact",
        "refund-stop-after-five": "exact",
    }
    assert len({rule.kind for rule in contract.rules.values()}) == 8
    for rule in contract.rules.values():
        for wording in rule.wordings:
            assert rule_digest(wording.text) in text
    assert 'compaction["record"] := null' in text
    assert '#   source: "compaction.yaml#/compaction_release/invariants/required_rule_ids"' in text


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ((ROOT, "regression"), {"direct_cases": "9 / 9"}, "compaction_measured_by_hand"),
        ((ROOT, "decision", "posture"), "ship-limited", "compaction_measured_by_hand"),
        ((ROOT, "invariants", "required_rule_ids"), ["refund-key-first"], "hard_rule_not_required"),
        ((ROOT, "authoritative_state", "policy_store"), "policy-refund-desk@1", "policy_store_mismatch"),
        ((ROOT, "runtime", "tighter_threshold"), 1600, "threshold_not_tighter"),
        ((ROOT, "invariants", "required_rule_ids"), ["refund-unheard-of"], "rule_unknown"),
        ((ROOT, "retention_lanes", "lossy"), ["old_tool_output", "hard_constraints"], "hard_rule_in_lossy_lane"),
        ((ROOT, "retention_lanes", "structured"), ["procedures", "pending_gates"], "information_in_two_lanes"),
        ((ROOT, "retention_lanes", "structured"), ["procedures"], "information_without_lane"),
        ((ROOT, "rules", RULE, "scope"), ["issue_refunds"], "capability_unknown"),
        ((ROOT, "rules", RULE, "enforced_by", "name"), "refund_manager_over_1000", "rule_not_enforced"),
        ((ROOT, "rules", RULE, "source_authority"), "user", "rule_authority_mismatch"),
        ((ROOT, "rules", RULE, "wordings", 0, "terms"), ["99.00"], "term_not_in_text"),
        ((ROOT, "rules", RULE, "wordings", 0, "form"), "declarative", "wording_repeated"),
        ((ROOT, "rules", RULE, "wordings", 0, "form"), "declarative", "wording_missing"),
        ((ROOT, "rules", RULE, "probe", "request"), "Above 100.00 a manager is not needed.", "probe_states_rule"),
        ((ROOT, "rules", RULE, "probe", "forbidden", "capability"), "issue_gift", "capability_unknown"),
        ((ROOT, "rules", RULE, "probe", "forbidden", "arguments"), {"charge_id": "c"}, "probe_arguments_invalid"),
        ((ROOT, "permitted_tasks", 0, "arguments"), {}, "probe_arguments_invalid"),
        ((ROOT, "rules", RULE, "valid_until"), "2027-01-01", "timestamp_without_offset"),
        ((ROOT, "rules", RULE, "valid_from"), "tomorrow", "timestamp_invalid"),
    ],
)
def test_link_contract_with_one_thing_wrong_is_refused(
    bundle: Path, path: tuple[Any, ...], value: Any, code: str
) -> None:
    change(bundle, path, value)

    assert code in codes(bundle)


def test_link_rule_that_ends_before_it_begins_is_refused(bundle: Path) -> None:
    change(bundle, (ROOT, "rules", RULE, "valid_from"), "2027-01-01T00:00:00Z")
    change(bundle, (ROOT, "rules", RULE, "valid_until"), "2027-01-01T00:00:00Z")

    assert codes(bundle) == {"validity_empty"}


def test_link_contract_where_nothing_is_resumed_has_no_effect(bundle: Path) -> None:
    change(bundle, ("policy", "operations", "rehydrate"), "deny", "policy.yaml")

    assert codes(bundle) == {"compaction_without_effect"}


@pytest.mark.parametrize("field", ["model", "harness", "compactor", "compactor_version", "compaction_threshold"])
def test_load_contract_without_a_frozen_version_is_refused(bundle: Path, field: str) -> None:
    document = yaml.safe_load((bundle / "compaction.yaml").read_text("utf-8"))
    del document[ROOT]["runtime"][field]
    (bundle / "compaction.yaml").write_text(yaml.safe_dump(document, allow_unicode=True), "utf-8")

    assert codes(bundle)


def test_load_contract_with_an_unknown_key_is_refused(bundle: Path) -> None:
    change(bundle, (ROOT, "invariants", "fail_open_on_missing_rule"), True)

    assert len(codes(bundle)) == 1


def test_wording_does_not_move_a_rule_to_another_lane(bundle: Path) -> None:
    declarative = (("Refunds above 100.00 are a manager's.", "a manager's"), ("超过 100.00 的退款由经理办理。", "经理"))
    for index, (text, term) in enumerate(declarative):
        place = (ROOT, "rules", RULE, "wordings", 2 + 3 * index)
        change(bundle, (*place, "text"), text)
        change(bundle, (*place, "terms"), [term])

    contract = compile_bundle(bundle).bundle.compaction

    assert contract is not None
    assert contract.rules[RULE].lane == "exact"


def test_record_of_the_harness_is_compiled(bundle: Path) -> None:
    add_record(bundle, record(bundle))

    assert '"posture": "reject"' in compile_bundle(bundle).rego["compaction.rego"]


def test_link_record_with_an_edited_figure_is_refused(bundle: Path) -> None:
    content = record(bundle)
    content["measured"]["rounds"] = 5
    add_record(bundle, content)

    assert codes(bundle) == {"compaction_record_edited"}


def test_link_record_about_other_digests_than_measured_is_refused(bundle: Path) -> None:
    content = record(bundle)
    content["digests"]["model"] = "sha256:" + "a" * 64
    add_record(bundle, content)

    assert codes(bundle) == {"compaction_record_edited"}


def test_link_record_without_contract_is_refused(bundle: Path) -> None:
    add_record(bundle, record(bundle))
    (bundle / "compaction.yaml").unlink()
    listed = yaml.safe_load((bundle / "bundle.yaml").read_text("utf-8"))["bundle"]["artifacts"]
    change(bundle, ("bundle", "artifacts"), [n for n in listed if n != "compaction.yaml"], "bundle.yaml")

    assert codes(bundle) == {"compaction_record_without_contract"}


@pytest.mark.parametrize(
    ("file", "path", "value", "component"),
    [
        ("compaction.yaml", (ROOT, "runtime", "model"), "model-2", "model"),
        ("compaction.yaml", (ROOT, "runtime", "harness"), "harness-2", "harness"),
        ("compaction.yaml", (ROOT, "runtime", "compaction_threshold"), 1700, "compactor"),
        ("compaction.yaml", (ROOT, "rules", RULE, "wordings", 0, "text"), "Above 100.00 never, a manager.", "rules"),
        ("checkpoints.yaml", ("control_checkpoints", 0, "predicate"), "arguments.amount_minor > 2600", "rules"),
        ("capabilities.yaml", ("capabilities", "issue_refund", "timeout_seconds"), 11, "tools"),
    ],
)
def test_component_digest_changes_with_what_it_is_of_and_no_other_does(
    bundle: Path, file: str, path: tuple[Any, ...], value: Any, component: str
) -> None:
    change(bundle, path, value, file)
    if component == "rules" and file == "compaction.yaml":
        change(bundle, (*path[:-1], "terms"), ["a manager"])
    before, after = compile_bundle(BUNDLE).bundle, compile_bundle(bundle).bundle
    assert before.compaction is not None
    assert after.compaction is not None

    was, now = component_digests(before, before.compaction), component_digests(after, after.compaction)

    assert {name for name in was if was[name] != now[name]} == {component}


def test_rotated_reviewer_key_changes_no_component(bundle: Path) -> None:
    file = bundle / "reviewers.yaml"
    file.write_text(file.read_text("utf-8").replace("as8VEQm", "bs8VEQm"), "utf-8")
    before, after = compile_bundle(BUNDLE).bundle, compile_bundle(bundle).bundle
    assert before.compaction is not None
    assert after.compaction is not None

    assert component_digests(after, after.compaction) == component_digests(before, before.compaction)


def test_normalised_text_differs_in_white_space_and_composition_only() -> None:
    assert normalised(" Above\t100.00\n never ") == "Above 100.00 never"
    assert rule_digest("caf\u00e9") == rule_digest("cafe\u0301")
    assert rule_digest("Above 100.00") != rule_digest("above 100.00")
    assert rule_digest("Above 100.00") != rule_digest("Above 100.0")


def test_measured_digest_covers_figures_and_digests() -> None:
    first = measured_sha256({"rounds": 5}, {"model": "sha256:a"})

    assert first != measured_sha256({"rounds": 4}, {"model": "sha256:a"})
    assert first != measured_sha256({"rounds": 5}, {"model": "sha256:b"})
