from __future__ import annotations

import copy
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate.compiler import compile_bundle
from gate.compiler.lower_trajectory import split_amount
from gate.errors import BundleError

BUNDLE = Path(__file__).parents[2] / "bundles" / "edge-deployment"
BINDING = ("trajectory", "rules", 0)
PREDECESSOR = ("trajectory", "rules", 1)
LIMIT = ("trajectory", "rules", 2)
APPROVAL = ("trajectory", "rules", 3)
PLANS = ("compound_authorization", "plans", 0)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    copy = tmp_path / BUNDLE.name
    shutil.copytree(BUNDLE, copy)
    return copy


def change(bundle: Path, file: str, path: tuple[Any, ...], value: Any) -> None:
    """Sets one value of a document; None takes the key away."""
    document = yaml.safe_load((bundle / file).read_text("utf-8"))
    node = document
    for part in path[:-1]:
        node = node[part]
    if value is None:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    (bundle / file).write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")


def problems(bundle: Path) -> list[tuple[str, str]]:
    with pytest.raises(BundleError) as found:
        compile_bundle(bundle)
    return [(Path(p.file).name, f"{p.code}: {p.message}") for p in found.value.problems]


def test_compiled_rules_are_one_constant_each_in_the_order_of_the_yaml() -> None:
    text = compile_bundle(BUNDLE).rego["trajectory.rego"]

    names = ["release.bound", "smoke.first", "traffic.limit", "roll_out.approved"]
    assert [text.index(f'trajectory_rules["{name}"] :=') for name in names] == sorted(
        text.index(f'trajectory_rules["{name}"] :=') for name in names
    )
    assert '"limit": {"units": 25, "micros": 300000}' in text
    assert '#   source: "trajectory.yaml#/trajectory/rules/2"' in text


@pytest.mark.parametrize(
    ("amount", "parts"),
    [
        ("0.000001", {"units": 0, "micros": 1}),
        ("25.3", {"units": 25, "micros": 300_000}),
        ("999999999999.999999", {"units": 999_999_999_999, "micros": 999_999}),
        ("7", {"units": 7, "micros": 0}),
    ],
)
def test_amount_is_split_exactly(amount: str, parts: dict[str, int]) -> None:
    assert split_amount(Decimal(amount)) == parts


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ((*BINDING, "rule_id"), "smoke.first", "trajectory_rule_twice: Trajectory rule IDs must be unique"),
        ((*BINDING, "fingerprint_name"), None, "missing_key: Trajectory field is required: fingerprint_name"),
        ((*LIMIT, "counter_name"), None, "missing_key: Trajectory field is required: counter_name"),
        ((*LIMIT, "limit"), None, "missing_key: Trajectory field is required: limit"),
        ((*LIMIT, "limit"), "0.0", "schema_range: Trajectory counter limit must be positive: limit"),
        ((*PREDECESSOR, "predecessor"), None, "missing_key: Trajectory field is required: predecessor"),
        ((*APPROVAL, "approval_scope"), None, "missing_key: Trajectory field is required: approval_scope"),
        (("trajectory", "rules"), [], "schema_empty: Trajectory policy must contain at least one rule"),
        (("trajectory", "rules"), {}, "schema_type: Trajectory rules must be a tuple"),
        (BINDING, "x", "schema_type: Trajectory rules entries must be trajectory rule objects"),
        ((*BINDING, "rule_id"), 7, "schema_type: Trajectory field must be a string: rule_id"),
        ((*BINDING, "rule_id"), "", "schema_empty: Trajectory field is required: rule_id"),
        ((*BINDING, "rule_id"), None, "missing_key: Trajectory field is required: rule_id"),
        ((*BINDING, "rule_id"), "Bound", "schema_pattern: Trajectory identifier is invalid: rule_id"),
        ((*BINDING, "kind"), "else", "schema_enum: Trajectory field is not supported: kind=else"),
        ((*BINDING, "limit"), "3", "unknown_key: Trajectory field is not supported: limit=3"),
    ],
)
def test_rule_that_its_kind_does_not_allow_is_told_in_the_known_words(
    bundle: Path, path: tuple[Any, ...], value: Any, problem: str
) -> None:
    change(bundle, "trajectory.yaml", path, value)

    assert problems(bundle) == [("trajectory.yaml", problem)]


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("trajectory", "rules"), [], "schema_empty"),
        ((*LIMIT, "limit"), 25.3, "schema_type"),
        ((*LIMIT, "limit"), "1.0000001", "schema_pattern"),
        ((*LIMIT, "limit"), "-1", "schema_pattern"),
        ((*LIMIT, "limit"), "1,5", "schema_pattern"),
        ((*LIMIT, "limit"), "1000000000000", "schema_pattern"),
        ((*BINDING, "kind"), "value binding", "schema_enum"),
        ((*BINDING, "rule_id"), "Release Bound", "schema_pattern"),
        ((*BINDING, "surprise"), "x", "unknown_key"),
        (("trajectory", "policy_id"), "Edge", "schema_pattern"),
        (("trajectory", "observe"), {}, "schema_empty"),
    ],
)
def test_document_out_of_form_is_refused_where_it_is(
    bundle: Path, path: tuple[Any, ...], value: Any, code: str
) -> None:
    change(bundle, "trajectory.yaml", path, value)

    assert [(file, text.partition(":")[0]) for file, text in problems(bundle)] == [("trajectory.yaml", code)]


@pytest.mark.parametrize(
    ("file", "path", "value", "code"),
    [
        ("trajectory.yaml", ("trajectory", "observe", "nobody"), {}, "capability_unknown"),
        (
            "trajectory.yaml",
            ("trajectory", "observe", "shift_traffic", "counters", "traffic"),
            "/nothing",
            "argument_undeclared",
        ),
        (
            "trajectory.yaml",
            ("trajectory", "observe", "register_release", "fingerprints", "release"),
            "/nothing",
            "argument_undeclared",
        ),
        ("trajectory.yaml", (*BINDING, "applies_to"), ["update_worker"], "trajectory_action_unobserved"),
        ("trajectory.yaml", (*LIMIT, "applies_to"), ["roll_out"], "trajectory_value_unobserved"),
        ("trajectory.yaml", (*PREDECESSOR, "predecessor"), "update_worker", "trajectory_action_unobserved"),
        ("trajectory.yaml", (*APPROVAL, "approval_scope"), "other", "trajectory_scope_unknown"),
        ("trajectory.yaml", (*APPROVAL, "applies_to"), ["shift_traffic"], "trajectory_scope_unknown"),
        ("compound.yaml", (*PLANS, "capability"), "nobody", "capability_unknown"),
        ("compound.yaml", (*PLANS, "capability"), "roll_out", "plan_arguments_wrong"),
        ("compound.yaml", (*PLANS, "steps"), ["nobody"], "capability_unknown"),
        ("compound.yaml", (*PLANS, "steps"), ["run_change_plan"], "plan_capability_twice"),
    ],
)
def test_document_that_disagrees_with_the_bundle_is_refused(
    bundle: Path, file: str, path: tuple[Any, ...], value: Any, code: str
) -> None:
    change(bundle, file, path, value)

    assert (file, code) in [(name, text.partition(":")[0]) for name, text in problems(bundle)]


def test_task_stated_twice_is_refused(bundle: Path) -> None:
    document = yaml.safe_load((bundle / "compound.yaml").read_text("utf-8"))
    tasks = document["compound_authorization"]["tasks"]
    tasks.append(copy.deepcopy(tasks[0]))
    (bundle / "compound.yaml").write_text(yaml.safe_dump(document), "utf-8")

    assert problems(bundle) == [("compound.yaml", "task_twice: task `approved-route-change` is stated twice")]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("runtime_controls", "verifiers", "verifier_contracts", "rollout-health-verifier", "key_id"), "other"),
        (("runtime_controls", "verifiers", "trusted_verifier_contracts"), ["rollout-health-verifier", "more"]),
    ],
)
def test_verifier_contract_without_effect_is_refused(bundle: Path, path: tuple[Any, ...], value: Any) -> None:
    change(bundle, "runtime-controls.yaml", path, value)

    assert [text.partition(":")[0] for _, text in problems(bundle)] == ["runtime_control_without_effect"]
