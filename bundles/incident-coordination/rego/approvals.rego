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
	"contract_digest": "sha256:44ae0de0dd0e7217a8a4848436cd6c7f89eee6688e6e29937867aa8daedd5ea5",
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
	"contract_digest": "sha256:e8106fa8a871ced3535741e0a8a0e8e08d8de847c5f023c1a7672945ed9b47c9",
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
	"contract_digest": "sha256:ac8b7427159a4126092973b841f2a21e7d62e20c04717707623c80025415c7a8",
}
