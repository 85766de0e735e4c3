from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from gate.cli import cli
from gate.documents import schema

KEYS = [
    "schema_version",
    "envelope_id",
    "session_id",
    "trace_id",
    "summary_sha256",
    "side_effect_status",
    "status",
    "authorized",
    "requires_reauthorization",
    "reason",
    "event_types",
    "events",
]
VALIDATED = ["context_compaction", "context_rehydration"]
STOPPED = ["context_compaction", "continuity_validation_failed"]


def inspect(*options: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(cli, ["inspect-continuity", "--engine", "embedded", *options], catch_exceptions=False)
    return result.exit_code, json.loads(result.stdout)


def test_inspect_continuity_by_default_validates_and_authorizes_nothing() -> None:
    code, report = inspect()

    assert code == 0
    assert list(report) == KEYS
    assert {key: report[key] for key in KEYS[:-1]} == {
        "schema_version": "continuity-envelope/v1",
        "envelope_id": "ce-demo-001",
        "session_id": "session-continuity-001",
        "trace_id": "trace-continuity-001",
        "summary_sha256": "sha256:8613fe15d0a3abc5fad2b09844ed9444ec1ec2863659fefab3d3ad2e890960c9",
        "side_effect_status": "not_started",
        "status": "reauthorization_required",
        "authorized": False,
        "requires_reauthorization": True,
        "reason": "continuity_validated",
        "event_types": VALIDATED,
    }
    assert report["events"][-1]["payload"]["authorized"] == "false"
    checked = Draft202012Validator(schema("trace-event"))
    assert all(checked.is_valid(event) for event in report["events"])


@pytest.mark.parametrize(
    ("options", "status", "reason"),
    [
        (["--tamper-summary"], "continuity_validation_failed", "summary_digest_mismatch"),
        (["--current-policy-version", "policy-v5"], "continuity_validation_failed", "policy_version_changed"),
        (["--approval-status", "revoked"], "continuity_validation_failed", "approval_revoked"),
        (["--approval-status", "pending"], "continuity_validation_failed", "approval_not_active"),
        (["--approval-status", "rejected"], "continuity_validation_failed", "approval_not_active"),
        (["--approval-status", "expired"], "continuity_validation_failed", "approval_not_active"),
        (["--side-effect-status", "side_effect_unknown"], "blocked_on_reconciliation", "unknown_side_effect"),
        (["--side-effect-status", "partial_side_effect"], "blocked_on_reconciliation", "partial_side_effect"),
    ],
)
def test_inspect_continuity_stops_with_its_reason_and_exits_3(options: list[str], status: str, reason: str) -> None:
    code, report = inspect(*options)

    assert (code, report["status"], report["reason"], report["authorized"]) == (3, status, reason, False)
    assert report["event_types"] == STOPPED


@pytest.mark.parametrize(
    ("word", "canonical"),
    [
        ("not_executed", "not_started"),
        ("not_started", "not_started"),
        ("applied", "side_effect_committed"),
        ("side_effect_committed", "side_effect_committed"),
    ],
)
def test_inspect_continuity_prints_the_canonical_status(word: str, canonical: str) -> None:
    code, report = inspect("--side-effect-status", word)

    assert (code, report["side_effect_status"], report["reason"]) == (0, canonical, "continuity_validated")


def test_inspect_continuity_tampered_with_an_unknown_effect_still_asks_for_reconciliation() -> None:
    _, report = inspect("--tamper-summary", "--side-effect-status", "side_effect_unknown")

    assert report["status"] == "continuity_validation_failed"
    assert {"summary_digest_mismatch", "unknown_side_effect"} <= set(report["events"][-1]["payload"]["reasons"])


def test_inspect_continuity_exit_zero_reports_the_failure_all_the_same() -> None:
    code, report = inspect("--tamper-summary", "--exit-zero")

    assert (code, report["status"]) == (0, "continuity_validation_failed")


def test_inspect_continuity_in_text_names_status_and_events() -> None:
    result = CliRunner().invoke(cli, ["inspect-continuity", "--engine", "embedded", "--output", "text"])

    assert result.exit_code == 0
    assert "reauthorization_required" in result.stdout
    assert "context_compaction, context_rehydration" in result.stdout


@pytest.mark.parametrize("name", ["summary", "trace-id", "session-id", "policy-version", "current-policy-version"])
def test_inspect_continuity_refuses_a_blank_option(name: str) -> None:
    result = CliRunner().invoke(cli, ["inspect-continuity", f"--{name}", "  "])

    assert result.exit_code == 2
    assert f"CLI field is required: {name.replace('-', '_')}" in result.stderr


def test_inspect_continuity_refuses_a_version_no_bundle_can_have() -> None:
    result = CliRunner().invoke(cli, ["inspect-continuity", "--engine", "embedded", "--policy-version", "v 4!"])

    assert result.exit_code == 5
