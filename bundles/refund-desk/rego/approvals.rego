# "Approval contracts". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.refund_desk

# METADATA
# title: "Approval of issue_refund"
# custom:
#   source: "approvals.yaml#/approval_contracts/0"
contracts["issue_refund"] := {
	"contract_id": "refund-support-review",
	"capability": "issue_refund",
	"risk_tier": "high",
	"bundle_version": "2026.06.01",
	"release_identity": "release-refund-desk-2026-06-01",
	"required_reviewers": ["support_reviewer"],
	"quorum": 1,
	"request_fields": ["trace_id", "session_id", "idempotency_key", "requested_by", "reason", "tool_arguments_redacted"],
	"allowed_decisions": ["approved", "rejected"],
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 86400, "on_expiry": "cancel_run"},
	"on_reject": "continue_without",
	"audit_fields": ["approval_id", "contract_id", "action_digest", "status", "reviewers"],
	"contract_digest": "sha256:1890bf4ce57f275ede92a4c1b6d403f491e0ed1e8b382c53f3c7e13e2496eafa",
}

# METADATA
# title: "Approval of issue_manager_refund"
# custom:
#   source: "approvals.yaml#/approval_contracts/1"
contracts["issue_manager_refund"] := {
	"contract_id": "refund-manager",
	"capability": "issue_manager_refund",
	"risk_tier": "high",
	"bundle_version": "2026.06.01",
	"release_identity": "release-refund-desk-2026-06-01",
	"required_reviewers": ["manager"],
	"quorum": 1,
	"request_fields": ["trace_id", "session_id", "idempotency_key", "requested_by", "reason", "tool_arguments_redacted"],
	"allowed_decisions": ["approved", "rejected"],
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 86400, "on_expiry": "cancel_run"},
	"on_reject": "continue_without",
	"audit_fields": ["approval_id", "contract_id", "action_digest", "status", "reviewers"],
	"contract_digest": "sha256:3729f96eff77c2e699fc214876499083533da1f8ffd73a32697a51fc8832a044",
}
