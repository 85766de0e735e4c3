# METADATA
# title: What the tests share
# description: >-
#   one small bundle shaped like the compiled support-triage, one sound document a journey, and the ways to break them.
#   The tests break a sound document one field at a time and compare whole sets of codes
package gate.fixture_test

# METADATA
# title: Which bundle governs which agent
bundle_of := {"triage-agent": "triage"}

# METADATA
# title: The compiled bundles
# description: the findings are a plain set here; a guard's test never depends on what the bundle permits
bundles := {"triage": {
	"bundle": {
		"bundle_id": "policy-triage",
		"version": "2026.04.07",
		"owner_team": "platform-safety",
		"contract_version": "capability-contract-v3",
		"release_identity": "release-triage",
		"allow_network_access": ["restricted", "brokered"],
		"memory_kinds": ["validated_fact", "session_summary"],
		"show_arguments": {"create_ticket": ["/queue"]},
	},
	"catalog": {
		"search_docs": {
			"mode": "read",
			"side_effect": "none",
			"risk_tier": "low",
			"network_access": "restricted",
			"allowed_egress": ["docs.internal"],
			"timeout_seconds": 5,
			"approval": "none",
			"idempotency_key_required": false,
			"arguments_digest": "sha256:search-arguments",
			"capability_version": "sha256:search-version",
		},
		"create_ticket": {
			"mode": "write",
			"side_effect": "external_write",
			"risk_tier": "high",
			"network_access": "brokered",
			"allowed_egress": ["tickets.internal"],
			"timeout_seconds": 15,
			"approval": "manager",
			"idempotency_key_required": true,
			"identifying_arguments": ["/queue", "/title"],
			"arguments_digest": "sha256:ticket-arguments",
			"capability_version": "sha256:ticket-version",
		},
	},
	"decisions": {"search_docs": "allow", "create_ticket": "approval_required"},
	"contracts": {"create_ticket": {
		"contract_id": "create-ticket-manager",
		"capability": "create_ticket",
		"required_reviewers": ["manager"],
		"quorum": 1,
		"request_fields": [
			"trace_id", "session_id", "idempotency_key", "requested_by", "reason", "tool_arguments_redacted",
		],
		"allowed_decisions": ["approved", "rejected"],
		"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 1800, "on_expiry": "cancel_run"},
		"on_reject": "stop_run",
		"contract_digest": "sha256:contract",
	}},
	"reviewers": {
		"mira-manager": {
			"human": "Mira@Example.com",
			"roles": ["manager"],
			"keys": {"mira-key": {"public_key": "bWlyYQ==", "not_before_ms": 1000, "not_after_ms": 90000}},
		},
		"mira-second": {
			"human": " mira@example.com",
			"roles": ["manager"],
			"keys": {"mira-second-key": {"public_key": "bWlyYTI=", "not_before_ms": 1000, "not_after_ms": 90000}},
		},
		"noor-manager": {
			"human": "Noor@Example.com",
			"roles": ["manager"],
			"keys": {"noor-key": {"public_key": "bm9vcg==", "not_before_ms": 1000, "not_after_ms": 90000}},
		},
		"otto-auditor": {
			"human": "Otto@Example.com",
			"roles": ["auditor"],
			"keys": {"otto-key": {"public_key": "b3R0bw==", "not_before_ms": 1000, "not_after_ms": 90000}},
		},
	},
	"refused": {"run_shell": true},
	"findings": {permit},
}}

# METADATA
# title: What permits in the test bundle
permit := {
	"code": "configured_allow",
	"verdict": "allow",
	"rule": "cap_110",
	"requirement": "capabilities.x",
	"source": "policy.yaml#/policy/capabilities/x",
}

# METADATA
# title: A signed vote by Mira
vote := {
	"reviewer": "mira-manager",
	"key_id": "mira-key",
	"decision": "approved",
	"approval_id": "apr-1",
	"nonce": "nonce-1",
	"environment": "test",
	"action_digest": "sha256:action",
	"contract_digest": "sha256:contract",
	"issued_at_ms": 40000,
	"expires_at_ms": 60000,
	"verified": true,
}

# METADATA
# title: The same vote by Noor
noor := object.union(vote, {"reviewer": "noor-manager", "key_id": "noor-key"})

# METADATA
# title: A ticket write under an approval that Mira signed
ticket := {
	"schema_version": "gate-input/v1",
	"checkpoint": "tool_execution",
	"operation": "call_tool",
	"request_id": "req-1",
	"now_ms": 50000,
	"trace": {"trace_id": "trace-1", "session_id": "session-1", "run_id": "run-1"},
	"agent": {"agent_id": "triage-agent", "environment": "test"},
	"identity": {
		"tenant_id": "tenant-acme",
		"principal_id": "user-42",
		"authorization_mode": "user_delegated",
		"delegated_principal_id": "user-42",
		"delegated_scope": "tickets:create",
	},
	"request": {
		"capability": "create_ticket",
		"idempotency_key": "key-1",
		"reason": "The customer reported a broken invoice.",
		"arguments": {"queue": "support", "title": "Broken invoice"},
	},
	"state": {
		"run": {
			"run_id": "run-1",
			"status": "running",
			"tenant_id": "tenant-acme",
			"principal_id": "user-42",
			"agent_id": "triage-agent",
			"session_id": "session-1",
			"authorization_mode": "user_delegated",
			"delegated_principal_id": "user-42",
			"delegated_scope": "tickets:create",
			"version": 1,
			"epoch": 1,
			"boundary": null,
		},
		"constraints": [],
		"versions": {
			"bundle_version": "2026.04.07",
			"release_identity": "release-triage",
			"capability_version": "sha256:ticket-version",
			"contract_digest": "sha256:contract",
		},
		"approval": {
			"approval_id": "apr-1",
			"run_id": "run-1",
			"status": "approved",
			"capability": "create_ticket",
			"contract_id": "create-ticket-manager",
			"contract_digest": "sha256:contract",
			"action_digest": "sha256:action",
			"intent_digest": "sha256:intent",
			"nonce": "nonce-1",
			"tenant_id": "tenant-acme",
			"principal_id": "user-42",
			"agent_id": "triage-agent",
			"session_id": "session-1",
			"requested_by": "user-42",
			"bundle_version": "2026.04.07",
			"release_identity": "release-triage",
			"created_at_ms": 30000,
			"expires_at_ms": 60000,
			"escalated_at_ms": null,
			"standing_digest": null,
			"uses": 0,
			"denied_keys": [],
			"version": 2,
			"votes": [vote],
		},
		"rejection": {"approval_id": null, "intent_digest": null},
		"side_effect": {"status": "not_started", "business_key": "sha256:business"},
		"idempotency": {"idempotency_key": null, "action_digest": null},
	},
	"evidence": {"arguments": {"valid": true, "schema_digest": "sha256:ticket-arguments", "identified": true}},
	"digests": {
		"action_digest": "sha256:action",
		"intent_digest": "sha256:intent",
		"arguments": "sha256:arguments",
		"tool_definition": null,
	},
}

# METADATA
# title: A reading call that needs neither approval nor claim
reading := object.union(ticket, {
	"request": {"capability": "search_docs", "idempotency_key": null, "reason": null},
	"state": {
		"versions": {"capability_version": "sha256:search-version"},
		"approval": null,
		"side_effect": null,
		"idempotency": null,
	},
	"evidence": {"arguments": {"schema_digest": "sha256:search-arguments", "identified": false}},
})

# METADATA
# title: Mira hands in an approving vote
voting := object.union(_by_reviewer, {
	"operation": "approval_transition",
	"request": {"transition": "approve"},
	"state": {
		"run": ticket.state.run,
		"approval": object.union(ticket.state.approval, {"status": "pending", "votes": []}),
	},
	"evidence": {"vote": vote},
})

# METADATA
# title: Somebody reconciles an effect of unknown outcome as not committed
reconciling := object.union(_by_reviewer, {
	"operation": "effect_transition",
	"request": {"outcome": "not_committed"},
	"state": {"run": ticket.state.run, "side_effect": {
		"status": "side_effect_unknown",
		"capability": "create_ticket",
		"business_key": "sha256:business",
		"idempotency_key": "key-1",
		"action_digest": "sha256:action",
		"run_id": "run-1",
		"lease_expires_at_ms": 45000,
		"version": 3,
	}},
	"evidence": {"reconciliation": {"evidence_ref": "ledger entry 7", "owner_fenced": true}},
})

_by_reviewer := object.union(
	object.remove(ticket, ["request", "state", "evidence", "digests", "identity"]),
	{
		"checkpoint": "state",
		"identity": {
			"tenant_id": "tenant-acme",
			"principal_id": "mira-manager",
			"authorization_mode": "human_approved",
		},
	},
)

# METADATA
# title: A document with one value set
put(doc, path, value) := json.patch(doc, [{"op": "add", "path": path, "value": value}])

# METADATA
# title: A document without one field
without(doc, path) := json.remove(doc, [path])

# METADATA
# title: A document broken at one field, in every way
# description: by what was done to it; the field is absent, then holds each of the values
broken(doc, path, values) := object.union({"absent": without(doc, path)}, {json.marshal(value): put(doc, path, value) |
	some value in values
})

# METADATA
# title: No string
no_string := [null, true, 17, ["garbage"], {}]

# METADATA
# title: No string that says something
no_text := array.concat(no_string, ["", " \t\n"])

# METADATA
# title: No particular string
garbage := array.concat(no_text, ["garbage"])

# METADATA
# title: No number
no_number := [null, true, "50000", [50000], {}]

# METADATA
# title: Nothing that says yes
no_true := [null, false, 1, "true", [true]]

# METADATA
# title: No section
no_section := [null, true, 17, "garbage", ["garbage"], {}]
