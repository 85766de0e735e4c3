# "Policy". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

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
# title: "allow memory_write"
# custom:
#   source: "policy.yaml#/policy/operations/memory_write"
findings contains finding.new("operation_allowed", "allow", "op.memory_write", "operations.memory_write", "policy.yaml#/policy/operations/memory_write") if {
	input.checkpoint == "state"
	input.operation == "memory_write"
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
# title: "allow reset"
# custom:
#   source: "policy.yaml#/policy/operations/reset"
findings contains finding.new("operation_allowed", "allow", "op.reset", "operations.reset", "policy.yaml#/policy/operations/reset") if {
	input.checkpoint == "state"
	input.operation == "reset"
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
# title: "allow handoff"
# custom:
#   source: "policy.yaml#/policy/operations/handoff"
findings contains finding.new("operation_allowed", "allow", "op.handoff", "operations.handoff", "policy.yaml#/policy/operations/handoff") if {
	input.checkpoint == "state"
	input.operation == "handoff"
}

# METADATA
# title: "allow fork"
# custom:
#   source: "policy.yaml#/policy/operations/fork"
findings contains finding.new("operation_allowed", "allow", "op.fork", "operations.fork", "policy.yaml#/policy/operations/fork") if {
	input.checkpoint == "state"
	input.operation == "fork"
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
# title: "allow resume_tool"
# custom:
#   source: "policy.yaml#/policy/operations/resume_tool"
findings contains finding.new("operation_allowed", "allow", "op.resume_tool", "operations.resume_tool", "policy.yaml#/policy/operations/resume_tool") if {
	input.checkpoint == "tool_execution"
	input.operation == "resume_tool"
}

# METADATA
# title: "allow elicit"
# custom:
#   source: "policy.yaml#/policy/operations/elicit"
findings contains finding.new("operation_allowed", "allow", "op.elicit", "operations.elicit", "policy.yaml#/policy/operations/elicit") if {
	input.checkpoint == "tool_execution"
	input.operation == "elicit"
}

# METADATA
# title: "allow progress"
# custom:
#   source: "policy.yaml#/policy/operations/progress"
findings contains finding.new("operation_allowed", "allow", "op.progress", "operations.progress", "policy.yaml#/policy/operations/progress") if {
	input.checkpoint == "tool_execution"
	input.operation == "progress"
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
# title: "deny export_tickets"
# custom:
#   source: "policy.yaml#/policy/capabilities/export_tickets"
findings contains finding.new("configured_deny", "deny", "cap_410", "capabilities.export_tickets", "policy.yaml#/policy/capabilities/export_tickets") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "export_tickets"
}

# METADATA
# title: "What the policy says of export_tickets"
# custom:
#   source: "policy.yaml#/policy/capabilities/export_tickets"
decisions["export_tickets"] := "deny"

# METADATA
# title: "allow search_docs"
# custom:
#   source: "policy.yaml#/policy/capabilities/search_docs"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.search_docs", "policy.yaml#/policy/capabilities/search_docs") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "search_docs"
}

# METADATA
# title: "What the policy says of search_docs"
# custom:
#   source: "policy.yaml#/policy/capabilities/search_docs"
decisions["search_docs"] := "allow"

# METADATA
# title: "approval_required create_ticket"
# custom:
#   source: "policy.yaml#/policy/capabilities/create_ticket"
findings contains finding.new("configured_with_approval", "allow", "cap_210", "capabilities.create_ticket", "policy.yaml#/policy/capabilities/create_ticket") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "create_ticket"
}

# METADATA
# title: "What the policy says of create_ticket"
# custom:
#   source: "policy.yaml#/policy/capabilities/create_ticket"
decisions["create_ticket"] := "approval_required"

# METADATA
# title: "deny run_shell"
# custom:
#   source: "policy.yaml#/policy/capabilities/run_shell"
findings contains finding.new("configured_deny", "deny", "cap_410", "capabilities.run_shell", "policy.yaml#/policy/capabilities/run_shell") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "run_shell"
}

# METADATA
# title: "run_shell is refused without being in the catalog"
# custom:
#   source: "policy.yaml#/policy/capabilities/run_shell"
refused["run_shell"] := true

# METADATA
# title: "When evidence.verifier counts"
# custom:
#   source: "policy.yaml#/policy/evidence/verifier"
evidence_controls["verifier"] := {
	"max_age_ms": 300000,
	"checked_by": null,
	"signature_keys": {"ticket-quality-2026": "as8VEQmAlpUH8IGf0BmcTFOH5CJzejSIe7FdFQcoJ/A="},
	"required_for": [],
}
