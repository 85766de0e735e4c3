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
	"contract_digest": "sha256:aedebcf18a340e07751f84cfeb8e3bf989ed78ea74b02b0baf2b166c6a00427e",
}
