# "Approval contracts". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

# METADATA
# title: "Approval of share_answer_externally"
# custom:
#   source: "approvals.yaml#/approval_contracts/0"
contracts["share_answer_externally"] := {
	"contract_id": "share-answer-knowledge-owner",
	"capability": "share_answer_externally",
	"risk_tier": "high",
	"bundle_version": "2026.04.07",
	"release_identity": "release-knowledge-assistant-2026-04-07-canary",
	"required_reviewers": ["knowledge-owner"],
	"quorum": 1,
	"request_fields": ["trace_id", "session_id", "idempotency_key", "requested_by", "reason", "tool_arguments_redacted"],
	"allowed_decisions": ["approved", "rejected"],
	"runtime_controls": {"pause_allowed": true, "max_wait_seconds": 3600, "on_expiry": "request_again"},
	"on_reject": "continue_without",
	"audit_fields": ["approval_id", "contract_id", "action_digest", "status", "requested_by", "reviewers", "delegated_scope"],
	"contract_digest": "sha256:5b76a9bdad79694d8d6d9449ff5dcf41e8edd05dc1d18108a78dc7fbd523672f",
}
