# "Policy". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

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
# title: "allow retrieve"
# custom:
#   source: "policy.yaml#/policy/operations/retrieve"
findings contains finding.new("operation_allowed", "allow", "op.retrieve", "operations.retrieve", "policy.yaml#/policy/operations/retrieve") if {
	input.checkpoint == "input"
	input.operation == "retrieve"
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
# title: "allow notify"
# custom:
#   source: "policy.yaml#/policy/operations/notify"
findings contains finding.new("operation_allowed", "allow", "op.notify", "operations.notify", "policy.yaml#/policy/operations/notify") if {
	input.checkpoint == "output"
	input.operation == "notify"
}

# METADATA
# title: "deny fork"
# custom:
#   source: "policy.yaml#/policy/operations/fork"
findings contains finding.new("operation_denied", "deny", "op.fork", "operations.fork", "policy.yaml#/policy/operations/fork") if {
	input.checkpoint == "state"
	input.operation == "fork"
}

# METADATA
# title: "deny export_collection"
# custom:
#   source: "policy.yaml#/policy/capabilities/export_collection"
findings contains finding.new("configured_deny", "deny", "cap_410", "capabilities.export_collection", "policy.yaml#/policy/capabilities/export_collection") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "export_collection"
}

# METADATA
# title: "What the policy says of export_collection"
# custom:
#   source: "policy.yaml#/policy/capabilities/export_collection"
decisions["export_collection"] := "deny"

# METADATA
# title: "allow search_knowledge"
# custom:
#   source: "policy.yaml#/policy/capabilities/search_knowledge"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.search_knowledge", "policy.yaml#/policy/capabilities/search_knowledge") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "search_knowledge"
}

# METADATA
# title: "What the policy says of search_knowledge"
# custom:
#   source: "policy.yaml#/policy/capabilities/search_knowledge"
decisions["search_knowledge"] := "allow"

# METADATA
# title: "allow read_document"
# custom:
#   source: "policy.yaml#/policy/capabilities/read_document"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.read_document", "policy.yaml#/policy/capabilities/read_document") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "read_document"
}

# METADATA
# title: "What the policy says of read_document"
# custom:
#   source: "policy.yaml#/policy/capabilities/read_document"
decisions["read_document"] := "allow"

# METADATA
# title: "allow remember_fact"
# custom:
#   source: "policy.yaml#/policy/capabilities/remember_fact"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.remember_fact", "policy.yaml#/policy/capabilities/remember_fact") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "remember_fact"
}

# METADATA
# title: "What the policy says of remember_fact"
# custom:
#   source: "policy.yaml#/policy/capabilities/remember_fact"
decisions["remember_fact"] := "allow"

# METADATA
# title: "approval_required share_answer_externally"
# custom:
#   source: "policy.yaml#/policy/capabilities/share_answer_externally"
findings contains finding.new("configured_with_approval", "allow", "cap_210", "capabilities.share_answer_externally", "policy.yaml#/policy/capabilities/share_answer_externally") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "What the policy says of share_answer_externally"
# custom:
#   source: "policy.yaml#/policy/capabilities/share_answer_externally"
decisions["share_answer_externally"] := "approval_required"

# METADATA
# title: "deny browse_web"
# custom:
#   source: "policy.yaml#/policy/capabilities/browse_web"
findings contains finding.new("configured_deny", "deny", "cap_410", "capabilities.browse_web", "policy.yaml#/policy/capabilities/browse_web") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "browse_web"
}

# METADATA
# title: "browse_web is refused without being in the catalog"
# custom:
#   source: "policy.yaml#/policy/capabilities/browse_web"
refused["browse_web"] := true

# METADATA
# title: "When evidence.credential_binding counts"
# custom:
#   source: "policy.yaml#/policy/evidence/credential_binding"
evidence_controls["credential_binding"] := {
	"max_age_ms": 60000,
	"checked_by": ["svc-connections"],
	"signature_keys": null,
	"required_for": [],
}

# METADATA
# title: "When evidence.oauth_scope counts"
# custom:
#   source: "policy.yaml#/policy/evidence/oauth_scope"
evidence_controls["oauth_scope"] := {
	"max_age_ms": 60000,
	"checked_by": ["svc-authorization-server"],
	"signature_keys": null,
	"required_for": [],
}

# METADATA
# title: "When evidence.catalog_cache counts"
# custom:
#   source: "policy.yaml#/policy/evidence/catalog_cache"
evidence_controls["catalog_cache"] := {
	"max_age_ms": 60000,
	"checked_by": ["svc-mcp-catalog"],
	"signature_keys": null,
	"required_for": [],
}
