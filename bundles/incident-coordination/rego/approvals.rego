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
	"contract_digest": "sha256:b5d794fb3e67ac41ac58bf9e536d9b8ab127967d6dc0fc9dfd76a6bf65eecfe9",
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
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 900, "on_expiry": "request_again"},
	"on_reject": "continue_without",
	"audit_fields": ["approval_id", "contract_id", "action_digest", "status", "requested_by", "reviewers", "delegated_scope"],
	"contract_digest": "sha256:17889eb66c1f7abb1195a6345346bb120658c7194599616bd02dc750875ea3b9",
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
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 1800, "on_expiry": "request_again"},
	"on_reject": "continue_without",
	"audit_fields": ["approval_id", "contract_id", "action_digest", "status", "requested_by", "reviewers", "delegated_scope"],
	"contract_digest": "sha256:05fb161e1601301f5f573cfc97354b5f09b15204361229ff4bc08be4a9ef6696",
}
