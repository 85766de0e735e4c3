"""`runtime-controls.yaml`: typed when sound, and closed: a field nobody reads or a word of no set is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gate.documents import (
    AuthorizationControls,
    McpControls,
    OrchestrationControls,
    RoutingControls,
    RuntimeControls,
    SandboxControls,
    SessionControls,
    VerifierControls,
    load_bundle,
    schema,
)
from gate.errors import BundleError

BOX = {"contract_id": "box-v1", "network": "denied", "secrets": "none", "shell": "restricted"}
EVERYTHING: dict[str, dict[str, Any]] = {
    "sessions": {
        "capability_session_mode": "stateful",
        "resume_policy": "reauthorize_then_resume",
        "on_session_expiry": "reinitialize",
        "reinit_requires_approval": False,
        "progress_event_policy": "from_live_session",
        "elicitation_policy": "non_sensitive_only",
    },
    "mcp": {
        "mcp_evidence_required": True,
        "mcp_discovery_source": "approved_registry",
        "mcp_server_owner": "bundle_owner",
        "mcp_auth_mode": "oauth",
        "shadow_mcp_handling": "require_approval",
        "catalog_evidence_required": True,
        "catalog_max_ttl_seconds": 30,
        "catalog_sharing": "public_within_tenant",
    },
    "routing": {
        "approval_mode": "human_or_delegate",
        "approval_delegate": "manager",
        "classifier_verdict_policy": "refuse_on_deny",
        "escalate_to_human_if": [],
        "subagent_handoff_policy": "explicit_binding",
    },
    "authorization": {
        "authorization_mode": "user_delegated",
        "delegated_principal_policy": "verified_identity_sufficient",
        "token_reuse_policy": "reuse_within_session",
        "on_authorization_revoke": "reauthorize",
    },
    "orchestration": {
        "allowed_orchestration_patterns": ["routing", "parallelization"],
        "disallowed_orchestration_patterns": {"create_ticket": ["parallelization"]},
        "worker_inheritance_policy": "same_run",
        "worker_capability_subset": ["search_docs"],
        "review_required_before_worker_write": True,
    },
    "verifiers": {
        "trusted_verifier_contracts": ["verifier-v2"],
        "verifier_contract_required_for_high_risk": False,
        "on_untrusted_verifier_contract": "require_approval",
        "verifier_contracts": {
            "verifier-v2": {"version": "2", "contract_digest": "sha256:" + "1" * 64, "key_id": "verifier-2026"}
        },
    },
    "sandbox": {"sandbox_profile_contract": BOX, "sandbox_profile_review_required": False},
}


def stated(folder: Path, controls: Any) -> Path:
    """The bundle in `folder` with `controls` as its runtime controls."""
    bundle = folder / "bundle.yaml"
    bundle.write_text(
        bundle.read_text("utf-8").replace(
            "    - reviewers.yaml\n", "    - reviewers.yaml\n    - runtime-controls.yaml\n"
        ),
        "utf-8",
    )
    (folder / "runtime-controls.yaml").write_text(json.dumps({"runtime_controls": controls}), "utf-8")
    return folder


def codes(folder: Path) -> list[str]:
    with pytest.raises(BundleError) as caught:
        load_bundle(folder)
    assert {Path(p.file).name for p in caught.value.problems} == {"runtime-controls.yaml"}
    return [p.code for p in caught.value.problems]


def test_every_field_is_read_into_its_group(bundle_folder: Path) -> None:
    orchestration = EVERYTHING["orchestration"]
    assert load_bundle(stated(bundle_folder, EVERYTHING)).runtime_controls == RuntimeControls(
        sessions=SessionControls(**EVERYTHING["sessions"]),
        mcp=McpControls(**EVERYTHING["mcp"]),
        routing=RoutingControls(**{**EVERYTHING["routing"], "escalate_to_human_if": ()}),
        authorization=AuthorizationControls(**EVERYTHING["authorization"]),
        orchestration=OrchestrationControls(
            allowed_orchestration_patterns=("routing", "parallelization"),
            disallowed_orchestration_patterns={"create_ticket": ("parallelization",)},
            worker_inheritance_policy=orchestration["worker_inheritance_policy"],
            worker_capability_subset=("search_docs",),
            review_required_before_worker_write=True,
        ),
        verifiers=VerifierControls(**{**EVERYTHING["verifiers"], "trusted_verifier_contracts": ("verifier-v2",)}),
        sandbox=SandboxControls(**EVERYTHING["sandbox"]),
    )


def test_every_field_of_the_schema_stands_in_the_sample() -> None:
    groups = schema("runtime-controls")["properties"]["runtime_controls"]["properties"]
    assert {name: set(group["properties"]) for name, group in groups.items()} == {
        name: set(group) for name, group in EVERYTHING.items()
    }


def test_bundle_without_the_document_has_no_controls(bundle_folder: Path) -> None:
    assert load_bundle(bundle_folder).runtime_controls is None


def test_group_and_field_left_out_are_none(bundle_folder: Path) -> None:
    controls = load_bundle(stated(bundle_folder, {"sessions": {"capability_session_mode": "stateless"}}))
    assert controls.runtime_controls == RuntimeControls(sessions=SessionControls(capability_session_mode="stateless"))


@pytest.mark.parametrize("group", EVERYTHING)
def test_field_that_nothing_reads_is_refused(bundle_folder: Path, group: str) -> None:
    assert codes(stated(bundle_folder, {**EVERYTHING, group: {**EVERYTHING[group], "pause_allowed": True}})) == [
        "unknown_key"
    ]


def test_group_that_nothing_reads_is_refused(bundle_folder: Path) -> None:
    assert codes(stated(bundle_folder, {**EVERYTHING, "capability_sessions": {}})) == ["unknown_key"]


@pytest.mark.parametrize("value", [None, 17, "garbage", "REFUSE", ["refuse"], {}])
@pytest.mark.parametrize(
    ("group", "field"), [(group, field) for group, fields in EVERYTHING.items() for field in fields]
)
def test_value_outside_the_closed_set_is_refused(bundle_folder: Path, group: str, field: str, value: Any) -> None:
    # A name or a list of names has no closed set but that of well-formed names.
    value = {"approval_delegate": "no role", "worker_capability_subset": ["no name"]}.get(field, value)
    value = ["no contract"] if field == "trusted_verifier_contracts" else value
    # A bound in seconds has none but that of whole numbers that make sense.
    value = -1 if (field, value) == ("catalog_max_ttl_seconds", 17) else value
    assert codes(stated(bundle_folder, {**EVERYTHING, group: {**EVERYTHING[group], field: value}}))


@pytest.mark.parametrize("value", [{}, None, [], "stateful", 17])
def test_empty_or_untyped_group_is_refused(bundle_folder: Path, value: Any) -> None:
    assert codes(stated(bundle_folder, {**EVERYTHING, "sessions": value}))


@pytest.mark.parametrize("missing", BOX)
def test_sandbox_profile_states_every_bound(bundle_folder: Path, missing: str) -> None:
    profile = {key: value for key, value in BOX.items() if key != missing}
    assert codes(stated(bundle_folder, {"sandbox": {"sandbox_profile_contract": profile}})) == ["missing_key"]


def test_sandbox_without_profile_is_refused(bundle_folder: Path) -> None:
    assert codes(stated(bundle_folder, {"sandbox": {"sandbox_profile_review_required": True}})) == ["missing_key"]
