# METADATA
# title: What the tests of runtime controls share
# description: the small bundle with every runtime control at a value that lets a sound document pass
package gate.runtime.fixture_test

import data.gate.fixture_test as core

# METADATA
# title: The bundle without any runtime control
bare := json.patch(core.bundles, [
	{"op": "add", "path": "/triage/catalog/search_docs/owner", "value": "knowledge"},
	{"op": "add", "path": "/triage/catalog/search_docs/transport", "value": "mcp"},
	{"op": "add", "path": "/triage/catalog/search_docs/server", "value": "docs-mcp"},
	{"op": "add", "path": "/triage/catalog/search_docs/tool_principal", "value": "svc-reader"},
	{"op": "add", "path": "/triage/catalog/create_ticket/owner", "value": "support"},
	{"op": "add", "path": "/triage/catalog/create_ticket/transport", "value": "gateway"},
	{"op": "add", "path": "/triage/catalog/create_ticket/tool_principal", "value": "svc-writer"},
])

# METADATA
# title: The bundle with its runtime controls
bundles := json.patch(bare, array.concat(
	[{"op": "add", "path": "/triage/call_controls", "value": _call_controls}],
	[{"op": "add", "path": concat("", ["/triage/", group, "_controls"]), "value": fields} |
		some group, fields in _controls
	],
))

_call_controls := {
	"authorization_mode": "user_delegated_or_platform_owned",
	"catalog_evidence_required": true,
	"mcp_evidence_required": true,
	"sandbox_evidence_required": true,
	"verifier_contract_required_for_high_risk": true,
}

_controls := {
	"sessions": {
		"capability_session_mode": "stateful",
		"resume_policy": "resume_existing_session_if_valid",
		"on_session_expiry": "reinitialize",
		"reinit_requires_approval": false,
		"progress_event_policy": "from_live_session",
		"elicitation_policy": "non_sensitive_only",
	},
	"mcp": {
		"mcp_discovery_source": "approved_registry",
		"mcp_server_owner": "capability_owner",
		"mcp_auth_mode": "oauth",
		"shadow_mcp_handling": "deny",
		"catalog_max_ttl_ms": 30000,
		"catalog_sharing": "private",
	},
	"routing": {
		"approval_mode": "human_delegate_or_classifier",
		"approval_delegate": "auditor",
		"classifier_verdict_policy": "refuse_on_deny",
		"escalate_to_human_if": {
			"classifier_uncertain": false,
			"delegate_decided": false,
			"handed_off": false,
			"session_resumed": false,
			"worker_agent": false,
		},
		"subagent_handoff_policy": "explicit_binding",
	},
	"authorization": {
		"delegated_principal_policy": "explicit_principal_binding_required",
		"token_reuse_policy": "reuse_within_valid_paused_run_only",
		"on_authorization_revoke": "refuse",
	},
	"orchestration": {
		"allowed_orchestration_patterns": ["routing", "parallelization", "orchestrator_workers"],
		"disallowed_orchestration_patterns": {"create_ticket": ["parallelization"]},
		"worker_inheritance_policy": "explicit_only",
		"worker_capability_subset": ["search_docs", "create_ticket"],
		"review_required_before_worker_write": true,
	},
	"verifiers": {
		"trusted_verifier_contracts": ["verifier-v2"],
		"on_untrusted_verifier_contract": "deny",
		"verifier_contracts": {},
	},
	"sandbox": {
		"sandbox_profile_contract": {
			"contract_id": "box-v1", "network": "denied", "secrets": "none",
			"shell": "restricted",
			"workspace": ["/work:rw", "/cache:ro"],
			"resume": "fresh",
		},
		"sandbox_profile_review_required": true,
	},
}

# METADATA
# title: Where a runtime control stands in the bundle
place(name) := concat("", ["/triage/", group, "_controls/", name]) if {
	some group, fields in _controls
	split(name, "/")[0] in object.keys(fields)
}

# METADATA
# title: The bundle with one runtime control at another value
having(name, value) := core.put(bundles, place(name), value)

# METADATA
# title: The bundle with one control of every call at another value
asking(name, value) := core.put(bundles, concat("/", ["/triage/call_controls", name]), value)

# METADATA
# title: The bundle with one runtime control absent, or at a value that is none of its set
# description: by what was done to it
missing(name) := core.broken(bundles, place(name), [null, 17, "garbage"])

# METADATA
# title: A write whose approval was withdrawn
unapproved(doc) := core.put(doc, "/state/approval/status", "revoked")

# METADATA
# title: A document with one evidence section
stating(doc, section, value) := core.put(doc, concat("/", ["/evidence", section]), value)
