"""`gate check-controls` on real engines: healthy, not healthy, invalid; and what no signal can stand for."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli_support import document, run

from gate.documents import schema, strict_validator
from gate.errors import EXIT_BUNDLE_INVALID, EXIT_DENIED, EXIT_OK, EXIT_USAGE

GIVEN = ("registry_reviewed", "capability_owners_confirmed", "memory_provenance_enforced", "idempotency_keys_present")
SIGNALS = tuple(part for name in GIVEN for part in ("--signal", f"{name}=true"))
HEALTHY = {
    "healthy": True,
    "required_controls": [
        "registry_reviewed",
        "capability_owners_confirmed",
        "memory_provenance_enforced",
        "policy_traces_present",
        "duplicate_ticket_eval_passed",
        "idempotency_keys_present",
        "create_ticket_approval_required",
        "create_ticket_idempotency_key_required",
    ],
    "blocked_findings_expected": ["direct_tool_access_present", "unmanaged_runtime_present"],
    "missing_controls": [],
    "failed_run_controls": [],
    "preserved_failed_run_controls": ["memory_provenance_enforced", "policy_traces_present"],
    "failed_run_controls_healthy": True,
    "support_duplicate_controls": [],
    "preserved_support_duplicate_controls": ["duplicate_ticket_eval_passed", "idempotency_keys_present"],
    "support_duplicate_controls_healthy": True,
    "blocking_findings": [],
    "inventory_drift": {"has_drift": False, "missing_from_catalog": [], "missing_from_inventory": []},
}
ENGINES = ["embedded", pytest.param("opa", marks=pytest.mark.opa)]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of the bundle that is shipped with controls, with few golden cases: those that it names."""
    shipped = Path(__file__).parents[2] / "bundles" / "support-triage"
    copy = Path(shutil.copytree(shipped, tmp_path / "support-triage"))
    named = set(re.findall(r"eval_case_id: (\S+)", (copy / "checkpoints.yaml").read_text(encoding="utf-8")))
    for case in (copy / "cases").glob("*.yaml"):
        if case.stem not in {"_base", *named} and "duplicate_ticket" not in case.stem:
            case.unlink()
    return copy


def assessed(bundle: Path, *args: str, engine: str = "embedded", exit_code: int = EXIT_DENIED) -> dict[str, Any]:
    result = run("check-controls", bundle, "--engine", engine, "--output", "json", *args)
    assert result.exit_code == exit_code, result.stderr
    report = document(result)
    assert list(report) == list(HEALTHY)
    assert strict_validator(schema("check-controls")).is_valid(report)
    assert isinstance(report, dict)
    return report


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text, old
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("engine", ENGINES)
def test_controls_that_hold_are_healthy(
    bundle: Path, engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "opa":
        monkeypatch.setenv("GATE_OPA_BIN", str(request.getfixturevalue("opa_binary")))
    assert assessed(bundle, *SIGNALS, engine=engine, exit_code=EXIT_OK) == HEALTHY


def test_signal_that_is_not_given_counts_as_false(bundle: Path) -> None:
    assert assessed(bundle) == {
        **HEALTHY,
        "healthy": False,
        "missing_controls": list(GIVEN),
        "failed_run_controls": ["memory_provenance_enforced"],
        "preserved_failed_run_controls": ["policy_traces_present"],
        "failed_run_controls_healthy": False,
        "support_duplicate_controls": ["idempotency_keys_present"],
        "preserved_support_duplicate_controls": ["duplicate_ticket_eval_passed"],
        "support_duplicate_controls_healthy": False,
    }


def test_blocking_finding_is_not_healthy(bundle: Path) -> None:
    report = assessed(bundle, *SIGNALS, "--signal", "direct_tool_access_present=on")
    assert report == {**HEALTHY, "healthy": False, "blocking_findings": ["direct_tool_access_present"]}


def test_file_of_signals_is_read_and_single_signals_win(bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "signals.yaml"
    file.write_text("".join(f"{name}: true\n" for name in GIVEN), encoding="utf-8")
    assert assessed(bundle, "--signals", str(file), exit_code=EXIT_OK) == HEALTHY
    report = assessed(bundle, "--signals", str(file), "--signal", "registry_reviewed=no")
    assert report["missing_controls"] == ["registry_reviewed"]


@pytest.mark.parametrize(
    ("edits", "missing"),
    [
        ([("idempotency_key_required: true", "idempotency_key_required: false")], ["idempotency_key_required"]),
        ([("approval: manager", "approval: none")], ["approval_required"]),
    ],
)
def test_signal_cannot_stand_for_a_safeguard_that_was_removed(
    bundle: Path, edits: list[tuple[str, str]], missing: list[str]
) -> None:
    for old, new in edits:
        change(bundle / "capabilities.yaml", old, new)
    claims = [part for name in missing for part in ("--signal", f"create_ticket_{name}=true")]
    report = assessed(bundle, *SIGNALS, *claims)
    assert report["missing_controls"] == [f"create_ticket_{name}" for name in missing]


def test_golden_case_that_fails_is_a_missing_control_whatever_a_signal_says(bundle: Path) -> None:
    change(bundle / "cases" / "ctl_duplicate_ticket_new_key.yaml", "verdict: deny", "verdict: allow")
    result = run(
        "check-controls", bundle, "--engine", "embedded", *SIGNALS, "--signal", "duplicate_ticket_eval_passed=1"
    )
    assert result.exit_code == EXIT_DENIED
    assert "missing_controls                        duplicate_ticket_eval_passed\n" in result.stdout
    assert "`duplicate_ticket_eval_passed` is observed by the gate itself; the signal does not count" in result.stderr


def test_signal_nobody_asked_for_is_remarked_on(bundle: Path) -> None:
    result = run("check-controls", bundle, "--engine", "embedded", *SIGNALS, "--signal", "registry_revewed=1")
    assert result.exit_code == EXIT_OK
    assert "signal `registry_revewed` is not named in controls.yaml" in result.stderr


def test_drift_of_the_inventory_is_reported_in_both_directions(bundle: Path) -> None:
    change(bundle / "agent.yaml", "search_docs, ", "send_mail, ")
    report = assessed(bundle, *SIGNALS)
    assert report["inventory_drift"] == {
        "has_drift": True,
        "missing_from_catalog": ["send_mail"],
        "missing_from_inventory": ["search_docs"],
    }
    assert report["blocking_findings"] == ["inventory_drift_present"]
    assert run("validate", bundle).exit_code == EXIT_BUNDLE_INVALID


def test_bundle_without_controls_is_invalid_here(bundle: Path) -> None:
    (bundle / "controls.yaml").unlink()
    change(bundle / "bundle.yaml", "    - controls.yaml\n", "")
    result = run("check-controls", bundle, *SIGNALS)
    assert result.exit_code == EXIT_BUNDLE_INVALID
    assert "controls_missing: the bundle has no `controls.yaml`" in result.stderr


def test_bundle_that_is_invalid_otherwise_is_not_assessed(bundle: Path) -> None:
    change(bundle / "policy.yaml", "decision: allow", "decision: alow")
    result = run("check-controls", bundle, *SIGNALS)
    assert result.exit_code == EXIT_BUNDLE_INVALID
    assert "Policy decision is not supported: alow" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("registry_reviewed", "Signal must use key=value format: 'registry_reviewed'"),
        ("=true", "Signal key must not be empty: '=true'"),
        ("a=perhaps", "Unsupported boolean value in signal: 'a=perhaps'"),
    ],
)
def test_signal_that_is_none_is_a_mistake_of_usage(bundle: Path, given: str, text: str) -> None:
    result = run("check-controls", bundle, "--signal", given)
    assert (result.exit_code, result.stdout) == (EXIT_USAGE, "")
    assert text in result.stderr


def test_golden_case_that_is_named_and_missing_stops_every_command(bundle: Path) -> None:
    for file in (bundle / "cases").glob("ctl_duplicate_ticket*"):
        file.unlink()
    for command in ("validate", "compile", "test", "check-controls"):
        result = run(command, bundle)
        assert result.exit_code == EXIT_BUNDLE_INVALID, command
        assert "eval_case_unknown: no golden case shows `duplicate_ticket`" in result.stderr, command
