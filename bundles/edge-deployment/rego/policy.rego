# "Policy". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

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
# title: "allow register_release"
# custom:
#   source: "policy.yaml#/policy/capabilities/register_release"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.register_release", "policy.yaml#/policy/capabilities/register_release") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "register_release"
}

# METADATA
# title: "What the policy says of register_release"
# custom:
#   source: "policy.yaml#/policy/capabilities/register_release"
decisions["register_release"] := "allow"

# METADATA
# title: "allow run_smoke_test"
# custom:
#   source: "policy.yaml#/policy/capabilities/run_smoke_test"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.run_smoke_test", "policy.yaml#/policy/capabilities/run_smoke_test") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "run_smoke_test"
}

# METADATA
# title: "What the policy says of run_smoke_test"
# custom:
#   source: "policy.yaml#/policy/capabilities/run_smoke_test"
decisions["run_smoke_test"] := "allow"

# METADATA
# title: "allow shift_traffic"
# custom:
#   source: "policy.yaml#/policy/capabilities/shift_traffic"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.shift_traffic", "policy.yaml#/policy/capabilities/shift_traffic") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "shift_traffic"
}

# METADATA
# title: "What the policy says of shift_traffic"
# custom:
#   source: "policy.yaml#/policy/capabilities/shift_traffic"
decisions["shift_traffic"] := "allow"

# METADATA
# title: "approval_required roll_out"
# custom:
#   source: "policy.yaml#/policy/capabilities/roll_out"
findings contains finding.new("configured_with_approval", "allow", "cap_210", "capabilities.roll_out", "policy.yaml#/policy/capabilities/roll_out") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "roll_out"
}

# METADATA
# title: "What the policy says of roll_out"
# custom:
#   source: "policy.yaml#/policy/capabilities/roll_out"
decisions["roll_out"] := "approval_required"

# METADATA
# title: "approval_required run_change_plan"
# custom:
#   source: "policy.yaml#/policy/capabilities/run_change_plan"
findings contains finding.new("configured_with_approval", "allow", "cap_210", "capabilities.run_change_plan", "policy.yaml#/policy/capabilities/run_change_plan") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "run_change_plan"
}

# METADATA
# title: "What the policy says of run_change_plan"
# custom:
#   source: "policy.yaml#/policy/capabilities/run_change_plan"
decisions["run_change_plan"] := "approval_required"

# METADATA
# title: "allow update_worker"
# custom:
#   source: "policy.yaml#/policy/capabilities/update_worker"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.update_worker", "policy.yaml#/policy/capabilities/update_worker") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "update_worker"
}

# METADATA
# title: "What the policy says of update_worker"
# custom:
#   source: "policy.yaml#/policy/capabilities/update_worker"
decisions["update_worker"] := "allow"

# METADATA
# title: "allow write_route"
# custom:
#   source: "policy.yaml#/policy/capabilities/write_route"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.write_route", "policy.yaml#/policy/capabilities/write_route") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "write_route"
}

# METADATA
# title: "What the policy says of write_route"
# custom:
#   source: "policy.yaml#/policy/capabilities/write_route"
decisions["write_route"] := "allow"

# METADATA
# title: "deny delete_worker"
# custom:
#   source: "policy.yaml#/policy/capabilities/delete_worker"
findings contains finding.new("configured_deny", "deny", "cap_410", "capabilities.delete_worker", "policy.yaml#/policy/capabilities/delete_worker") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "delete_worker"
}

# METADATA
# title: "delete_worker is refused without being in the catalog"
# custom:
#   source: "policy.yaml#/policy/capabilities/delete_worker"
refused["delete_worker"] := true

# METADATA
# title: "When evidence.verifier counts"
# custom:
#   source: "policy.yaml#/policy/evidence/verifier"
evidence_controls["verifier"] := {
	"max_age_ms": 300000,
	"checked_by": null,
	"signature_keys": {"rollout-health-2026": "as8VEQmAlpUH8IGf0BmcTFOH5CJzejSIe7FdFQcoJ/A="},
	"required_for": [],
}
