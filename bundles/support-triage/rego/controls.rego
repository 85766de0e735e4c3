# "Required controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

# METADATA
# title: "Controls to be assessed"
# custom:
#   source: "controls.yaml#/controls"
required_controls := {
	"require": [{"name": "registry_reviewed", "kind": "signal", "subject": ""}, {"name": "capability_owners_confirmed", "kind": "signal", "subject": ""}, {"name": "memory_provenance_enforced", "kind": "signal", "subject": ""}, {"name": "policy_traces_present", "kind": "policy_traces_present", "subject": ""}, {"name": "duplicate_ticket_eval_passed", "kind": "eval_passed", "subject": "duplicate_ticket"}, {"name": "idempotency_keys_present", "kind": "signal", "subject": ""}, {"name": "create_ticket_approval_required", "kind": "approval_required", "subject": "create_ticket"}, {"name": "create_ticket_idempotency_key_required", "kind": "idempotency_key_required", "subject": "create_ticket"}],
	"block_if": [{"name": "direct_tool_access_present", "kind": "signal", "subject": ""}, {"name": "unmanaged_runtime_present", "kind": "signal", "subject": ""}],
	"required_approval_roles": ["manager"],
}
