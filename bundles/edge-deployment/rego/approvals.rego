# "Approval contracts". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

# METADATA
# title: "Approval of run_change_plan"
# custom:
#   source: "approvals.yaml#/approval_contracts/0"
contracts["run_change_plan"] := {
	"contract_id": "change-plan-release-manager",
	"capability": "run_change_plan",
	"risk_tier": "high",
	"bundle_version": "2026.09.08",
	"release_identity": "release-edge-deployment-2026-09-08-canary",
	"required_reviewers": ["release_manager"],
	"quorum": 1,
	"request_fields": ["trace_id", "session_id", "idempotency_key", "requested_by", "reason", "tool_arguments_redacted"],
	"allowed_decisions": ["approved", "rejected"],
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 1800, "on_expiry": "request_again"},
	"on_reject": "stop_run",
	"audit_fields": ["approval_id", "contract_digest", "action_digest", "status", "requested_by", "reviewers"],
	"contract_digest": "sha256:391d5fea23d230b0076c5396e5ecdcfe437385ae331be6e1d85a64302813ce91",
}

# METADATA
# title: "Approval of roll_out"
# custom:
#   source: "approvals.yaml#/approval_contracts/1"
contracts["roll_out"] := {
	"contract_id": "roll-out-release-manager",
	"capability": "roll_out",
	"risk_tier": "high",
	"bundle_version": "2026.09.08",
	"release_identity": "release-edge-deployment-2026-09-08-canary",
	"required_reviewers": ["release_manager"],
	"quorum": 1,
	"request_fields": ["trace_id", "session_id", "idempotency_key", "requested_by", "reason", "tool_arguments_redacted"],
	"allowed_decisions": ["approved", "rejected"],
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 1800, "on_expiry": "request_again"},
	"on_reject": "continue_without",
	"audit_fields": ["approval_id", "contract_digest", "action_digest", "status", "requested_by", "reviewers"],
	"contract_digest": "sha256:48b2083e4699172e06f7562660ff49fe6d188695393ec143d9a83b5d13e8e02e",
}
