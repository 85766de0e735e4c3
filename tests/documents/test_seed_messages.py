"""Every document-side text of the reference runtime, to the letter, produced by the condition it belongs to."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from gate.documents.resources import schema
from gate.documents.schema_check import schema_problems
from gate.documents.seed_messages import ROWS, condition_of, seed_text
from gate.documents.yaml_source import load
from gate.errors import BundleError, Problem

TICKET = {
    "owner": "support_platform",
    "mode": "write",
    "side_effect": "external_write",
    "transport": "gateway",
    "tool_principal": "svc-ticket-writer",
    "risk_tier": "high",
    "network_access": "brokered",
    "allowed_egress": ["tickets.internal"],
    "timeout_seconds": 15,
    "approval": "manager",
    "idempotency_key_required": True,
    "identifying_arguments": ["/queue"],
    "arguments": {"type": "object"},
}
ENVELOPE_ACTION = {
    "capability_name": "create_ticket",
    "capability_version": "v1",
    "approval_id": "apr-1",
    "action_digest": "sha256:" + "b" * 64,
    "approval_expires_at": "2026-07-21T18:00:00Z",
    "idempotency_key": "key-1",
    "side_effect_status": "not_started",
}
SOUND: dict[str, dict[str, Any]] = {
    "policy.yaml": {
        "policy": {
            "run_precheck": {"require_tenant": True, "deny_if_principal_missing": True},
            "operations": {"run_start": "allow"},
            "capabilities": {"create_ticket": {"decision": "approval_required", "approver": "manager"}},
            "memory_write": {"allow_kinds": ["validated_fact"]},
            "execution": {"allow_network_access": ["restricted"]},
        }
    },
    "trajectory.yaml": {
        "trajectory": {
            "policy_id": "canary",
            "policy_version": "1",
            "observe": {"create_ticket": {"counters": {"spend": "/amount"}}},
            "rules": [
                {
                    "rule_id": "limit",
                    "kind": "cumulative_limit",
                    "applies_to": ["create_ticket"],
                    "fingerprint_name": "release",
                    "counter_name": "spend",
                    "limit": "25.3",
                    "predecessor": "create_ticket",
                    "approval_scope": "create-ticket-manager",
                }
            ],
        }
    },
    "checkpoints.yaml": {
        "control_checkpoints": [
            {
                "checkpoint": "tool_execution",
                "policy_requirement": "no_write",
                "applies_to": ["create_ticket"],
                "predicate": "risk_tier == 'high'",
                "action": "deny",
                "control_version": "1.0",
                "eval_case_id": "ticket",
                "audit_fields": ["action"],
            }
        ]
    },
    "capabilities.yaml": {"capabilities": {"create_ticket": TICKET}},
    "agent.yaml": {
        "agent": {
            "id": "support-triage-ref",
            "display_name": "Support triage",
            "owner_team": "agent_platform",
            "runtime_principal": "svc-support-triage-ref",
            "approved_capabilities": ["create_ticket"],
        }
    },
    "approvals.yaml": {
        "approvals": {
            "default_reviewer": "manager",
            "escalation_sla_minutes": 30,
            "delegated_authorization": {"require_principal_binding": True, "require_scope_visibility": True},
        },
        "approval_contracts": [
            {
                "contract_id": "create-ticket-manager",
                "capability": "create_ticket",
                "risk_tier": "high",
                "bundle_version": "1",
                "release_identity": "canary",
                "request_fields": ["trace_id"],
                "allowed_decisions": ["approved", "rejected"],
                "runtime_controls": {"pause_allowed": True, "on_expiry": "cancel_run"},
                "on_reject": "stop_run",
            }
        ],
    },
    "controls.yaml": {
        "controls": {
            "require": ["registry_reviewed"],
            "block_if": ["direct_tool_access_present"],
            "required_approval_roles": ["platform-owner"],
        }
    },
    "runtime-controls.yaml": {"runtime_controls": {"mcp": {"mcp_auth_mode": "oauth"}}},
    # Both forms of an action at once, so that the rows of each have a place; only the typed value refuses that.
    "envelope.yaml": {
        "continuity_envelope": {
            "schema_version": "continuity-envelope/v1",
            "envelope_id": "ce-1",
            "session_id": "session-1",
            "source_trace_id": "trace-1",
            "tenant_id": "tenant-1",
            "principal_id": "user-1",
            "authorization_mode": "user_delegated",
            "delegated_principal_id": "user-1",
            "delegated_scope": "tickets:create",
            "policy_version": "policy-v4",
            **ENVELOPE_ACTION,
            "actions": [ENVELOPE_ACTION],
            "checkpoint_ref": "checkpoint:1",
            "source_event_range": {"first": "event-0001", "last": "event-0142"},
            "summary_sha256": "sha256:" + "a" * 64,
            "requires_reauthorization": True,
        }
    },
}

# What is wrong at a path of a sound document -> (code of the problem, text). `{}` marks the one thing that is put in.
EXPECTED: dict[str, list[tuple[str, str, str]]] = {
    "policy.yaml": [
        ("", "root", "Policy config must be a mapping"),
        ("policy", "object", "'policy' must be a mapping"),
        ("policy", "missing", "'policy' must be a mapping"),
        ("policy/run_precheck", "object", "'run_precheck' must be a mapping"),
        ("policy/capabilities", "object", "'capabilities' must be a mapping"),
        ("policy/memory_write", "object", "'memory_write' must be a mapping"),
        ("policy/execution", "object", "'execution' must be a mapping"),
        ("policy/run_precheck/require_tenant", "boolean", "'run_precheck.require_tenant' must be a boolean"),
        (
            "policy/run_precheck/deny_if_principal_missing",
            "boolean",
            "'run_precheck.deny_if_principal_missing' must be a boolean",
        ),
        ("policy/memory_write/allow_kinds", "array", "'allow_kinds' must be a list"),
        ("policy/memory_write/allow_kinds/#", "string", "memory_write.allow_kinds entries must be strings"),
        ("policy/memory_write/allow_kinds/#", "blank", "memory_write.allow_kinds entries must not be empty"),
        ("policy/memory_write/allow_kinds/#", "duplicate", "memory_write.allow_kinds entries must be unique"),
        ("policy/execution/allow_network_access", "array", "'allow_network_access' must be a list"),
        ("policy/execution/allow_network_access/#", "string", "execution.allow_network_access entries must be strings"),
        (
            "policy/execution/allow_network_access/#",
            "blank",
            "execution.allow_network_access entries must not be empty",
        ),
        (
            "policy/execution/allow_network_access/#",
            "duplicate",
            "execution.allow_network_access entries must be unique",
        ),
        ("policy/capabilities/*", "key not string", "Policy capability names must be strings"),
        ("policy/capabilities/*", "key blank", "Policy capability name must not be empty"),
        ("policy/capabilities/*", "key duplicate", "Policy capability names must be unique"),
        ("policy/capabilities/*", "object", "Policy for capability 'create_ticket' must be a mapping"),
        ("policy/capabilities/*/decision", "string", "Policy decision must be a string"),
        ("policy/capabilities/*/decision", "blank", "Policy decision must not be empty"),
        ("policy/capabilities/*/decision", "unsupported", "Policy decision is not supported: garbage"),
        ("policy/capabilities/*/approver", "string", "Policy approver must be a string"),
        ("policy/capabilities/*/approver", "blank", "Policy approver must not be empty: create_ticket"),
    ],
    "checkpoints.yaml": [
        ("control_checkpoints/#/action", "string", "Policy action must be a string"),
        ("control_checkpoints/#/action", "unsupported", "Policy action is not supported: garbage"),
    ],
    "capabilities.yaml": [
        ("", "root", "Capability catalog config must be a mapping"),
        ("capabilities", "object", "'capabilities' must be a mapping"),
        ("capabilities", "missing", "'capabilities' must be a mapping"),
        ("capabilities/*", "key not string", "Capability names must be strings"),
        ("capabilities/*", "key blank", "Capability name must not be empty"),
        ("capabilities/*", "key duplicate", "Capability names must be unique"),
        ("capabilities/*", "object", "Capability spec for 'create_ticket' must be a mapping"),
        ("capabilities/*/owner", "string", "capabilities.create_ticket.owner must be a string"),
        ("capabilities/*/owner", "missing", "capabilities.create_ticket.owner is required"),
        ("capabilities/*/owner", "blank", "capabilities.create_ticket.owner is required"),
        ("capabilities/*/mode", "string", "capabilities.create_ticket.mode must be a string"),
        ("capabilities/*/mode", "missing", "capabilities.create_ticket.mode is required"),
        ("capabilities/*/mode", "blank", "capabilities.create_ticket.mode is required"),
        ("capabilities/*/side_effect", "string", "capabilities.create_ticket.side_effect must be a string"),
        ("capabilities/*/side_effect", "missing", "capabilities.create_ticket.side_effect is required"),
        ("capabilities/*/side_effect", "blank", "capabilities.create_ticket.side_effect is required"),
        ("capabilities/*/transport", "string", "capabilities.create_ticket.transport must be a string"),
        ("capabilities/*/transport", "missing", "capabilities.create_ticket.transport is required"),
        ("capabilities/*/transport", "blank", "capabilities.create_ticket.transport is required"),
        ("capabilities/*/tool_principal", "string", "capabilities.create_ticket.tool_principal must be a string"),
        ("capabilities/*/tool_principal", "missing", "capabilities.create_ticket.tool_principal is required"),
        ("capabilities/*/tool_principal", "blank", "capabilities.create_ticket.tool_principal is required"),
        ("capabilities/*/risk_tier", "string", "capabilities.create_ticket.risk_tier must be a string"),
        ("capabilities/*/risk_tier", "missing", "capabilities.create_ticket.risk_tier is required"),
        ("capabilities/*/risk_tier", "blank", "capabilities.create_ticket.risk_tier is required"),
        ("capabilities/*/network_access", "string", "capabilities.create_ticket.network_access must be a string"),
        ("capabilities/*/network_access", "missing", "capabilities.create_ticket.network_access is required"),
        ("capabilities/*/network_access", "blank", "capabilities.create_ticket.network_access is required"),
        ("capabilities/*/approval", "string", "capabilities.create_ticket.approval must be a string"),
        ("capabilities/*/approval", "missing", "capabilities.create_ticket.approval is required"),
        ("capabilities/*/approval", "blank", "capabilities.create_ticket.approval must not be empty"),
        ("capabilities/*/approval", "unsupported", "capabilities.create_ticket.approval is not supported: 9 lives"),
        (
            "capabilities/*/timeout_seconds",
            "integer",
            "'capabilities.create_ticket.timeout_seconds' must be an integer",
        ),
        ("capabilities/*/timeout_seconds", "too small", "capabilities.create_ticket.timeout_seconds must be positive"),
        (
            "capabilities/*/idempotency_key_required",
            "boolean",
            "'capabilities.create_ticket.idempotency_key_required' must be a boolean",
        ),
        ("capabilities/*/allowed_egress", "array", "'allowed_egress' must be a list"),
        ("capabilities/*/allowed_egress/#", "string", "allowed_egress entries must be strings"),
        ("capabilities/*/allowed_egress/#", "blank", "allowed_egress entries must not be empty"),
        ("capabilities/*/allowed_egress/#", "duplicate", "allowed_egress entries must be unique"),
    ],
    "agent.yaml": [
        ("", "root", "Agent identity config must be a mapping"),
        ("", "list at root", "Agent inventory config must be a mapping"),
        ("agent", "object", "'agent' must be a mapping"),
        ("agent", "missing", "'agent' must be a mapping"),
        ("agent/id", "string", "agent.id must be a string"),
        ("agent/id", "missing", "agent.id is required"),
        ("agent/id", "blank", "agent.id is required"),
        ("agent/display_name", "string", "agent.display_name must be a string"),
        ("agent/display_name", "missing", "agent.display_name is required"),
        ("agent/display_name", "blank", "agent.display_name is required"),
        ("agent/owner_team", "string", "agent.owner_team must be a string"),
        ("agent/owner_team", "missing", "agent.owner_team is required"),
        ("agent/owner_team", "blank", "agent.owner_team is required"),
        ("agent/runtime_principal", "string", "agent.runtime_principal must be a string"),
        ("agent/runtime_principal", "missing", "agent.runtime_principal is required"),
        ("agent/runtime_principal", "blank", "agent.runtime_principal is required"),
        ("agent/approved_capabilities", "array", "'approved_capabilities' must be a list"),
        ("agent/approved_capabilities", "missing", "'approved_capabilities' must be a list"),
        ("agent/approved_capabilities/#", "string", "approved_capabilities entries must be strings"),
        ("agent/approved_capabilities/#", "blank", "approved_capabilities entries must not be empty"),
        ("agent/approved_capabilities/#", "duplicate", "approved_capabilities entries must be unique"),
    ],
    "approvals.yaml": [
        ("", "root", "Approval policy config must be a mapping"),
        ("approvals", "object", "'approvals' must be a mapping"),
        ("approvals/default_reviewer", "string", "approvals.default_reviewer must be a string"),
        ("approvals/default_reviewer", "missing", "approvals.default_reviewer is required"),
        ("approvals/default_reviewer", "blank", "approvals.default_reviewer is required"),
        ("approvals/escalation_sla_minutes", "integer", "approvals.escalation_sla_minutes must be an integer"),
        ("approvals/escalation_sla_minutes", "missing", "approvals.escalation_sla_minutes must be an integer"),
        ("approvals/escalation_sla_minutes", "too small", "approvals.escalation_sla_minutes must be positive"),
        ("approvals/delegated_authorization", "object", "approvals.delegated_authorization must be a mapping"),
        (
            "approvals/delegated_authorization/require_principal_binding",
            "boolean",
            "delegated_authorization.require_principal_binding must be a boolean",
        ),
        (
            "approvals/delegated_authorization/require_scope_visibility",
            "boolean",
            "delegated_authorization.require_scope_visibility must be a boolean",
        ),
        *(
            (f"approval_contracts/#/{key}", condition, text + key)
            for key in ("contract_id", "capability", "risk_tier", "bundle_version", "release_identity", "on_reject")
            for condition, text in (
                ("string", "Approval field must be a string: "),
                ("missing", "Approval field is required: "),
                ("blank", "Approval field is required: "),
            )
        ),
        ("approval_contracts/#/allowed_decisions/#", "unsupported", "Approval decision is not supported: garbage"),
    ],
    "controls.yaml": [
        ("", "root", "Controls policy config must be a mapping"),
        ("controls", "object", "'controls' must be a mapping"),
        ("controls", "missing", "'controls' must be a mapping"),
        ("controls/require", "array", "'controls.require' must be a list"),
        ("controls/require/#", "string", "controls.require entries must be strings"),
        ("controls/require/#", "blank", "controls.require entries must not be empty"),
        ("controls/require/#", "duplicate", "controls.require entries must be unique"),
        ("controls/block_if", "array", "'controls.block_if' must be a list"),
        ("controls/block_if/#", "string", "controls.block_if entries must be strings"),
        ("controls/block_if/#", "blank", "controls.block_if entries must not be empty"),
        ("controls/block_if/#", "duplicate", "controls.block_if entries must be unique"),
        ("controls/required_approval_roles", "array", "'controls.required_approval_roles' must be a list"),
        ("controls/required_approval_roles/#", "string", "controls.required_approval_roles entries must be strings"),
        ("controls/required_approval_roles/#", "blank", "controls.required_approval_roles entries must not be empty"),
        ("controls/required_approval_roles/#", "duplicate", "controls.required_approval_roles entries must be unique"),
    ],
    "trajectory.yaml": [
        ("", "root", "Trajectory policy must be TrajectoryPolicy"),
        ("trajectory", "object", "Trajectory policy must be TrajectoryPolicy"),
        ("trajectory/rules", "array", "Trajectory rules must be a tuple"),
        ("trajectory/rules", "empty list", "Trajectory policy must contain at least one rule"),
        ("trajectory/rules/#", "object", "Trajectory rules entries must be trajectory rule objects"),
        ("trajectory/rules/#/kind", "unsupported", "Trajectory field is not supported: kind=garbage"),
        *(
            (f"{path}/{key}", condition, text + key)
            for path, keys in (
                ("trajectory", ("policy_id", "policy_version")),
                ("trajectory/rules/#", ("rule_id", "kind")),
            )
            for key in keys
            for condition, text in (
                ("string", "Trajectory field must be a string: "),
                ("missing", "Trajectory field is required: "),
                ("blank", "Trajectory field is required: "),
            )
        ),
        *(
            (f"trajectory/rules/#/{key}", condition, text + key)
            for key in ("fingerprint_name", "counter_name", "predecessor", "approval_scope", "limit")
            for condition, text in (
                ("string", "Trajectory field must be a string: "),
                ("blank", "Trajectory field is required: "),
            )
        ),
        *(
            (path, "unsupported", f"Trajectory identifier is invalid: {path.rpartition('/')[2]}")
            for path in (
                *("trajectory/policy_id", "trajectory/policy_version", "trajectory/rules/#/rule_id"),
                *("trajectory/rules/#/fingerprint_name", "trajectory/rules/#/counter_name"),
                "trajectory/rules/#/predecessor",
            )
        ),
    ],
    "runtime-controls.yaml": [
        ("", "root", "runtime_controls config must be a mapping"),
        ("runtime_controls", "object", "runtime_controls config must be a mapping"),
        ("runtime_controls/*", "object", "runtime_controls.sessions config must be a mapping"),
        (
            "runtime_controls/sandbox/sandbox_profile_contract",
            "object",
            "runtime_controls.sandbox_profile config must be a mapping",
        ),
    ],
    "envelope.yaml": [
        ("", "root", "Continuity envelope must be ContinuityEnvelope"),
        ("continuity_envelope", "object", "Continuity envelope must be ContinuityEnvelope"),
        ("continuity_envelope/schema_version", "string", "Continuity field must be a string: schema_version"),
        ("continuity_envelope/envelope_id", "string", "Continuity field must be a string: envelope_id"),
        ("continuity_envelope/session_id", "string", "Continuity field must be a string: session_id"),
        ("continuity_envelope/source_trace_id", "string", "Continuity field must be a string: source_trace_id"),
        ("continuity_envelope/tenant_id", "string", "Continuity field must be a string: tenant_id"),
        ("continuity_envelope/principal_id", "string", "Continuity field must be a string: principal_id"),
        ("continuity_envelope/authorization_mode", "string", "Continuity field must be a string: authorization_mode"),
        ("continuity_envelope/policy_version", "string", "Continuity field must be a string: policy_version"),
        ("continuity_envelope/checkpoint_ref", "string", "Continuity field must be a string: checkpoint_ref"),
        ("continuity_envelope/summary_sha256", "string", "Continuity field must be a string: summary_sha256"),
        ("continuity_envelope/capability_name", "string", "Continuity field must be a string: capability_name"),
        ("continuity_envelope/capability_version", "string", "Continuity field must be a string: capability_version"),
        ("continuity_envelope/approval_id", "string", "Continuity field must be a string: approval_id"),
        ("continuity_envelope/action_digest", "string", "Continuity field must be a string: action_digest"),
        ("continuity_envelope/approval_expires_at", "string", "Continuity field must be a string: approval_expires_at"),
        ("continuity_envelope/idempotency_key", "string", "Continuity field must be a string: idempotency_key"),
        ("continuity_envelope/side_effect_status", "string", "Continuity field must be a string: side_effect_status"),
        (
            "continuity_envelope/actions/#/capability_name",
            "string",
            "Continuity field must be a string: capability_name",
        ),
        (
            "continuity_envelope/actions/#/capability_version",
            "string",
            "Continuity field must be a string: capability_version",
        ),
        ("continuity_envelope/actions/#/approval_id", "string", "Continuity field must be a string: approval_id"),
        ("continuity_envelope/actions/#/action_digest", "string", "Continuity field must be a string: action_digest"),
        (
            "continuity_envelope/actions/#/approval_expires_at",
            "string",
            "Continuity field must be a string: approval_expires_at",
        ),
        (
            "continuity_envelope/actions/#/idempotency_key",
            "string",
            "Continuity field must be a string: idempotency_key",
        ),
        (
            "continuity_envelope/actions/#/side_effect_status",
            "string",
            "Continuity field must be a string: side_effect_status",
        ),
        (
            "continuity_envelope/delegated_principal_id",
            "string",
            "Continuity field must be a string: delegated_principal_id",
        ),
        ("continuity_envelope/delegated_scope", "string", "Continuity field must be a string: delegated_scope"),
        ("continuity_envelope/schema_version", "blank", "Continuity field is required: schema_version"),
        ("continuity_envelope/envelope_id", "blank", "Continuity field is required: envelope_id"),
        ("continuity_envelope/session_id", "blank", "Continuity field is required: session_id"),
        ("continuity_envelope/source_trace_id", "blank", "Continuity field is required: source_trace_id"),
        ("continuity_envelope/tenant_id", "blank", "Continuity field is required: tenant_id"),
        ("continuity_envelope/principal_id", "blank", "Continuity field is required: principal_id"),
        ("continuity_envelope/authorization_mode", "blank", "Continuity field is required: authorization_mode"),
        ("continuity_envelope/policy_version", "blank", "Continuity field is required: policy_version"),
        ("continuity_envelope/checkpoint_ref", "blank", "Continuity field is required: checkpoint_ref"),
        ("continuity_envelope/summary_sha256", "blank", "Continuity field is required: summary_sha256"),
        ("continuity_envelope/capability_name", "blank", "Continuity field is required: capability_name"),
        ("continuity_envelope/capability_version", "blank", "Continuity field is required: capability_version"),
        ("continuity_envelope/approval_id", "blank", "Continuity field is required: approval_id"),
        ("continuity_envelope/action_digest", "blank", "Continuity field is required: action_digest"),
        ("continuity_envelope/approval_expires_at", "blank", "Continuity field is required: approval_expires_at"),
        ("continuity_envelope/idempotency_key", "blank", "Continuity field is required: idempotency_key"),
        ("continuity_envelope/side_effect_status", "blank", "Continuity field is required: side_effect_status"),
        ("continuity_envelope/actions/#/capability_name", "blank", "Continuity field is required: capability_name"),
        (
            "continuity_envelope/actions/#/capability_version",
            "blank",
            "Continuity field is required: capability_version",
        ),
        ("continuity_envelope/actions/#/approval_id", "blank", "Continuity field is required: approval_id"),
        ("continuity_envelope/actions/#/action_digest", "blank", "Continuity field is required: action_digest"),
        (
            "continuity_envelope/actions/#/approval_expires_at",
            "blank",
            "Continuity field is required: approval_expires_at",
        ),
        ("continuity_envelope/actions/#/idempotency_key", "blank", "Continuity field is required: idempotency_key"),
        (
            "continuity_envelope/actions/#/side_effect_status",
            "blank",
            "Continuity field is required: side_effect_status",
        ),
        ("continuity_envelope/schema_version", "missing", "Continuity field is required: schema_version"),
        ("continuity_envelope/envelope_id", "missing", "Continuity field is required: envelope_id"),
        ("continuity_envelope/session_id", "missing", "Continuity field is required: session_id"),
        ("continuity_envelope/source_trace_id", "missing", "Continuity field is required: source_trace_id"),
        ("continuity_envelope/tenant_id", "missing", "Continuity field is required: tenant_id"),
        ("continuity_envelope/principal_id", "missing", "Continuity field is required: principal_id"),
        ("continuity_envelope/authorization_mode", "missing", "Continuity field is required: authorization_mode"),
        ("continuity_envelope/policy_version", "missing", "Continuity field is required: policy_version"),
        ("continuity_envelope/checkpoint_ref", "missing", "Continuity field is required: checkpoint_ref"),
        ("continuity_envelope/actions/#/capability_name", "missing", "Continuity field is required: capability_name"),
        (
            "continuity_envelope/actions/#/capability_version",
            "missing",
            "Continuity field is required: capability_version",
        ),
        ("continuity_envelope/actions/#/action_digest", "missing", "Continuity field is required: action_digest"),
        (
            "continuity_envelope/actions/#/side_effect_status",
            "missing",
            "Continuity field is required: side_effect_status",
        ),
        (
            "continuity_envelope/side_effect_status",
            "unsupported",
            "Continuity side-effect status is not supported: garbage",
        ),
        (
            "continuity_envelope/actions/#/side_effect_status",
            "unsupported",
            "Continuity side-effect status is not supported: garbage",
        ),
        ("continuity_envelope/schema_version", "unsupported", "Continuity schema version is not supported: garbage"),
        (
            "continuity_envelope/authorization_mode",
            "unsupported",
            "Continuity authorization mode is not supported: garbage",
        ),
        ("continuity_envelope/summary_sha256", "unsupported", "Continuity summary digest must use sha256"),
        (
            "continuity_envelope/requires_reauthorization",
            "boolean",
            "Continuity reauthorization flag must be a boolean",
        ),
    ],
}
CASES = [(file, *row) for file, rows in EXPECTED.items() for row in rows]
WRONG = {
    "object": [17],
    "array": ["x"],
    "string": [17, None, True, ["x"]],
    "boolean": ["true", 1, None],
    "integer": ["5", 1.5, True, None],
    "blank": ["", " ", "\t"],
    "unsupported": ["garbage"],
    "too small": [0, -1],
    "empty list": [[]],
}


def test_every_text_of_the_table_is_expected_here() -> None:
    assert {(file, path, condition) for file, path, condition, _ in ROWS} == {case[:3] for case in CASES}
    assert len(ROWS) == len(CASES)


@pytest.mark.parametrize(("file", "path", "condition", "text"), CASES, ids=lambda value: str(value)[:60])
def test_known_text_is_said_of_the_condition_it_belongs_to(file: str, path: str, condition: str, text: str) -> None:
    for source in _broken(file, path, condition):
        found = _problems(file, source)
        assert text in [problem.message for problem in found], (source, found)
        said = next(problem for problem in found if problem.message == text)
        # Our own words go on standing beside it: a code, a place, and a hint that says what was found.
        assert said.file == f"some/{file}"
        assert said.line >= 1
        assert said.column >= 1
        assert said.code
        assert said.hint


@pytest.mark.parametrize("file", sorted(SOUND))
def test_sound_document_says_nothing(file: str) -> None:
    assert _problems(file, json.dumps(SOUND[file])) == []


def test_known_text_stands_where_the_value_stands_and_keeps_the_code() -> None:
    source = "controls:\n  require:\n    - a_control\n    - a_control\n  block_if: []\n"
    assert _problems("controls.yaml", source) == [
        Problem(
            "some/controls.yaml",
            4,
            7,
            "schema_duplicate",
            "controls.require entries must be unique",
            "item 2 of `require` is `a_control`, which is already on line 3",
        )
    ]


def test_other_document_of_the_same_shape_keeps_our_words() -> None:
    found = schema_problems(load("controls: 17", file="some/others.yaml"), schema("controls"))
    assert [problem.message for problem in found] == ["`controls` is the number `17`, wanted a mapping"]


def test_word_of_the_user_is_shown_on_one_line() -> None:
    found = _problems(
        "policy.yaml", _changed("policy.yaml", "policy/capabilities/create_ticket/decision", "a\u202eb\nc")
    )
    assert [problem.message for problem in found] == [r"Policy decision is not supported: a\u202eb\nc"]


@pytest.mark.parametrize(
    ("keyword", "wanted", "value", "condition"),
    [
        ("type", ["string", "null"], 17, ""),
        ("minLength", 1, "", "blank"),
        ("minLength", 3, "ab", ""),
        ("propertyNames", {}, "9x", ""),
        ("additionalProperties", False, "x", ""),
    ],
)
def test_breach_without_a_condition_has_no_known_text(keyword: str, wanted: Any, value: Any, condition: str) -> None:
    assert condition_of(keyword, wanted, value) == condition
    assert seed_text("policy.yaml", ("policy", "unknown"), condition) is None


def _problems(file: str, source: str) -> list[Problem]:
    try:
        document = load(source, file=f"some/{file}")
    except BundleError as exc:
        return list(exc.problems)
    return schema_problems(document, schema(file.removesuffix(".yaml")))


def _broken(file: str, path: str, condition: str) -> list[str]:
    """The sound document as YAML text, broken at `path` in every way that `condition` means."""
    if condition == "root":
        return ["just text", "17", "", "- 1"] if file != "agent.yaml" else ["just text", "17", ""]
    if condition == "list at root":
        return ["- create_ticket"]
    real = path.replace("*", "sessions" if file.startswith("runtime") else "create_ticket").replace("#", "0")
    if condition == "missing":
        document = copy.deepcopy(SOUND[file])
        parent, last = _parent(document, real)
        del parent[last]
        return [json.dumps(document)]
    if condition == "duplicate":
        document = copy.deepcopy(SOUND[file])
        parent, last = _parent(document, real)
        parent.append(parent[last])
        return [json.dumps(document)]
    if condition.startswith("key"):
        written = {"key not string": ["17", "true"], "key blank": ['""', '"  "'], "key duplicate": ['"create_ticket"']}
        document = copy.deepcopy(SOUND[file])
        parent, last = _parent(document, real)
        parent["@"] = parent[last]
        return [json.dumps(document).replace('"@"', key) for key in written[condition]]
    values = ["9 lives"] if text_is_a_role(path, condition) else WRONG[condition]
    if file == "trajectory.yaml" and condition == "unsupported" and not path.endswith("/kind"):
        values = ["Garbage", "a" * 65, "-a", "a b"]
    return [_changed(file, real, value) for value in values]


def text_is_a_role(path: str, condition: str) -> bool:
    return path.endswith("/approval") and condition == "unsupported"


def _changed(file: str, path: str, value: Any) -> str:
    document = copy.deepcopy(SOUND[file])
    parent, last = _parent(document, path)
    parent[last] = value
    return json.dumps(document)


def _parent(document: Any, path: str) -> tuple[Any, Any]:
    *steps, last = path.split("/")
    for step in steps:
        document = document[int(step)] if isinstance(document, list) else document.setdefault(step, {})
    return (document, int(last)) if isinstance(document, list) else (document, last)
