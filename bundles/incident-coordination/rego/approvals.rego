# "Approval contracts". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

# METADATA
# title: "Approval of run_remediation"
# custom:
#   source: "approvals.yaml#/approval_contracts/0"
contracts["run_remediation"] := {
	"contract_id": "remediation-commander-and-service-owner",
	"capability": "run_remediation",
	"risk_tier": "critical",
	"bundle_version": "2026.04.07",
	"release_identity": "release-incident-coordination-2026-04-07-canary",
	"required_reviewers": ["incident-commander", "service-owner"],
	"quorum": 2,
	"request_fields": ["trace_id", "session_id", "idempotency_key", "requested_by", "reason", "tool_arguments_redacted"],
	"allowed_decisions": ["approved", "rejected"],
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 900, "on_expiry": "cancel_run"},
	"on_reject": "stop_run",
	"audit_fields": ["approval_id", "contract_id", "action_digest", "status", "requested_by", "reviewers", "delegated_scope"],
	"role_sets": [["incident-commander"], ["service-owner"], ["incident-commander", "service-owner"]],
	"contract_digest": "sha256:8b52a1f332750bfc75f1ac25c286e89432e38ae461defbf16a75ce5f9118736a",
}

# METADATA
# title: "Approval of hand_over_incident"
# custom:
#   source: "approvals.yaml#/approval_contracts/1"
contracts["hand_over_incident"] := {
	"contract_id": "hand-over-commander",
	"capability": "hand_over_incident",
	"risk_tier": "high",
	"bundle_version": "2026.04.07",
	"release_identity": "release-incident-coordination-2026-04-07-canary",
	"required_reviewers": ["incident-commander"],
	"quorum": 1,
	"request_fields": ["trace_id", "session_id", "idempotency_key", "requested_by", "reason", "tool_arguments_redacted"],
	"allowed_decisions": ["approved", "rejected"],
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 900, "on_expiry": "request_again", "while_pending": "pause_run"},
	"on_reject": "continue_without",
	"audit_fields": ["approval_id", "contract_id", "action_digest", "status", "requested_by", "reviewers", "delegated_scope"],
	"delegation": true,
	"contract_digest": "sha256:3f48c0697db90857247c45c4b21bf24c6fc4f78c37bc9f32c1e5b5050cbbbdd4",
}

# METADATA
# title: "Approval of notify_customers"
# custom:
#   source: "approvals.yaml#/approval_contracts/2"
contracts["notify_customers"] := {
	"contract_id": "customer-notice-communications",
	"capability": "notify_customers",
	"risk_tier": "high",
	"bundle_version": "2026.04.07",
	"release_identity": "release-incident-coordination-2026-04-07-canary",
	"required_reviewers": ["communications-lead"],
	"quorum": 1,
	"request_fields": ["trace_id", "session_id", "idempotency_key", "requested_by", "reason", "tool_arguments_redacted"],
	"allowed_decisions": ["approved", "rejected"],
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 3600, "on_expiry": "request_again", "escalation": {"role": "incident-commander", "after_ms": 900000}},
	"on_reject": "continue_without",
	"audit_fields": ["approval_id", "contract_id", "action_digest", "status", "requested_by", "reviewers", "delegated_scope"],
	"standing": {"max_uses": 3, "valid_seconds": 3600, "scope": "session", "free_arguments": ["/message"]},
	"contract_digest": "sha256:26dec8f1fc7ea3bcb384dfc2357722843eaa9d1bfb0e69cf8e936fd61e1e3bb8",
}
