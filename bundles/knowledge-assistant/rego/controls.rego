# "Required controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

# METADATA
# title: "Controls to be assessed"
# custom:
#   source: "controls.yaml#/controls"
required_controls := {
	"require": [{"name": "registry_reviewed", "kind": "signal", "subject": ""}, {"name": "capability_owners_confirmed", "kind": "signal", "subject": ""}, {"name": "memory_provenance_enforced", "kind": "signal", "subject": ""}, {"name": "policy_traces_present", "kind": "policy_traces_present", "subject": ""}, {"name": "golden_cases_passed", "kind": "golden_cases_passed", "subject": ""}, {"name": "known_answer_eval_passed", "kind": "eval_passed", "subject": "known_answer"}, {"name": "insufficient_context_eval_passed", "kind": "eval_passed", "subject": "insufficient_context"}, {"name": "role_denied_eval_passed", "kind": "eval_passed", "subject": "role_denied"}, {"name": "conflicting_sources_eval_passed", "kind": "eval_passed", "subject": "conflicting_sources"}, {"name": "expired_page_eval_passed", "kind": "eval_passed", "subject": "expired_page"}, {"name": "share_answer_externally_approval_required", "kind": "approval_required", "subject": "share_answer_externally"}, {"name": "share_answer_externally_idempotency_key_required", "kind": "idempotency_key_required", "subject": "share_answer_externally"}, {"name": "remember_fact_idempotency_key_required", "kind": "idempotency_key_required", "subject": "remember_fact"}],
	"block_if": [{"name": "direct_tool_access_present", "kind": "signal", "subject": ""}, {"name": "unmanaged_runtime_present", "kind": "signal", "subject": ""}, {"name": "access_cache_shared_across_principals", "kind": "signal", "subject": ""}],
	"required_approval_roles": ["knowledge-owner"],
}
