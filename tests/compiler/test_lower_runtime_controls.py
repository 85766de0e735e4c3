"""Runtime controls compiled: a rule for each field, a decision that each field changes, and no field without effect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from compiler_support import edited, point_of, put
from opa_point import OpaPoint

from gate.compiler import Compiled, compile_bundle
from gate.compiler.lower_runtime_controls import ESCALATIONS
from gate.documents import load_cases, schema
from gate.errors import BundleError
from gate.release.golden import case_document

ACTION = "sha256:" + "1" * 64
_SHIPPED = {c.id: c for c in load_cases(Path(__file__).parents[2] / "bundles" / "support-triage")}
CASES = {"search_docs": _SHIPPED["search_docs_allowed"], "create_ticket": _SHIPPED["ticket_approved"]}
BOX = {"contract_id": "box-v1", "network": "denied", "secrets": "none", "shell": "restricted"}
# Everything at a value that lets the calls below pass.
OPEN: dict[str, dict[str, Any]] = {
    "sessions": {
        "capability_session_mode": "stateful",
        "resume_policy": "resume_existing_session_if_valid",
        "on_session_expiry": "reinitialize",
        "reinit_requires_approval": False,
        "progress_event_policy": "from_live_session",
        "elicitation_policy": "from_live_session",
    },
    "mcp": {
        "mcp_evidence_required": False,
        "mcp_discovery_source": "approved_registry",
        "mcp_server_owner": "capability_owner",
        "mcp_auth_mode": "oauth",
        "shadow_mcp_handling": "deny",
        "catalog_evidence_required": False,
        "catalog_max_ttl_seconds": 60,
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
        "authorization_mode": "any",
        "delegated_principal_policy": "verified_identity_sufficient",
        "token_reuse_policy": "reuse_within_session",
        "on_authorization_revoke": "refuse",
    },
    "orchestration": {
        "allowed_orchestration_patterns": ["routing", "parallelization"],
        "worker_inheritance_policy": "same_run",
        "worker_capability_subset": ["search_docs", "create_ticket"],
        "review_required_before_worker_write": False,
    },
    "verifiers": {
        "trusted_verifier_contracts": ["verifier-v2"],
        "verifier_contract_required_for_high_risk": False,
        "on_untrusted_verifier_contract": "deny",
    },
    "sandbox": {"sandbox_profile_contract": BOX, "sandbox_profile_review_required": False},
}

SESSION = {
    "session_id": "docs-1",
    "capability": "search_docs",
    "tenant_id": "tenant-acme",
    "principal_id": "user-42",
    "trace_session_id": "session-support-001",
    "status": "active",
    "paused_at_ms": 1775559990000,
    "expires_at_ms": 1775560600000,
}
MCP = {
    "server": "docs-mcp",
    "discovery_source": "approved_registry",
    "server_owner": "knowledge_platform",
    "auth_mode": "oauth",
    "shadow": False,
}
SNAPSHOT = {
    "target_id": "docs-mcp",
    "tenant_ref": "tenant-acme",
    "principal_ref": "user-43",
    "policy_version": "2026.04.07",
    "server_ttl_ms": 60000,
    "server_cache_scope": "public",
    "local_max_ttl_ms": 60000,
    "fetched_at_ms": 1775559970000,
    "cache_hit": True,
}
GRANT = {"status": "active", "token_reused": True, "token_run_id": "run-042", "token_expires_at_ms": 1775560600000}
PLATFORM = {"authorization_mode": "platform_owned", "delegated_principal_id": None, "delegated_scope": None}
HANDOFF = {
    "from_agent_id": "parent-agent",
    "to_agent_id": "support-triage-ref",
    "tenant_id": "tenant-acme",
    "principal_id": "user-42",
    "delegated_scope": "tickets:create",
}
WORKER = {"role": "worker", "parent_agent_id": "parent-agent"}
SANDBOX = {"profile_contract": "box-v1", "network": "denied", "secrets": "none", "shell": "none"}


@dataclass(frozen=True)
class Change:
    """A call, another value of one field, and the reasons that come with it."""

    value: Any
    reasons: set[str]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    capability: str = "search_docs"
    operation: str = "call_tool"
    agent: Mapping[str, Any] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    """Fields of the group that say nothing beside the other value."""


LEFT_OUT = object()
REPLACED = {**SESSION, "reinitialized_from": "docs-0"}
CHANGES: dict[str, Change] = {
    "capability_session_mode": Change(
        "stateless",
        {"session_mode_not_allowed"},
        {"session": SESSION},
        without=frozenset(OPEN["sessions"]) - {"capability_session_mode"},
    ),
    "resume_policy": Change(
        "reauthorize_then_resume", {"session_authorization_stale"}, {"session": SESSION}, operation="resume_tool"
    ),
    "on_session_expiry": Change(
        "refuse",
        {"session_reinit_not_allowed"},
        {"session": REPLACED},
        without=frozenset({"reinit_requires_approval"}),
    ),
    "reinit_requires_approval": Change(True, {"session_reinit_needs_approval"}, {"session": REPLACED}),
    "progress_event_policy": Change("refuse", {"progress_event_refused"}, {"session": SESSION}, operation="progress"),
    "elicitation_policy": Change(
        "non_sensitive_only", {"elicitation_refused"}, {"session": SESSION}, operation="elicit"
    ),
    "mcp_evidence_required": Change(True, {"mcp_evidence_missing"}),
    "mcp_discovery_source": Change("pinned_catalog", {"mcp_discovery_source_not_allowed"}, {"mcp": MCP}),
    "mcp_server_owner": Change("bundle_owner", {"mcp_server_owner_mismatch"}, {"mcp": MCP}),
    "mcp_auth_mode": Change("mutual_tls", {"mcp_auth_mode_not_allowed"}, {"mcp": MCP}),
    "catalog_evidence_required": Change(True, {"catalog_evidence_missing"}),
    "catalog_max_ttl_seconds": Change(30, {"catalog_snapshot_expired"}, {"catalog_cache": SNAPSHOT}),
    "catalog_sharing": Change("private", {"catalog_partition_mismatch"}, {"catalog_cache": SNAPSHOT}),
    # The same reason with another verdict.
    "shadow_mcp_handling": Change("require_approval", set(), {"mcp": {**MCP, "shadow": True}}),
    "approval_mode": Change(
        "human_or_classifier",
        {"approval_route_not_allowed"},
        {"approval_route": {"decided_by": "delegate", "delegate_id": "mira-manager"}},
        without=frozenset({"approval_delegate"}),
    ),
    "approval_delegate": Change(
        LEFT_OUT,
        {"approval_delegate_not_allowed"},
        {"approval_route": {"decided_by": "delegate", "delegate_id": "mira-manager"}},
    ),
    "classifier_verdict_policy": Change(
        "refuse_unless_allow", {"classifier_refused"}, {"classifier": {"verdict": "uncertain", "action_digest": ACTION}}
    ),
    "escalate_to_human_if": Change(["handed_off"], {"escalated_to_human"}, {"handoff": HANDOFF}),
    "subagent_handoff_policy": Change("refuse", {"handoff_not_allowed"}, {"handoff": HANDOFF}),
    "authorization_mode": Change(
        "user_delegated_or_platform_owned",
        {"authorization_mode_not_allowed"},
        identity={**PLATFORM, "authorization_mode": "human_approved"},
    ),
    "delegated_principal_policy": Change(
        "explicit_principal_binding_required",
        {"delegated_principal_not_bound"},
        {"authorization": {**GRANT, "delegated_principal_id": "user-7"}},
    ),
    "token_reuse_policy": Change("never_reuse", {"token_reuse_not_allowed"}, {"authorization": GRANT}),
    "on_authorization_revoke": Change("reauthorize", set(), {"authorization": {**GRANT, "status": "revoked"}}),
    "allowed_orchestration_patterns": Change(
        ["routing"], {"orchestration_pattern_not_allowed"}, agent={"orchestration_pattern": "parallelization"}
    ),
    "disallowed_orchestration_patterns": Change(
        {"search_docs": ["parallelization"]},
        {"orchestration_pattern_disallowed"},
        agent={"orchestration_pattern": "parallelization"},
    ),
    "worker_inheritance_policy": Change("explicit_only", {"worker_authority_not_inherited"}, agent=WORKER),
    "worker_capability_subset": Change(["create_ticket"], {"worker_capability_not_allowed"}, agent=WORKER),
    "review_required_before_worker_write": Change(
        True, {"worker_write_not_reviewed"}, agent=WORKER, capability="create_ticket"
    ),
    "trusted_verifier_contracts": Change(
        ["verifier-v3"],
        {"verifier_contract_untrusted"},
        {"verifier": {"contract": "verifier-v2", "verdict": "passed", "action_digest": ACTION}},
    ),
    "verifier_contract_required_for_high_risk": Change(True, {"verifier_contract_missing"}, capability="create_ticket"),
    "on_untrusted_verifier_contract": Change(
        "require_approval",
        set(),
        {"verifier": {"contract": "judge", "verdict": "passed", "action_digest": ACTION}},
    ),
    "sandbox_profile_contract": Change(
        {**BOX, "contract_id": "box-v2"}, {"sandbox_profile_mismatch"}, {"sandbox": SANDBOX}
    ),
    "sandbox_profile_review_required": Change(True, {"sandbox_profile_not_reviewed"}, {"sandbox": SANDBOX}),
}
GROUP_OF = {
    name: group
    for group, entry in schema("runtime-controls")["properties"]["runtime_controls"]["properties"].items()
    for name in entry["properties"]
}


def controlled(folder: Path, controls: Any) -> Path:
    """The bundle with `controls` as its runtime controls."""
    documents = edited(
        ("bundle.yaml", "approvals.yaml, reviewers.yaml]", "approvals.yaml, reviewers.yaml, runtime-controls.yaml]"),
        (
            "policy.yaml",
            "    emit: allow\n",
            "    emit: allow\n    resume_tool: allow\n    elicit: allow\n    progress: allow\n",
        ),
    )
    return put(folder, {**documents, "runtime-controls.yaml": json.dumps({"runtime_controls": controls})})


def with_field(name: str, value: Any, without: frozenset[str] = frozenset()) -> dict[str, dict[str, Any]]:
    group = {key: item for key, item in OPEN[GROUP_OF[name]].items() if key not in {name, *without}}
    return {**OPEN, GROUP_OF[name]: group if value is LEFT_OUT else {**group, name: value}}


def decided(compiled: Compiled, point: OpaPoint, change: Change) -> tuple[str, set[str]]:
    """Verdict and reasons of the shipped bundle's case of a search, or of a ticket, changed as said."""
    facts = point.facts(compiled.bundle.meta.agent_ids[0])
    sections = {"bundle": facts.bundle, "capabilities": facts.capabilities, "contracts": facts.contracts}
    document = case_document(CASES[change.capability], {**sections, "reviewers": facts.reviewers})
    document["operation"] = change.operation
    document["agent"] |= change.agent
    document["identity"] |= change.identity
    document["state"]["run"] |= change.identity
    document["evidence"] = {"arguments": document["evidence"]["arguments"], **change.evidence}
    decision = point.decide(document).decision
    return str(decision.verdict), set(decision.codes)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> tuple[Compiled, OpaPoint]:
    return made(tmp_path_factory.mktemp("open"), OPEN)


def made(folder: Path, controls: Any) -> tuple[Compiled, OpaPoint]:
    compiled = compile_bundle(controlled(folder / "support-triage", controls))
    return compiled, point_of(compiled)


def test_every_field_of_the_schema_has_a_decision_that_it_changes() -> None:
    # Which contract a name stands for goes with a key in the policy: it has a test of its own.
    assert CHANGES.keys() == GROUP_OF.keys() - {"verifier_contracts"}


def test_verifier_contracts_are_one_rule_and_change_the_decision(tmp_path: Path) -> None:
    stated = {"contract": "verifier-v2", "verdict": "passed", "action_digest": ACTION, "contract_version": "2"}
    signed = {"checked_at_ms": 1775559999000, "signed_by": "verifier-2026", "contract_digest": "sha256:" + "8" * 64}
    change = Change(None, set(), {"verifier": {**stated, **signed}})
    found = {}
    for digest in ("8", "9"):
        contract = {"version": "2", "contract_digest": "sha256:" + digest * 64, "key_id": "verifier-2026"}
        folder = controlled(
            tmp_path / digest / "support-triage", with_field("verifier_contracts", {"verifier-v2": contract})
        )
        policy, key = folder / "policy.yaml", "A" * 43 + "="
        evidence = f"  evidence:\n    verifier: {{max_age_seconds: 60, signature_keys: {{verifier-2026: {key}}}}}\n"
        policy.write_text(
            policy.read_text("utf-8").replace("  capabilities:\n", f"{evidence}  capabilities:\n"), "utf-8"
        )
        compiled = compile_bundle(folder)
        assert "runtime-controls.yaml#/runtime_controls/verifiers/verifier_contracts" in blocks(compiled)
        found[digest] = decided(compiled, point_of(compiled), change)
    allowed = ("allow", {"configured_allow"})
    assert found == {"8": allowed, "9": ("deny", {"configured_allow", "verifier_contract_untrusted"})}


@pytest.mark.parametrize("name", CHANGES)
def test_field_is_one_rule_and_changes_the_decision(
    name: str, tmp_path: Path, opened: tuple[Compiled, OpaPoint]
) -> None:
    change = CHANGES[name]
    if change.without:
        value = OPEN[GROUP_OF[name]][name]
        opened = made(tmp_path / "before", with_field(name, value, change.without))
    changed = made(tmp_path / "after", with_field(name, change.value, change.without))
    before, after = decided(*opened, change), decided(*changed, change)
    assert after != before
    assert (after[1] - before[1], before[1] - after[1]) == (change.reasons, set())
    rules_changed = {source for source, _ in set(blocks(opened[0]).items()) ^ set(blocks(changed[0]).items())}
    assert rules_changed == {f"runtime-controls.yaml#/runtime_controls/{GROUP_OF[name]}/{name}"}


def blocks(compiled: Compiled) -> dict[str, str]:
    """Rule text by source, of everything compiled from the runtime controls."""
    found = {}
    for block in compiled.rego["runtime_controls.rego"].split("# METADATA\n")[1:]:
        source = next(line for line in block.splitlines() if line.startswith("#   source: "))
        found[json.loads(source.removeprefix("#   source: "))] = block
    return found


def rules(compiled: Compiled) -> list[str]:
    text = compiled.rego["runtime_controls.rego"]
    return [line for line in text.splitlines() if line and not line.startswith(("#", "package"))]


def test_nothing_is_compiled_without_the_document(tmp_path: Path) -> None:
    assert "runtime_controls.rego" not in compile_bundle(put(tmp_path / "support-triage")).rego


def test_what_every_call_is_asked_is_written_out_whatever_is_left_out(tmp_path: Path) -> None:
    only = {"sessions": {"capability_session_mode": "stateless"}}
    assert rules(compile_bundle(controlled(tmp_path / "support-triage", only))) == [
        'sessions_controls["capability_session_mode"] := "stateless"',
        'call_controls["authorization_mode"] := "user_delegated_or_platform_owned"',
        'call_controls["mcp_evidence_required"] := false',
        'call_controls["catalog_evidence_required"] := false',
        'call_controls["verifier_contract_required_for_high_risk"] := false',
        'call_controls["sandbox_evidence_required"] := false',
    ]


def test_group_that_is_stated_asks_for_its_evidence(tmp_path: Path) -> None:
    stated = {
        "mcp": {"mcp_auth_mode": "oauth"},
        "verifiers": {"trusted_verifier_contracts": ["verifier-v2"]},
        "sandbox": {"sandbox_profile_contract": BOX},
    }
    compiled = compile_bundle(controlled(tmp_path / "support-triage", stated))
    assert rules(compiled)[-5:] == [
        'call_controls["authorization_mode"] := "user_delegated_or_platform_owned"',
        'call_controls["mcp_evidence_required"] := true',
        'call_controls["catalog_evidence_required"] := true',
        'call_controls["verifier_contract_required_for_high_risk"] := true',
        'call_controls["sandbox_evidence_required"] := true',
    ]


def test_escalations_are_the_schemas() -> None:
    groups = schema("runtime-controls")["properties"]["runtime_controls"]["properties"]
    assert tuple(groups["routing"]["properties"]["escalate_to_human_if"]["items"]["enum"]) == ESCALATIONS


def problems(folder: Path, controls: Any) -> list[tuple[str, str]]:
    """Code of each problem and the key or value it stands at."""
    with pytest.raises(BundleError) as caught:
        compile_bundle(controlled(folder / "support-triage", controls))
    text = json.dumps({"runtime_controls": controls})
    found = []
    for problem in caught.value.problems:
        assert (Path(problem.file).name, problem.line) == ("runtime-controls.yaml", 1)
        word = json.JSONDecoder().raw_decode(text[problem.column - 1 :])[0]
        found.append((problem.code, str(word)))
    return found


IDLE = "runtime_control_without_effect"
UNLINKED: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"sessions": {"resume_policy": "resume_existing_session_if_valid"}}, [(IDLE, "resume_policy")]),
    (
        {"sessions": {"capability_session_mode": "stateless", "elicitation_policy": "from_live_session"}},
        [(IDLE, "elicitation_policy")],
    ),
    (
        {"sessions": {"capability_session_mode": "stateful", "reinit_requires_approval": True}},
        [(IDLE, "reinit_requires_approval")],
    ),
    ({"routing": {"approval_delegate": "manager"}}, [(IDLE, "approval_delegate")]),
    (
        {"routing": {"approval_mode": "human_or_delegate", "approval_delegate": "auditor"}},
        [("reviewer_role_unheld", "auditor")],
    ),
    (
        {"orchestration": {"disallowed_orchestration_patterns": {"search_docs": ["routing"]}}},
        [(IDLE, "routing")],
    ),
    (
        {
            "orchestration": {
                "allowed_orchestration_patterns": ["routing"],
                "disallowed_orchestration_patterns": {"search_doc": ["routing"]},
            }
        },
        [("capability_unknown", "search_doc")],
    ),
    ({"orchestration": {"worker_capability_subset": ["search_doc"]}}, [("capability_unknown", "search_doc")]),
    ({"orchestration": {"worker_inheritance_policy": "same_run"}}, [(IDLE, "worker_inheritance_policy")]),
    (
        {
            "orchestration": {
                "worker_capability_subset": ["search_docs"],
                "review_required_before_worker_write": False,
            }
        },
        [(IDLE, "review_required_before_worker_write")],
    ),
]


@pytest.mark.parametrize(("controls", "expected"), UNLINKED)
def test_field_without_effect_or_with_a_stranger_is_refused_at_its_place(
    controls: dict[str, Any], expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert problems(tmp_path, controls) == expected


def test_session_policy_without_its_operation_is_refused(tmp_path: Path) -> None:
    folder = controlled(tmp_path / "support-triage", {"sessions": OPEN["sessions"]})
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text("utf-8").replace("    progress: allow\n", "    progress: deny\n"), "utf-8")
    with pytest.raises(BundleError) as caught:
        compile_bundle(folder)
    assert [(p.code, p.message) for p in caught.value.problems] == [
        (IDLE, "`progress_event_policy` lets nothing happen, because policy.yaml does not allow operation `progress`")
    ]


def test_denied_capability_is_no_workers(tmp_path: Path) -> None:
    folder = controlled(tmp_path / "support-triage", {"orchestration": {"worker_capability_subset": ["search_docs"]}})
    policy = folder / "policy.yaml"
    text = policy.read_text("utf-8").replace(
        "search_docs:\n      decision: allow", "search_docs:\n      decision: deny"
    )
    policy.write_text(text, "utf-8")
    with pytest.raises(BundleError) as caught:
        compile_bundle(folder)
    assert [(p.code, p.message) for p in caught.value.problems] == [
        (IDLE, "`search_docs` is denied to everybody, so workers cannot call it")
    ]
