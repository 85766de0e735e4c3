"""Limits and run budgets from YAML to Rego: what is refused, and what a sound one compiles to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate.compiler import compile_bundle
from gate.documents.limits import Limit
from gate.errors import BundleError

LIMIT = """\
    - limit_id: {limit_id}
      applies_to: [{applies_to}]
      amount: {amount}
      per: {per}
      window: {window}
      max: {max}
"""
SOUND = {
    "limit_id": "extra",
    "applies_to": "issue_refund",
    "amount": "/amount_minor",
    "per": "tenant",
    "window": "day",
    "max": "100",
}


def desk(repo: Path, folder: Path, *, capabilities: tuple[str, str] = ("", ""), **changes: str) -> Path:
    """The refund desk with one limit more, changed as said, and the catalog with one text for another."""
    copy = folder / "refund-desk"
    shutil.copytree(repo / "bundles" / "refund-desk", copy)
    for file, old, new in (
        ("policy.yaml", "  run_budget:", LIMIT.format(**{**SOUND, **changes}) + "  run_budget:"),
        ("capabilities.yaml", *capabilities),
    ):
        text = (copy / file).read_text("utf-8")
        (copy / file).write_text(text.replace(old, new) if old else text, "utf-8")
    return copy


def problems(bundle: Path) -> list[tuple[str, str]]:
    with pytest.raises(BundleError) as raised:
        compile_bundle(bundle)
    return [(Path(p.file).name, p.code) for p in raised.value.problems]


def test_sound_limit_is_read_and_compiles_to_a_rule_and_a_counter_to_read(repo: Path, tmp_path: Path) -> None:
    compiled = compile_bundle(desk(repo, tmp_path))
    assert compiled.bundle.policy.run_budget == 5
    assert compiled.bundle.policy.limits[2] == Limit(
        limit_id="extra", applies_to=("issue_refund",), amount="/amount_minor", per="tenant", window="day", max=100
    )
    assert (
        '# title: "extra on issue_refund"\n# custom:\n#   source: "policy.yaml#/policy/limits/2"\n'
        'limits contains {"limit_id": "extra", "per": "tenant", "window": "day", "max": 100, '
        '"subject": _limit_2_subject, "amount": _limit_2_amount} if input.request.capability == "issue_refund"'
    ) in compiled.rego["limits.rego"]
    assert '"limit_id": "extra", "max": 100' not in compiled.rego["catalog.rego"]
    assert '{"limit_id": "extra", "per": "tenant", "window": "day", "max": 100}' in compiled.rego["catalog.rego"]


def test_bundle_without_limits_compiles_without_a_trace_of_them(repo: Path) -> None:
    compiled = compile_bundle(repo / "bundles" / "support-triage")
    assert "limits.rego" not in compiled.rego
    assert "counted_by" not in compiled.rego["catalog.rego"]


def test_run_budget_binds_everything_that_claims_and_nothing_that_only_reads(repo: Path, tmp_path: Path) -> None:
    text = compile_bundle(desk(repo, tmp_path)).rego["limits.rego"]
    titles = [line for line in text.splitlines() if "run_budget on" in line]
    assert titles == ['# title: "run_budget on issue_refund"', '# title: "run_budget on issue_manager_refund"']


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"limit_id": "one_refund_per_charge"}, "limit_repeated"),
        ({"limit_id": "run_budget"}, "limit_repeated"),
        ({"applies_to": "wire_money"}, "capability_unknown"),
        ({"applies_to": "lookup_charge", "amount": "1"}, "limit_counts_nothing"),
        ({"amount": "/amount"}, "limit_argument_unfit"),
        ({"amount": "/currency"}, "limit_argument_unfit"),
        ({"per": "/amount_minor"}, "limit_argument_unfit"),
        ({"per": "/note"}, "limit_argument_unfit"),
        ({"per": "/charge_id/x"}, "limit_argument_unfit"),
    ],
    ids=lambda value: "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_limit_that_could_not_be_counted_is_an_error_at_the_limit(
    repo: Path, tmp_path: Path, changes: dict[str, str], code: str
) -> None:
    assert problems(desk(repo, tmp_path, **changes)) == [("policy.yaml", code)]


@pytest.mark.parametrize("minimum", ["minimum: 0", "minimum: -1", "minimum: -100"])
def test_amount_that_may_be_zero_or_less_is_an_error(repo: Path, tmp_path: Path, minimum: str) -> None:
    found = problems(desk(repo, tmp_path, capabilities=("minimum: 1, maximum", f"{minimum}, maximum")))
    assert set(found) == {("policy.yaml", "limit_amount_not_positive")}


@pytest.mark.parametrize(
    "changes",
    [
        {"max": "0"},
        {"max": "-1"},
        {"max": "1.5"},
        {"max": '"100"'},
        {"max": "9007199254740992"},
        {"window": "week"},
        {"per": "world"},
        {"amount": "2"},
        {"amount": "amount_minor"},
        {"applies_to": ""},
        {"limit_id": '""'},
    ],
    ids=lambda value: "-".join(f"{k}={v}" for k, v in value.items()),
)
def test_limit_outside_its_schema_is_an_error_in_policy_yaml(
    repo: Path, tmp_path: Path, changes: dict[str, str]
) -> None:
    assert {file for file, _ in problems(desk(repo, tmp_path, **changes))} == {"policy.yaml"}
