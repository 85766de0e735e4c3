# "Policy". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

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
# title: "allow emit"
# custom:
#   source: "policy.yaml#/policy/operations/emit"
findings contains finding.new("operation_allowed", "allow", "op.emit", "operations.emit", "policy.yaml#/policy/operations/emit") if {
	input.checkpoint == "output"
	input.operation == "emit"
}

# METADATA
# title: "deny notify"
# custom:
#   source: "policy.yaml#/policy/operations/notify"
findings contains finding.new("operation_denied", "deny", "op.notify", "operations.notify", "policy.yaml#/policy/operations/notify") if {
	input.checkpoint == "output"
	input.operation == "notify"
}

# METADATA
# title: "deny silence_alerts"
# custom:
#   source: "policy.yaml#/policy/capabilities/silence_alerts"
findings contains finding.new("configured_deny", "deny", "cap_410", "capabilities.silence_alerts", "policy.yaml#/policy/capabilities/silence_alerts") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "silence_alerts"
}

# METADATA
# title: "What the policy says of silence_alerts"
# custom:
#   source: "policy.yaml#/policy/capabilities/silence_alerts"
decisions["silence_alerts"] := "deny"

# METADATA
# title: "allow read_runbook"
# custom:
#   source: "policy.yaml#/policy/capabilities/read_runbook"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.read_runbook", "policy.yaml#/policy/capabilities/read_runbook") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "read_runbook"
}

# METADATA
# title: "What the policy says of read_runbook"
# custom:
#   source: "policy.yaml#/policy/capabilities/read_runbook"
decisions["read_runbook"] := "allow"

# METADATA
# title: "allow notify_responders"
# custom:
#   source: "policy.yaml#/policy/capabilities/notify_responders"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.notify_responders", "policy.yaml#/policy/capabilities/notify_responders") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "notify_responders"
}

# METADATA
# title: "What the policy says of notify_responders"
# custom:
#   source: "policy.yaml#/policy/capabilities/notify_responders"
decisions["notify_responders"] := "allow"

# METADATA
# title: "approval_required notify_customers"
# custom:
#   source: "policy.yaml#/policy/capabilities/notify_customers"
findings contains finding.new("configured_with_approval", "allow", "cap_210", "capabilities.notify_customers", "policy.yaml#/policy/capabilities/notify_customers") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "notify_customers"
}

# METADATA
# title: "What the policy says of notify_customers"
# custom:
#   source: "policy.yaml#/policy/capabilities/notify_customers"
decisions["notify_customers"] := "approval_required"

# METADATA
# title: "allow escalate_incident"
# custom:
#   source: "policy.yaml#/policy/capabilities/escalate_incident"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.escalate_incident", "policy.yaml#/policy/capabilities/escalate_incident") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "escalate_incident"
	_when_escalate_incident_true
}

_when_escalate_incident_1 if {
	_v_string_evidence_ownership_severity_typed
	_v_string_evidence_ownership_severity in ["sev1", "sev2"]
}

_when_escalate_incident_true if _when_escalate_incident_1

_when_escalate_incident_true if {
	_v_number_evidence_ownership_unacknowledged_ms_typed
	_v_number_evidence_ownership_unacknowledged_ms >= 900000
}

_when_escalate_incident_false if {
	_v_string_evidence_ownership_severity_typed
	not _when_escalate_incident_1
	_v_number_evidence_ownership_unacknowledged_ms_typed
	_v_number_evidence_ownership_unacknowledged_ms < 900000
}

_when_escalate_incident_result := "false" if _when_escalate_incident_false

else := "true" if _when_escalate_incident_true

else := "unknown"

_when_escalate_incident_unknown contains "evidence.ownership.severity" if not _v_string_evidence_ownership_severity_typed

_when_escalate_incident_unknown contains "evidence.ownership.unacknowledged_ms" if not _v_number_evidence_ownership_unacknowledged_ms_typed

# METADATA
# title: "What the policy says of escalate_incident"
# custom:
#   source: "policy.yaml#/policy/capabilities/escalate_incident"
decisions["escalate_incident"] := "allow"

# METADATA
# title: "approval_required hand_over_incident"
# custom:
#   source: "policy.yaml#/policy/capabilities/hand_over_incident"
findings contains finding.new("configured_with_approval", "allow", "cap_210", "capabilities.hand_over_incident", "policy.yaml#/policy/capabilities/hand_over_incident") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "hand_over_incident"
}

# METADATA
# title: "What the policy says of hand_over_incident"
# custom:
#   source: "policy.yaml#/policy/capabilities/hand_over_incident"
decisions["hand_over_incident"] := "approval_required"

# METADATA
# title: "approval_required run_remediation"
# custom:
#   source: "policy.yaml#/policy/capabilities/run_remediation"
findings contains finding.new("configured_with_approval", "allow", "cap_210", "capabilities.run_remediation", "policy.yaml#/policy/capabilities/run_remediation") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "run_remediation"
}

# METADATA
# title: "What the policy says of run_remediation"
# custom:
#   source: "policy.yaml#/policy/capabilities/run_remediation"
decisions["run_remediation"] := "approval_required"

# METADATA
# title: "allow remember_lesson"
# custom:
#   source: "policy.yaml#/policy/capabilities/remember_lesson"
findings contains finding.new("configured_allow", "allow", "cap_110", "capabilities.remember_lesson", "policy.yaml#/policy/capabilities/remember_lesson") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "remember_lesson"
}

# METADATA
# title: "What the policy says of remember_lesson"
# custom:
#   source: "policy.yaml#/policy/capabilities/remember_lesson"
decisions["remember_lesson"] := "allow"

# METADATA
# title: "deny page_everyone"
# custom:
#   source: "policy.yaml#/policy/capabilities/page_everyone"
findings contains finding.new("configured_deny", "deny", "cap_410", "capabilities.page_everyone", "policy.yaml#/policy/capabilities/page_everyone") if {
	input.checkpoint == "tool_execution"
	input.operation == "call_tool"
	input.request.capability == "page_everyone"
}

# METADATA
# title: "page_everyone is refused without being in the catalog"
# custom:
#   source: "policy.yaml#/policy/capabilities/page_everyone"
refused["page_everyone"] := true
