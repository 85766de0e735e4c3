# "Required controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

# METADATA
# title: "Controls to be assessed"
# custom:
#   source: "controls.yaml#/controls"
required_controls := {
	"require": [{"name": "registry_reviewed", "kind": "signal", "subject": ""}, {"name": "capability_owners_confirmed", "kind": "signal", "subject": ""}, {"name": "memory_provenance_enforced", "kind": "signal", "subject": ""}, {"name": "policy_traces_present", "kind": "policy_traces_present", "subject": ""}, {"name": "golden_cases_passed", "kind": "golden_cases_passed", "subject": ""}, {"name": "noisy_alert_eval_passed", "kind": "eval_passed", "subject": "noisy_alert"}, {"name": "notify_duplicate_eval_passed", "kind": "eval_passed", "subject": "notify_duplicate"}, {"name": "wrong_owner_eval_passed", "kind": "eval_passed", "subject": "wrong_owner"}, {"name": "without_runbook_eval_passed", "kind": "eval_passed", "subject": "without_runbook"}, {"name": "remediate_eval_passed", "kind": "eval_passed", "subject": "remediate"}, {"name": "run_remediation_approval_required", "kind": "approval_required", "subject": "run_remediation"}, {"name": "run_remediation_idempotency_key_required", "kind": "idempotency_key_required", "subject": "run_remediation"}, {"name": "hand_over_incident_approval_required", "kind": "approval_required", "subject": "hand_over_incident"}, {"name": "notify_customers_approval_required", "kind": "approval_required", "subject": "notify_customers"}, {"name": "notify_responders_idempotency_key_required", "kind": "idempotency_key_required", "subject": "notify_responders"}],
	"block_if": [{"name": "direct_tool_access_present", "kind": "signal", "subject": ""}, {"name": "unmanaged_runtime_present", "kind": "signal", "subject": ""}, {"name": "notification_outside_ledger_present", "kind": "signal", "subject": ""}],
	"required_approval_roles": ["incident-commander", "service-owner", "communications-lead"],
}
