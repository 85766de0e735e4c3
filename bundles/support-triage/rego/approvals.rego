# "Approval contracts". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

# METADATA
# title: "Approval of create_ticket"
# custom:
#   source: "approvals.yaml#/approval_contracts/0"
contracts["create_ticket"] := {
	"contract_id": "create-ticket-manager",
	"capability": "create_ticket",
	"risk_tier": "high",
	"bundle_version": "2026.04.07",
	"release_identity": "release-support-triage-2026-04-07-canary",
	"required_reviewers": ["manager"],
	"quorum": 1,
	"request_fields": ["trace_id", "session_id", "idempotency_key", "requested_by", "reason", "tool_arguments_redacted"],
	"allowed_decisions": ["approved", "rejected"],
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 1800, "on_expiry": "cancel_run"},
	"on_reject": "stop_run",
	"audit_fields": ["approval_id", "contract_id", "contract_digest", "action_digest", "status", "requested_by", "reviewers", "expires_at_ms", "delegated_principal_id", "delegated_scope", "tool_principal"],
	"requester_may_cancel": true,
	"contract_digest": "sha256:f2d50862fbc1084a5fa1025112e6e71c773c4fdd299e0eb7f62a95d52d40bf83",
}
