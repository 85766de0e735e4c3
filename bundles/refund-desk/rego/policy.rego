# "Policy". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.refund_desk

import data.gate.finding

# METADATA
# title: "require_tenant"
# custom:
#   source: "policy.yaml#/policy/run_precheck/require_tenant"
findings contains finding.new("tenant_missing", "deny", "run_001", "run_precheck.require_tenant", "policy.yaml#/policy/run_precheck/require_tenant") if not _tenant_id_stated

_tenant_id_stated if {
	is_string(input.identity.tenant_id)
	trim_space(input.identity.tenant_id) != ""
}

# METADATA
# title: "deny_if_principal_missing"
# custom:
#   source: "policy.yaml#/policy/run_precheck/deny_if_principal_missing"
findings contains finding.new("principal_missing", "deny", "run_002", "run_precheck.deny_if_principal_missing", "policy.yaml#/policy/run_precheck/deny_if_principal_missing") if not _principal_id_stated

_principal_id_stated if {
	is_string(input.identity.principal_id)
	trim_space(input.identity.principal_id) != ""
}

# METADATA
# title: "allow run_start"
# custom:
#   source: "policy.yaml#/policy/operations/run_start"
findings contains finding.new("operation_allowed", "allow", "op.run_start", "operations.run_start", "policy.yaml#/policy/operations/run_start") if {
	input.checkpoint == "input"
	input.operation == "run_start"
}

# METADATA
# title: "allow user_message"
# custom:
#   source: "policy.yaml#/policy/operations/user_message"
findings contains finding.new("operation_allowed", "allow", "op.user_message", "operations.user_message", "policy.yaml#/policy/operations/user_message") if {
	input.checkpoint == "input"
	input.operation == "user_message"
}

# METADATA
# title: "allow model_call"
# custom:
#   source: "policy.yaml#/policy/operations/model_call"
findings contains finding.new("operation_allowed", "allow", "op.model_call", "operations.model_call", "policy.yaml#/policy/operations/model_call") if {
	input.checkpoint == "llm"
	input.operation == "model_call"
}

# METADATA
# title: "allow approval_transition"
# custom:
#   source: "policy.yaml#/policy/operations/approval_transition"
findings contains finding.new("operation_allowed", "allow", "op.approval_transition", "operations.approval_transition", "policy.yaml#/policy/operations/approval_transition") if {
	input.checkpoint == "state"
	input.operation == "approval_transition"
}

# METADATA
# title: "allow effect_transition"
# custom:
#   source: "policy.yaml#/policy/operations/effect_transition"
findings contains finding.new("operation_allowed", "allow", "op.effect_transition", "operations.effect_transition", "policy.yaml#/policy/operations/effect_transition") if {
	input.checkpoint == "state"
	input.operation == "effect_transition"
}

# METADATA
# title: "allow list_tools"
# custom:
#   source: "policy.yaml#/policy/operations/list_tools"
findings contains finding.new("operation_allowed", "allow", "op.list_tools", "operations.list_tools", "policy.yaml#/policy/operations/list_tools") if {
	input.checkpoint == "tool_execution"
	input.operation == "list_tools"
}

# METADATA
# title: "allow emit"
# custom:
#   source: "policy.yaml#/policy/operations/emit"
findings contains finding.new("operation_allowed", "allow", "op.emit", "operations.emit", "policy.yaml#/policy/operations/emit") if {
	input.checkpoint == "output"
	input.operation == "emit"
}

# METADATA
# title: "allow compact"
# custom:
#   source: "policy.yaml#/policy/operations/compact"
findings contains finding.new("operation_allowed", "allow", "op.compact", "operations.compact", "policy.yaml#/policy/operations/compact") if {
	input.checkpoint == "state"
	input.operation == "compact"
}

# METADATA
# title: "allow recover"
# custom:
#   source: "policy.yaml#/policy/operations/recover"
findings contains finding.new("operation_allowed", "allow", "op.recover", "operations.recover", "policy.yaml#/policy/operations/recover") if {
	input.checkpoint == "state"
	input.operation == "recover"
}

# METADATA
# title: "allow rehydrate"
# custom:
#   source: "policy.yaml#/policy/operations/rehydrate"
findings contains finding.new("operation_allowed", "allow", "op.rehydrate", "operations.rehydrate", "policy.yaml#/policy/operations/rehydrate") if {
	input.checkpoint == "state"
	input.operation == "rehydrate"
}

# METADATA
# title: "allow lookup_charge"
# custom:
#   source: "policy.yaml#/policy/capabilities/lookup_charge"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.lookup_charge", "policy.yaml#/policy/capabilities/lookup_charge") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "lookup_charge"
}

# METADATA
# title: "What the policy says of lookup_charge"
# custom:
#   source: "policy.yaml#/policy/capabilities/lookup_charge"
decisions["lookup_charge"] := "allow"

# METADATA
# title: "allow issue_refund"
# custom:
#   source: "policy.yaml#/policy/capabilities/issue_refund"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.issue_refund", "policy.yaml#/policy/capabilities/issue_refund") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "issue_refund"
}

# METADATA
# title: "What the policy says of issue_refund"
# custom:
#   source: "policy.yaml#/policy/capabilities/issue_refund"
decisions["issue_refund"] := "allow"

# METADATA
# title: "approval_required issue_manager_refund"
# custom:
#   source: "policy.yaml#/policy/capabilities/issue_manager_refund"
findings contains finding.new("configured_with_approval", "allow", "cap_210", "capabilities.issue_manager_refund", "policy.yaml#/policy/capabilities/issue_manager_refund") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "issue_manager_refund"
}

# METADATA
# title: "What the policy says of issue_manager_refund"
# custom:
#   source: "policy.yaml#/policy/capabilities/issue_manager_refund"
decisions["issue_manager_refund"] := "approval_required"

# METADATA
# title: "When evidence.charge_review counts"
# custom:
#   source: "policy.yaml#/policy/evidence/charge_review"
evidence_controls["charge_review"] := {
	"max_age_ms": 300000,
	"checked_by": ["svc-billing-ledger"],
	"signature_keys": null,
	"required_for": [],
}
