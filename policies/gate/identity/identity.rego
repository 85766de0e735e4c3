# METADATA
# title: Who asks, and where
# description: >-
#   the document must say what it is about and for whom. Every rule here reads what the host or the gate states,
#   never the request
package gate.identity

import data.gate.finding

# METADATA
# title: What the document does not say of itself
# description: one that is in order in every respect of the rules below pays for one rule
raised := set() if in_order

else := findings

# METADATA
# title: The document says of itself what it must
in_order if {
	input.schema_version == "gate-input/v1"
	is_string(input.request_id)
	input.request_id != ""
	is_number(input.now_ms)
	input.now_ms > 0
	is_string(input.trace.trace_id)
	trim_space(input.trace.trace_id) != ""
	input.operation in _operations[input.checkpoint]
	is_string(input.agent.agent_id)
	trim_space(input.agent.agent_id) != ""
	is_string(input.identity.tenant_id)
	trim_space(input.identity.tenant_id) != ""
	is_string(input.identity.principal_id)
	trim_space(input.identity.principal_id) != ""
	_delegation_complete
}

findings contains finding.new("schema_version_unsupported", "deny", "gate.identity", "", "") if not _version_known

findings contains finding.new("request_id_missing", "deny", "gate.identity", "", "") if not _request_stated

findings contains finding.new("time_missing", "deny", "gate.identity", "", "") if not _time_stated

findings contains finding.new("trace_missing", "deny", "gate.identity", "", "") if not _trace_stated

findings contains finding.new("checkpoint_unknown", "deny", "gate.identity", "", "") if not _checkpoint_known

findings contains finding.new("operation_unknown", "deny", "gate.identity", "", "") if not _operation_known

# Source of the id: the reference runtime's run precheck.
findings contains finding.new("agent_identity_missing", "deny", "run_003", "", "") if not _agent_stated

# A tool call needs both, whatever the bundle's run precheck says.
findings contains finding.new("tenant_missing", "deny", "cap_401", "", "") if {
	input.checkpoint == "tool_execution"
	not _tenant_stated
}

findings contains finding.new("principal_missing", "deny", "cap_402", "", "") if {
	input.checkpoint == "tool_execution"
	not _principal_stated
}

findings contains finding.new("authorization_mode_invalid", "deny", "gate.identity", "", "") if not _mode_known

findings contains finding.new("delegation_incomplete", "deny", "gate.identity", "", "") if not _delegation_complete

_version_known if input.schema_version == "gate-input/v1"

_request_stated if {
	is_string(input.request_id)
	input.request_id != ""
}

_time_stated if {
	is_number(input.now_ms)
	input.now_ms > 0
}

_trace_stated if {
	is_string(input.trace.trace_id)
	trim_space(input.trace.trace_id) != ""
}

_checkpoint_known if _operations[input.checkpoint]

_operation_known if input.operation in _operations[input.checkpoint]

_agent_stated if {
	is_string(input.agent.agent_id)
	trim_space(input.agent.agent_id) != ""
}

_tenant_stated if {
	is_string(input.identity.tenant_id)
	trim_space(input.identity.tenant_id) != ""
}

_principal_stated if {
	is_string(input.identity.principal_id)
	trim_space(input.identity.principal_id) != ""
}

_mode_known if input.identity.authorization_mode in {"platform_owned", "user_delegated", "human_approved"}

_delegation_complete if input.identity.authorization_mode in {"platform_owned", "human_approved"}

_delegation_complete if {
	input.identity.authorization_mode == "user_delegated"
	is_string(input.identity.delegated_principal_id)
	trim_space(input.identity.delegated_principal_id) != ""
	is_string(input.identity.delegated_scope)
	trim_space(input.identity.delegated_scope) != ""
}

_operations := {
	"input": {"run_start", "user_message", "retrieve"},
	"llm": {"model_call"},
	"state": {
		"memory_write", "compact", "reset", "recover", "rehydrate", "handoff", "fork",
		"approval_transition", "effect_transition",
	},
	"tool_execution": {"call_tool", "resume_tool", "list_tools", "elicit", "progress"},
	"output": {"emit", "notify"},
}
