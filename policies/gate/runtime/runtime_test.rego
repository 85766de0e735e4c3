package gate.runtime_test

import data.gate.fixture_test as fixture
import data.gate.runtime
import data.gate.runtime.fixture_test as controls

test_none_plain_call_without_controls if {
	{_codes(doc, controls.bare) | some doc in [fixture.ticket, fixture.reading]} == {set()}
}

test_none_empty_document if _codes({}, controls.bare) == set()

test_none_where_no_tool_is_called if {[checkpoint, codes] |
	some checkpoint in ["input", "llm", "state", "output"]
	codes := _codes(json.patch(_everything, [{"op": "replace", "path": "/checkpoint", "value": checkpoint}]), controls.bare)
} == {[checkpoint, set()] | some checkpoint in ["input", "llm", "state", "output"]}

# Each thing that makes a call more than a plain one reaches the guard it concerns.
test_deny_each_situation if {what: codes |
	some what, doc in _situations
	codes := _codes(doc, controls.bare)
} == {
	"approval_route": {
		"approval_delegate_not_allowed", "approval_route_not_allowed", "classifier_refused", "classifier_not_convinced",
		"escalated_to_human",
	},
	"authorization": {"authorization_revoked", "delegated_principal_not_bound", "token_reuse_not_allowed"},
	"catalog_cache": {
		"catalog_partition_mismatch", "catalog_snapshot_expired", "catalog_target_mismatch",
		"tool_not_offered",
	},
	"classifier": {"classifier_refused", "classifier_not_convinced", "escalated_to_human"},
	"credential_binding": {"tool_principal_mismatch"},
	"destination": {"egress_destination_not_allowed"},
	"handoff": {"handoff_not_allowed", "handoff_needs_approval", "escalated_to_human"},
	"mcp": {
		"mcp_auth_mode_not_allowed", "mcp_discovery_source_not_allowed", "mcp_server_owner_mismatch",
		"mcp_shadow_server",
	},
	"oauth_scope": set(),
	"sandbox": {"sandbox_profile_mismatch", "sandbox_profile_not_reviewed", "sandbox_resume_not_allowed", "sandbox_workspace_not_allowed"},
	"session": {"session_binding_mismatch", "session_mode_not_allowed", "session_not_live"},
	"verifier": {"verifier_contract_untrusted", "verifier_not_passed"},
	"role": {"worker_authority_not_inherited", "worker_capability_not_allowed", "escalated_to_human"},
	"parent_agent_id": {"worker_authority_not_inherited", "worker_capability_not_allowed", "escalated_to_human"},
	"orchestration_pattern": {"orchestration_pattern_not_allowed"},
	"resume_tool": {
		"escalated_to_human", "session_authorization_stale", "session_binding_mismatch",
		"session_mode_not_allowed", "session_not_live", "session_resume_not_allowed",
	},
	"elicit": {"elicitation_refused", "session_binding_mismatch", "session_mode_not_allowed", "session_not_live"},
	"progress": {"progress_event_refused", "session_binding_mismatch", "session_mode_not_allowed", "session_not_live"},
	"human_approved": {"authorization_mode_not_allowed"},
}

_situations := object.union_n([
	{section: controls.stating(fixture.reading, section, {}) | some section in [
		"approval_route", "authorization", "catalog_cache", "classifier", "credential_binding", "destination", "handoff", "mcp", "oauth_scope",
		"sandbox", "session", "verifier",
	]},
	{field: fixture.put(fixture.reading, concat("/", ["/agent", field]), value) | some field, value in {
		"role": "worker",
		"parent_agent_id": "parent-agent",
		"orchestration_pattern": "routing",
	}},
	{operation: fixture.put(fixture.reading, "/operation", operation) |
		some operation in ["resume_tool", "elicit", "progress"]
	},
	{"human_approved": fixture.put(fixture.reading, "/identity/authorization_mode", "human_approved")},
])

# What a bundle wants of a plain call is looked for in every plain call.
test_deny_evidence_wanted if {
	_codes(fixture.reading, controls.bundles) == {"mcp_evidence_missing", "catalog_evidence_missing"}
	_codes(fixture.ticket, controls.bundles) == {"verifier_contract_missing"}
	bundles := fixture.put(controls.bundles, "/triage/catalog/create_ticket/transport", "local")
	_codes(fixture.ticket, bundles) == {
		"verifier_contract_missing", "sandbox_profile_mismatch", "sandbox_profile_not_reviewed",
		"sandbox_workspace_not_allowed", "sandbox_resume_not_allowed",
	}
}

test_none_sections_null if {
	doc := json.patch(fixture.reading, [{"op": "add", "path": concat("/", ["/evidence", section]), "value": null} |
		some section in _sections
	])
	_codes(doc, controls.bare) == set()
}

_sections := [
	"approval_route", "authorization", "catalog_cache", "classifier", "credential_binding", "destination", "handoff", "mcp", "oauth_scope", "sandbox",
	"session", "verifier", "worker_review",
]

_everything := json.patch(fixture.reading, [{"op": "add", "path": concat("/", ["/evidence", section]), "value": {}} |
	some section in _sections
])

# A document whose sections cannot be read is no plain call; nothing is known of it that a control is about.
test_plain_call_unreadable if {
	{_codes(fixture.put(fixture.reading, "/evidence", value), controls.bare) | some value in fixture.no_section} == {set()}
	{_codes(fixture.put(fixture.reading, "/agent", value), controls.bundles) | some value in fixture.no_section} == {set()}
}

_codes(doc, bundles) := {f.code |
	some f in runtime.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
