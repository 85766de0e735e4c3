# "Control checkpoints". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

import data.gate.finding

# METADATA
# title: "audit of incident_unowned on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "incident_unowned", "predicate_result": _tool_execution_incident_unowned_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_unowned_incident", "trace_id": _audit_trace_id, "observed_signal": "ownership_missing", "unknown_operands": _tool_execution_incident_unowned_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
}

# METADATA
# title: "deny incident_unowned on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
findings contains finding.new("incident_unowned", "deny", "control.tool_execution", "control_checkpoints.incident_unowned", "checkpoints.yaml#/control_checkpoints/0") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
	not _tool_execution_incident_unowned_false
}

# METADATA
# title: "audit of incident_unowned on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "incident_unowned", "predicate_result": _tool_execution_incident_unowned_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_unowned_incident", "trace_id": _audit_trace_id, "observed_signal": "ownership_missing", "unknown_operands": _tool_execution_incident_unowned_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
}

# METADATA
# title: "deny incident_unowned on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
findings contains finding.new("incident_unowned", "deny", "control.tool_execution", "control_checkpoints.incident_unowned", "checkpoints.yaml#/control_checkpoints/0") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
	not _tool_execution_incident_unowned_false
}

# METADATA
# title: "audit of incident_unowned on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "incident_unowned", "predicate_result": _tool_execution_incident_unowned_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_unowned_incident", "trace_id": _audit_trace_id, "observed_signal": "ownership_missing", "unknown_operands": _tool_execution_incident_unowned_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
}

# METADATA
# title: "deny incident_unowned on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
findings contains finding.new("incident_unowned", "deny", "control.tool_execution", "control_checkpoints.incident_unowned", "checkpoints.yaml#/control_checkpoints/0") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
	not _tool_execution_incident_unowned_false
}

# METADATA
# title: "audit of incident_unowned on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "incident_unowned", "predicate_result": _tool_execution_incident_unowned_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_unowned_incident", "trace_id": _audit_trace_id, "observed_signal": "ownership_missing", "unknown_operands": _tool_execution_incident_unowned_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
}

# METADATA
# title: "deny incident_unowned on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
findings contains finding.new("incident_unowned", "deny", "control.tool_execution", "control_checkpoints.incident_unowned", "checkpoints.yaml#/control_checkpoints/0") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
	not _tool_execution_incident_unowned_false
}

# METADATA
# title: "audit of incident_unowned on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "incident_unowned", "predicate_result": _tool_execution_incident_unowned_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_unowned_incident", "trace_id": _audit_trace_id, "observed_signal": "ownership_missing", "unknown_operands": _tool_execution_incident_unowned_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
}

# METADATA
# title: "deny incident_unowned on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
findings contains finding.new("incident_unowned", "deny", "control.tool_execution", "control_checkpoints.incident_unowned", "checkpoints.yaml#/control_checkpoints/0") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
	not _tool_execution_incident_unowned_false
}

_tool_execution_incident_unowned_true if {
	_v_string_evidence_ownership_owner_typed
	_v_string_evidence_ownership_owner == ""
}

_tool_execution_incident_unowned_false if {
	_v_string_evidence_ownership_owner_typed
	_v_string_evidence_ownership_owner != ""
}

_tool_execution_incident_unowned_result := "false" if _tool_execution_incident_unowned_false

else := "true" if _tool_execution_incident_unowned_true

else := "unknown"

_tool_execution_incident_unowned_unknown contains "evidence.ownership.owner" if not _v_string_evidence_ownership_owner_typed

# METADATA
# title: "audit of not_the_response_owner on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "not_the_response_owner", "predicate_result": _tool_execution_not_the_response_owner_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_by_other_than_owner", "trace_id": _audit_trace_id, "observed_signal": "ownership_differs", "unknown_operands": _tool_execution_not_the_response_owner_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
}

# METADATA
# title: "deny not_the_response_owner on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
findings contains finding.new("not_the_response_owner", "deny", "control.tool_execution", "control_checkpoints.not_the_response_owner", "checkpoints.yaml#/control_checkpoints/1") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
	not _tool_execution_not_the_response_owner_false
}

# METADATA
# title: "audit of not_the_response_owner on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "not_the_response_owner", "predicate_result": _tool_execution_not_the_response_owner_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_by_other_than_owner", "trace_id": _audit_trace_id, "observed_signal": "ownership_differs", "unknown_operands": _tool_execution_not_the_response_owner_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
}

# METADATA
# title: "deny not_the_response_owner on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
findings contains finding.new("not_the_response_owner", "deny", "control.tool_execution", "control_checkpoints.not_the_response_owner", "checkpoints.yaml#/control_checkpoints/1") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
	not _tool_execution_not_the_response_owner_false
}

# METADATA
# title: "audit of not_the_response_owner on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "not_the_response_owner", "predicate_result": _tool_execution_not_the_response_owner_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_by_other_than_owner", "trace_id": _audit_trace_id, "observed_signal": "ownership_differs", "unknown_operands": _tool_execution_not_the_response_owner_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
}

# METADATA
# title: "deny not_the_response_owner on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
findings contains finding.new("not_the_response_owner", "deny", "control.tool_execution", "control_checkpoints.not_the_response_owner", "checkpoints.yaml#/control_checkpoints/1") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
	not _tool_execution_not_the_response_owner_false
}

# METADATA
# title: "audit of not_the_response_owner on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "not_the_response_owner", "predicate_result": _tool_execution_not_the_response_owner_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_by_other_than_owner", "trace_id": _audit_trace_id, "observed_signal": "ownership_differs", "unknown_operands": _tool_execution_not_the_response_owner_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
}

# METADATA
# title: "deny not_the_response_owner on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
findings contains finding.new("not_the_response_owner", "deny", "control.tool_execution", "control_checkpoints.not_the_response_owner", "checkpoints.yaml#/control_checkpoints/1") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
	not _tool_execution_not_the_response_owner_false
}

# METADATA
# title: "audit of not_the_response_owner on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "not_the_response_owner", "predicate_result": _tool_execution_not_the_response_owner_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_by_other_than_owner", "trace_id": _audit_trace_id, "observed_signal": "ownership_differs", "unknown_operands": _tool_execution_not_the_response_owner_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
}

# METADATA
# title: "deny not_the_response_owner on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
findings contains finding.new("not_the_response_owner", "deny", "control.tool_execution", "control_checkpoints.not_the_response_owner", "checkpoints.yaml#/control_checkpoints/1") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
	not _tool_execution_not_the_response_owner_false
}

_tool_execution_not_the_response_owner_1 if {
	_v_boolean_evidence_ownership_handover_approved_typed
	_v_boolean_evidence_ownership_handover_approved == false
}

_tool_execution_not_the_response_owner_1 if {
	_v_string_evidence_ownership_handover_to_typed
	_v_string_identity_principal_id_typed
	_v_string_evidence_ownership_handover_to != _v_string_identity_principal_id
}

_tool_execution_not_the_response_owner_true if {
	_v_string_evidence_ownership_owner_typed
	_v_string_identity_principal_id_typed
	_v_string_evidence_ownership_owner != _v_string_identity_principal_id
	_tool_execution_not_the_response_owner_1
}

_tool_execution_not_the_response_owner_false if {
	_v_string_evidence_ownership_owner_typed
	_v_string_identity_principal_id_typed
	_v_string_evidence_ownership_owner == _v_string_identity_principal_id
}

_tool_execution_not_the_response_owner_false if {
	_v_boolean_evidence_ownership_handover_approved_typed
	_v_boolean_evidence_ownership_handover_approved == true
	_v_string_evidence_ownership_handover_to_typed
	_v_string_identity_principal_id_typed
	_v_string_evidence_ownership_handover_to == _v_string_identity_principal_id
}

_tool_execution_not_the_response_owner_result := "false" if _tool_execution_not_the_response_owner_false

else := "true" if _tool_execution_not_the_response_owner_true

else := "unknown"

_tool_execution_not_the_response_owner_unknown contains "evidence.ownership.handover_approved" if not _v_boolean_evidence_ownership_handover_approved_typed

_tool_execution_not_the_response_owner_unknown contains "evidence.ownership.handover_to" if not _v_string_evidence_ownership_handover_to_typed

_tool_execution_not_the_response_owner_unknown contains "evidence.ownership.owner" if not _v_string_evidence_ownership_owner_typed

_tool_execution_not_the_response_owner_unknown contains "identity.principal_id" if not _v_string_identity_principal_id_typed

# METADATA
# title: "audit of evidence_for_another_incident on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "evidence_for_another_incident", "predicate_result": _tool_execution_evidence_for_another_incident_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_about_another_incident", "trace_id": _audit_trace_id, "observed_signal": "evidence_mismatch", "unknown_operands": _tool_execution_evidence_for_another_incident_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
}

# METADATA
# title: "deny evidence_for_another_incident on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
findings contains finding.new("evidence_for_another_incident", "deny", "control.tool_execution", "control_checkpoints.evidence_for_another_incident", "checkpoints.yaml#/control_checkpoints/2") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
	not _tool_execution_evidence_for_another_incident_false
}

# METADATA
# title: "audit of evidence_for_another_incident on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "evidence_for_another_incident", "predicate_result": _tool_execution_evidence_for_another_incident_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_about_another_incident", "trace_id": _audit_trace_id, "observed_signal": "evidence_mismatch", "unknown_operands": _tool_execution_evidence_for_another_incident_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
}

# METADATA
# title: "deny evidence_for_another_incident on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
findings contains finding.new("evidence_for_another_incident", "deny", "control.tool_execution", "control_checkpoints.evidence_for_another_incident", "checkpoints.yaml#/control_checkpoints/2") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
	not _tool_execution_evidence_for_another_incident_false
}

# METADATA
# title: "audit of evidence_for_another_incident on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "evidence_for_another_incident", "predicate_result": _tool_execution_evidence_for_another_incident_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_about_another_incident", "trace_id": _audit_trace_id, "observed_signal": "evidence_mismatch", "unknown_operands": _tool_execution_evidence_for_another_incident_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
}

# METADATA
# title: "deny evidence_for_another_incident on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
findings contains finding.new("evidence_for_another_incident", "deny", "control.tool_execution", "control_checkpoints.evidence_for_another_incident", "checkpoints.yaml#/control_checkpoints/2") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
	not _tool_execution_evidence_for_another_incident_false
}

# METADATA
# title: "audit of evidence_for_another_incident on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "evidence_for_another_incident", "predicate_result": _tool_execution_evidence_for_another_incident_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_about_another_incident", "trace_id": _audit_trace_id, "observed_signal": "evidence_mismatch", "unknown_operands": _tool_execution_evidence_for_another_incident_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
}

# METADATA
# title: "deny evidence_for_another_incident on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
findings contains finding.new("evidence_for_another_incident", "deny", "control.tool_execution", "control_checkpoints.evidence_for_another_incident", "checkpoints.yaml#/control_checkpoints/2") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
	not _tool_execution_evidence_for_another_incident_false
}

# METADATA
# title: "audit of evidence_for_another_incident on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "evidence_for_another_incident", "predicate_result": _tool_execution_evidence_for_another_incident_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_about_another_incident", "trace_id": _audit_trace_id, "observed_signal": "evidence_mismatch", "unknown_operands": _tool_execution_evidence_for_another_incident_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
}

# METADATA
# title: "deny evidence_for_another_incident on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
findings contains finding.new("evidence_for_another_incident", "deny", "control.tool_execution", "control_checkpoints.evidence_for_another_incident", "checkpoints.yaml#/control_checkpoints/2") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
	not _tool_execution_evidence_for_another_incident_false
}

# METADATA
# title: "audit of evidence_for_another_incident on remember_lesson"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "evidence_for_another_incident", "predicate_result": _tool_execution_evidence_for_another_incident_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_about_another_incident", "trace_id": _audit_trace_id, "observed_signal": "evidence_mismatch", "unknown_operands": _tool_execution_evidence_for_another_incident_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_lesson"
}

# METADATA
# title: "deny evidence_for_another_incident on remember_lesson"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
findings contains finding.new("evidence_for_another_incident", "deny", "control.tool_execution", "control_checkpoints.evidence_for_another_incident", "checkpoints.yaml#/control_checkpoints/2") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_lesson"
	not _tool_execution_evidence_for_another_incident_false
}

_tool_execution_evidence_for_another_incident_true if {
	_v_string_arguments_incident_id_typed
	_v_string_evidence_ownership_incident_id_typed
	_v_string_arguments_incident_id != _v_string_evidence_ownership_incident_id
}

_tool_execution_evidence_for_another_incident_false if {
	_v_string_arguments_incident_id_typed
	_v_string_evidence_ownership_incident_id_typed
	_v_string_arguments_incident_id == _v_string_evidence_ownership_incident_id
}

_tool_execution_evidence_for_another_incident_result := "false" if _tool_execution_evidence_for_another_incident_false

else := "true" if _tool_execution_evidence_for_another_incident_true

else := "unknown"

_tool_execution_evidence_for_another_incident_unknown contains "arguments.incident_id" if not _v_string_arguments_incident_id_typed

_tool_execution_evidence_for_another_incident_unknown contains "evidence.ownership.incident_id" if not _v_string_evidence_ownership_incident_id_typed

# METADATA
# title: "audit of ownership_source_untrusted on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_source_untrusted", "predicate_result": _tool_execution_ownership_source_untrusted_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_from_chat", "trace_id": _audit_trace_id, "observed_signal": "ownership_source_untrusted", "unknown_operands": _tool_execution_ownership_source_untrusted_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
}

# METADATA
# title: "deny ownership_source_untrusted on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("ownership_source_untrusted", "deny", "control.tool_execution", "control_checkpoints.ownership_source_untrusted", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
	not _tool_execution_ownership_source_untrusted_false
}

# METADATA
# title: "audit of ownership_source_untrusted on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_source_untrusted", "predicate_result": _tool_execution_ownership_source_untrusted_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_from_chat", "trace_id": _audit_trace_id, "observed_signal": "ownership_source_untrusted", "unknown_operands": _tool_execution_ownership_source_untrusted_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
}

# METADATA
# title: "deny ownership_source_untrusted on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("ownership_source_untrusted", "deny", "control.tool_execution", "control_checkpoints.ownership_source_untrusted", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
	not _tool_execution_ownership_source_untrusted_false
}

# METADATA
# title: "audit of ownership_source_untrusted on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_source_untrusted", "predicate_result": _tool_execution_ownership_source_untrusted_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_from_chat", "trace_id": _audit_trace_id, "observed_signal": "ownership_source_untrusted", "unknown_operands": _tool_execution_ownership_source_untrusted_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
}

# METADATA
# title: "deny ownership_source_untrusted on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("ownership_source_untrusted", "deny", "control.tool_execution", "control_checkpoints.ownership_source_untrusted", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
	not _tool_execution_ownership_source_untrusted_false
}

# METADATA
# title: "audit of ownership_source_untrusted on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_source_untrusted", "predicate_result": _tool_execution_ownership_source_untrusted_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_from_chat", "trace_id": _audit_trace_id, "observed_signal": "ownership_source_untrusted", "unknown_operands": _tool_execution_ownership_source_untrusted_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
}

# METADATA
# title: "deny ownership_source_untrusted on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("ownership_source_untrusted", "deny", "control.tool_execution", "control_checkpoints.ownership_source_untrusted", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
	not _tool_execution_ownership_source_untrusted_false
}

# METADATA
# title: "audit of ownership_source_untrusted on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_source_untrusted", "predicate_result": _tool_execution_ownership_source_untrusted_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_from_chat", "trace_id": _audit_trace_id, "observed_signal": "ownership_source_untrusted", "unknown_operands": _tool_execution_ownership_source_untrusted_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
}

# METADATA
# title: "deny ownership_source_untrusted on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("ownership_source_untrusted", "deny", "control.tool_execution", "control_checkpoints.ownership_source_untrusted", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
	not _tool_execution_ownership_source_untrusted_false
}

# METADATA
# title: "audit of ownership_source_untrusted on remember_lesson"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_source_untrusted", "predicate_result": _tool_execution_ownership_source_untrusted_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_from_chat", "trace_id": _audit_trace_id, "observed_signal": "ownership_source_untrusted", "unknown_operands": _tool_execution_ownership_source_untrusted_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_lesson"
}

# METADATA
# title: "deny ownership_source_untrusted on remember_lesson"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("ownership_source_untrusted", "deny", "control.tool_execution", "control_checkpoints.ownership_source_untrusted", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_lesson"
	not _tool_execution_ownership_source_untrusted_false
}

_tool_execution_ownership_source_untrusted_true if {
	_v_string_evidence_ownership_source_typed
	_v_string_evidence_ownership_source != "incident-registry"
}

_tool_execution_ownership_source_untrusted_false if {
	_v_string_evidence_ownership_source_typed
	_v_string_evidence_ownership_source == "incident-registry"
}

_tool_execution_ownership_source_untrusted_result := "false" if _tool_execution_ownership_source_untrusted_false

else := "true" if _tool_execution_ownership_source_untrusted_true

else := "unknown"

_tool_execution_ownership_source_untrusted_unknown contains "evidence.ownership.source" if not _v_string_evidence_ownership_source_typed

# METADATA
# title: "audit of ownership_check_stale on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_check_stale", "predicate_result": _tool_execution_ownership_check_stale_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_stale", "trace_id": _audit_trace_id, "observed_signal": "ownership_check_stale", "unknown_operands": _tool_execution_ownership_check_stale_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
}

# METADATA
# title: "deny ownership_check_stale on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
findings contains finding.new("ownership_check_stale", "deny", "control.tool_execution", "control_checkpoints.ownership_check_stale", "checkpoints.yaml#/control_checkpoints/4") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
	not _tool_execution_ownership_check_stale_false
}

# METADATA
# title: "audit of ownership_check_stale on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_check_stale", "predicate_result": _tool_execution_ownership_check_stale_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_stale", "trace_id": _audit_trace_id, "observed_signal": "ownership_check_stale", "unknown_operands": _tool_execution_ownership_check_stale_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
}

# METADATA
# title: "deny ownership_check_stale on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
findings contains finding.new("ownership_check_stale", "deny", "control.tool_execution", "control_checkpoints.ownership_check_stale", "checkpoints.yaml#/control_checkpoints/4") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
	not _tool_execution_ownership_check_stale_false
}

# METADATA
# title: "audit of ownership_check_stale on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_check_stale", "predicate_result": _tool_execution_ownership_check_stale_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_stale", "trace_id": _audit_trace_id, "observed_signal": "ownership_check_stale", "unknown_operands": _tool_execution_ownership_check_stale_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
}

# METADATA
# title: "deny ownership_check_stale on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
findings contains finding.new("ownership_check_stale", "deny", "control.tool_execution", "control_checkpoints.ownership_check_stale", "checkpoints.yaml#/control_checkpoints/4") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
	not _tool_execution_ownership_check_stale_false
}

# METADATA
# title: "audit of ownership_check_stale on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_check_stale", "predicate_result": _tool_execution_ownership_check_stale_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_stale", "trace_id": _audit_trace_id, "observed_signal": "ownership_check_stale", "unknown_operands": _tool_execution_ownership_check_stale_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
}

# METADATA
# title: "deny ownership_check_stale on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
findings contains finding.new("ownership_check_stale", "deny", "control.tool_execution", "control_checkpoints.ownership_check_stale", "checkpoints.yaml#/control_checkpoints/4") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
	not _tool_execution_ownership_check_stale_false
}

# METADATA
# title: "audit of ownership_check_stale on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_check_stale", "predicate_result": _tool_execution_ownership_check_stale_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_stale", "trace_id": _audit_trace_id, "observed_signal": "ownership_check_stale", "unknown_operands": _tool_execution_ownership_check_stale_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
}

# METADATA
# title: "deny ownership_check_stale on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
findings contains finding.new("ownership_check_stale", "deny", "control.tool_execution", "control_checkpoints.ownership_check_stale", "checkpoints.yaml#/control_checkpoints/4") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
	not _tool_execution_ownership_check_stale_false
}

# METADATA
# title: "audit of ownership_check_stale on remember_lesson"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "ownership_check_stale", "predicate_result": _tool_execution_ownership_check_stale_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_ownership_stale", "trace_id": _audit_trace_id, "observed_signal": "ownership_check_stale", "unknown_operands": _tool_execution_ownership_check_stale_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_lesson"
}

# METADATA
# title: "deny ownership_check_stale on remember_lesson"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
findings contains finding.new("ownership_check_stale", "deny", "control.tool_execution", "control_checkpoints.ownership_check_stale", "checkpoints.yaml#/control_checkpoints/4") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_lesson"
	not _tool_execution_ownership_check_stale_false
}

_tool_execution_ownership_check_stale_true if {
	_v_number_evidence_ownership_check_age_ms_typed
	_v_number_evidence_ownership_check_age_ms < 0
}

_tool_execution_ownership_check_stale_true if {
	_v_number_evidence_ownership_check_age_ms_typed
	_v_number_evidence_ownership_check_age_ms > 60000
}

_tool_execution_ownership_check_stale_false if {
	_v_number_evidence_ownership_check_age_ms_typed
	_v_number_evidence_ownership_check_age_ms >= 0
	_v_number_evidence_ownership_check_age_ms <= 60000
}

_tool_execution_ownership_check_stale_result := "false" if _tool_execution_ownership_check_stale_false

else := "true" if _tool_execution_ownership_check_stale_true

else := "unknown"

_tool_execution_ownership_check_stale_unknown contains "evidence.ownership.check_age_ms" if not _v_number_evidence_ownership_check_age_ms_typed

# METADATA
# title: "audit of new_owner_not_on_call on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/5"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "new_owner_not_on_call", "predicate_result": _tool_execution_new_owner_not_on_call_result, "action": "deny", "control_version": "1.0", "eval_case_id": "hand_over_to_wrong_owner", "trace_id": _audit_trace_id, "observed_signal": "wrong_owner_handoff", "unknown_operands": _tool_execution_new_owner_not_on_call_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
}

# METADATA
# title: "deny new_owner_not_on_call on hand_over_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/5"
findings contains finding.new("new_owner_not_on_call", "deny", "control.tool_execution", "control_checkpoints.new_owner_not_on_call", "checkpoints.yaml#/control_checkpoints/5") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "hand_over_incident"
	not _tool_execution_new_owner_not_on_call_false
}

_tool_execution_new_owner_not_on_call_true if {
	_v_string_arguments_new_owner_typed
	_v_string_evidence_ownership_on_call_typed
	_v_string_arguments_new_owner != _v_string_evidence_ownership_on_call
}

_tool_execution_new_owner_not_on_call_false if {
	_v_string_arguments_new_owner_typed
	_v_string_evidence_ownership_on_call_typed
	_v_string_arguments_new_owner == _v_string_evidence_ownership_on_call
}

_tool_execution_new_owner_not_on_call_result := "false" if _tool_execution_new_owner_not_on_call_false

else := "true" if _tool_execution_new_owner_not_on_call_true

else := "unknown"

_tool_execution_new_owner_not_on_call_unknown contains "arguments.new_owner" if not _v_string_arguments_new_owner_typed

_tool_execution_new_owner_not_on_call_unknown contains "evidence.ownership.on_call" if not _v_string_evidence_ownership_on_call_typed

# METADATA
# title: "audit of severity_not_recorded on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/6"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "severity_not_recorded", "predicate_result": _tool_execution_severity_not_recorded_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_inflated_severity", "trace_id": _audit_trace_id, "observed_signal": "severity_differs", "unknown_operands": _tool_execution_severity_not_recorded_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
}

# METADATA
# title: "deny severity_not_recorded on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/6"
findings contains finding.new("severity_not_recorded", "deny", "control.tool_execution", "control_checkpoints.severity_not_recorded", "checkpoints.yaml#/control_checkpoints/6") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
	not _tool_execution_severity_not_recorded_false
}

# METADATA
# title: "audit of severity_not_recorded on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/6"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "severity_not_recorded", "predicate_result": _tool_execution_severity_not_recorded_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_inflated_severity", "trace_id": _audit_trace_id, "observed_signal": "severity_differs", "unknown_operands": _tool_execution_severity_not_recorded_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
}

# METADATA
# title: "deny severity_not_recorded on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/6"
findings contains finding.new("severity_not_recorded", "deny", "control.tool_execution", "control_checkpoints.severity_not_recorded", "checkpoints.yaml#/control_checkpoints/6") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
	not _tool_execution_severity_not_recorded_false
}

_tool_execution_severity_not_recorded_true if {
	_v_string_arguments_severity_typed
	_v_string_evidence_ownership_severity_typed
	_v_string_arguments_severity != _v_string_evidence_ownership_severity
}

_tool_execution_severity_not_recorded_false if {
	_v_string_arguments_severity_typed
	_v_string_evidence_ownership_severity_typed
	_v_string_arguments_severity == _v_string_evidence_ownership_severity
}

_tool_execution_severity_not_recorded_result := "false" if _tool_execution_severity_not_recorded_false

else := "true" if _tool_execution_severity_not_recorded_true

else := "unknown"

_tool_execution_severity_not_recorded_unknown contains "arguments.severity" if not _v_string_arguments_severity_typed

_tool_execution_severity_not_recorded_unknown contains "evidence.ownership.severity" if not _v_string_evidence_ownership_severity_typed

# METADATA
# title: "audit of noisy_alert on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "noisy_alert", "predicate_result": _tool_execution_noisy_alert_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_noisy_alert", "trace_id": _audit_trace_id, "observed_signal": "noisy_alert", "unknown_operands": _tool_execution_noisy_alert_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
}

# METADATA
# title: "deny noisy_alert on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
findings contains finding.new("noisy_alert", "deny", "control.tool_execution", "control_checkpoints.noisy_alert", "checkpoints.yaml#/control_checkpoints/7") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
	not _tool_execution_noisy_alert_false
}

# METADATA
# title: "audit of noisy_alert on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "noisy_alert", "predicate_result": _tool_execution_noisy_alert_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_noisy_alert", "trace_id": _audit_trace_id, "observed_signal": "noisy_alert", "unknown_operands": _tool_execution_noisy_alert_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
}

# METADATA
# title: "deny noisy_alert on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
findings contains finding.new("noisy_alert", "deny", "control.tool_execution", "control_checkpoints.noisy_alert", "checkpoints.yaml#/control_checkpoints/7") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
	not _tool_execution_noisy_alert_false
}

# METADATA
# title: "audit of noisy_alert on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "noisy_alert", "predicate_result": _tool_execution_noisy_alert_result, "action": "deny", "control_version": "1.0", "eval_case_id": "notify_noisy_alert", "trace_id": _audit_trace_id, "observed_signal": "noisy_alert", "unknown_operands": _tool_execution_noisy_alert_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
}

# METADATA
# title: "deny noisy_alert on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
findings contains finding.new("noisy_alert", "deny", "control.tool_execution", "control_checkpoints.noisy_alert", "checkpoints.yaml#/control_checkpoints/7") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
	not _tool_execution_noisy_alert_false
}

_tool_execution_noisy_alert_true if {
	_v_string_evidence_ownership_alert_state_typed
	_v_string_evidence_ownership_alert_state == "noise"
}

_tool_execution_noisy_alert_false if {
	_v_string_evidence_ownership_alert_state_typed
	_v_string_evidence_ownership_alert_state != "noise"
}

_tool_execution_noisy_alert_result := "false" if _tool_execution_noisy_alert_false

else := "true" if _tool_execution_noisy_alert_true

else := "unknown"

_tool_execution_noisy_alert_unknown contains "evidence.ownership.alert_state" if not _v_string_evidence_ownership_alert_state_typed

# METADATA
# title: "audit of unconfirmed_alert on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/8"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "unconfirmed_alert", "predicate_result": _tool_execution_unconfirmed_alert_result, "action": "warn", "control_version": "1.0", "eval_case_id": "notify_unconfirmed_alert", "trace_id": _audit_trace_id, "observed_signal": "unconfirmed_alert", "unknown_operands": _tool_execution_unconfirmed_alert_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
}

# METADATA
# title: "warn unconfirmed_alert on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/8"
advice contains {"code": "unconfirmed_alert", "source": "checkpoints.yaml#/control_checkpoints/8"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
	not _tool_execution_unconfirmed_alert_false
}

_tool_execution_unconfirmed_alert_true if {
	_v_string_evidence_ownership_alert_state_typed
	_v_string_evidence_ownership_alert_state != "confirmed"
}

_tool_execution_unconfirmed_alert_false if {
	_v_string_evidence_ownership_alert_state_typed
	_v_string_evidence_ownership_alert_state == "confirmed"
}

_tool_execution_unconfirmed_alert_result := "false" if _tool_execution_unconfirmed_alert_false

else := "true" if _tool_execution_unconfirmed_alert_true

else := "unknown"

_tool_execution_unconfirmed_alert_unknown contains "evidence.ownership.alert_state" if not _v_string_evidence_ownership_alert_state_typed

# METADATA
# title: "audit of escalation_skips_a_level on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/9"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "escalation_skips_a_level", "predicate_result": _tool_execution_escalation_skips_a_level_result, "action": "deny", "control_version": "1.0", "eval_case_id": "escalate_skipping_a_level", "trace_id": _audit_trace_id, "observed_signal": "escalation_out_of_order", "unknown_operands": _tool_execution_escalation_skips_a_level_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
}

# METADATA
# title: "deny escalation_skips_a_level on escalate_incident"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/9"
findings contains finding.new("escalation_skips_a_level", "deny", "control.tool_execution", "control_checkpoints.escalation_skips_a_level", "checkpoints.yaml#/control_checkpoints/9") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "escalate_incident"
	not _tool_execution_escalation_skips_a_level_false
}

_tool_execution_escalation_skips_a_level_true if {
	_v_number_arguments_to_level_typed
	_v_number_evidence_ownership_next_level_typed
	_v_number_arguments_to_level != _v_number_evidence_ownership_next_level
}

_tool_execution_escalation_skips_a_level_false if {
	_v_number_arguments_to_level_typed
	_v_number_evidence_ownership_next_level_typed
	_v_number_arguments_to_level == _v_number_evidence_ownership_next_level
}

_tool_execution_escalation_skips_a_level_result := "false" if _tool_execution_escalation_skips_a_level_false

else := "true" if _tool_execution_escalation_skips_a_level_true

else := "unknown"

_tool_execution_escalation_skips_a_level_unknown contains "arguments.to_level" if not _v_number_arguments_to_level_typed

_tool_execution_escalation_skips_a_level_unknown contains "evidence.ownership.next_level" if not _v_number_evidence_ownership_next_level_typed

# METADATA
# title: "audit of credential_in_message on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/10"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "credential_in_message", "predicate_result": _tool_execution_credential_in_message_result, "action": "redact", "control_version": "1.0", "eval_case_id": "notify_message_redacted", "trace_id": _audit_trace_id, "observed_signal": "credential_in_output", "unknown_operands": _tool_execution_credential_in_message_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
}

# METADATA
# title: "redact credential_in_message on notify_responders"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/10"
redactions contains {"code": "credential_in_message", "source": "checkpoints.yaml#/control_checkpoints/10", "pointers": ["/message"]} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_responders"
	not _tool_execution_credential_in_message_false
}

# METADATA
# title: "audit of credential_in_message on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/10"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "credential_in_message", "predicate_result": _tool_execution_credential_in_message_result, "action": "redact", "control_version": "1.0", "eval_case_id": "notify_message_redacted", "trace_id": _audit_trace_id, "observed_signal": "credential_in_output", "unknown_operands": _tool_execution_credential_in_message_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
}

# METADATA
# title: "redact credential_in_message on notify_customers"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/10"
redactions contains {"code": "credential_in_message", "source": "checkpoints.yaml#/control_checkpoints/10", "pointers": ["/message"]} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "notify_customers"
	not _tool_execution_credential_in_message_false
}

_tool_execution_credential_in_message_1 if {
	_v_string_arguments_message_typed
	regex.match("[pP]assword|[aA][pP][iI][_-]?[kK]ey|[bB]earer ", _v_string_arguments_message)
}

_tool_execution_credential_in_message_true if _tool_execution_credential_in_message_1

_tool_execution_credential_in_message_false if {
	_v_string_arguments_message_typed
	not _tool_execution_credential_in_message_1
}

_tool_execution_credential_in_message_result := "false" if _tool_execution_credential_in_message_false

else := "true" if _tool_execution_credential_in_message_true

else := "unknown"

_tool_execution_credential_in_message_unknown contains "arguments.message" if not _v_string_arguments_message_typed

# METADATA
# title: "audit of remediation_without_command on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/11"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "remediation_without_command", "predicate_result": _tool_execution_remediation_without_command_result, "action": "deny", "control_version": "1.0", "eval_case_id": "remediate_without_command", "trace_id": _audit_trace_id, "observed_signal": "command_missing", "unknown_operands": _tool_execution_remediation_without_command_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
}

# METADATA
# title: "deny remediation_without_command on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/11"
findings contains finding.new("remediation_without_command", "deny", "control.tool_execution", "control_checkpoints.remediation_without_command", "checkpoints.yaml#/control_checkpoints/11") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
	not _tool_execution_remediation_without_command_false
}

_tool_execution_remediation_without_command_true if {
	_v_string_evidence_ownership_owner_role_typed
	_v_string_evidence_ownership_owner_role != "incident_commander"
}

_tool_execution_remediation_without_command_false if {
	_v_string_evidence_ownership_owner_role_typed
	_v_string_evidence_ownership_owner_role == "incident_commander"
}

_tool_execution_remediation_without_command_result := "false" if _tool_execution_remediation_without_command_false

else := "true" if _tool_execution_remediation_without_command_true

else := "unknown"

_tool_execution_remediation_without_command_unknown contains "evidence.ownership.owner_role" if not _v_string_evidence_ownership_owner_role_typed

# METADATA
# title: "audit of missing_runbook on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/12"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "missing_runbook", "predicate_result": _tool_execution_missing_runbook_result, "action": "deny", "control_version": "1.0", "eval_case_id": "remediate_without_runbook", "trace_id": _audit_trace_id, "observed_signal": "runbook_missing", "unknown_operands": _tool_execution_missing_runbook_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
}

# METADATA
# title: "deny missing_runbook on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/12"
findings contains finding.new("missing_runbook", "deny", "control.tool_execution", "control_checkpoints.missing_runbook", "checkpoints.yaml#/control_checkpoints/12") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
	not _tool_execution_missing_runbook_false
}

_tool_execution_missing_runbook_true if {
	_v_number_evidence_retrieval_source_count_typed
	_v_number_evidence_retrieval_source_count < 1
}

_tool_execution_missing_runbook_true if {
	_v_string_arguments_runbook_id_typed
	_v_string_evidence_retrieval_document_id_typed
	_v_string_arguments_runbook_id != _v_string_evidence_retrieval_document_id
}

_tool_execution_missing_runbook_false if {
	_v_number_evidence_retrieval_source_count_typed
	_v_number_evidence_retrieval_source_count >= 1
	_v_string_arguments_runbook_id_typed
	_v_string_evidence_retrieval_document_id_typed
	_v_string_arguments_runbook_id == _v_string_evidence_retrieval_document_id
}

_tool_execution_missing_runbook_result := "false" if _tool_execution_missing_runbook_false

else := "true" if _tool_execution_missing_runbook_true

else := "unknown"

_tool_execution_missing_runbook_unknown contains "arguments.runbook_id" if not _v_string_arguments_runbook_id_typed

_tool_execution_missing_runbook_unknown contains "evidence.retrieval.document_id" if not _v_string_evidence_retrieval_document_id_typed

_tool_execution_missing_runbook_unknown contains "evidence.retrieval.source_count" if not _v_number_evidence_retrieval_source_count_typed

# METADATA
# title: "audit of runbook_superseded on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/13"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "runbook_superseded", "predicate_result": _tool_execution_runbook_superseded_result, "action": "deny", "control_version": "1.0", "eval_case_id": "remediate_by_old_runbook", "trace_id": _audit_trace_id, "observed_signal": "runbook_superseded", "unknown_operands": _tool_execution_runbook_superseded_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
}

# METADATA
# title: "deny runbook_superseded on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/13"
findings contains finding.new("runbook_superseded", "deny", "control.tool_execution", "control_checkpoints.runbook_superseded", "checkpoints.yaml#/control_checkpoints/13") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
	not _tool_execution_runbook_superseded_false
}

_tool_execution_runbook_superseded_true if {
	_v_string_evidence_retrieval_revision_typed
	_v_string_evidence_retrieval_current_revision_typed
	_v_string_evidence_retrieval_revision != _v_string_evidence_retrieval_current_revision
}

_tool_execution_runbook_superseded_false if {
	_v_string_evidence_retrieval_revision_typed
	_v_string_evidence_retrieval_current_revision_typed
	_v_string_evidence_retrieval_revision == _v_string_evidence_retrieval_current_revision
}

_tool_execution_runbook_superseded_result := "false" if _tool_execution_runbook_superseded_false

else := "true" if _tool_execution_runbook_superseded_true

else := "unknown"

_tool_execution_runbook_superseded_unknown contains "evidence.retrieval.current_revision" if not _v_string_evidence_retrieval_current_revision_typed

_tool_execution_runbook_superseded_unknown contains "evidence.retrieval.revision" if not _v_string_evidence_retrieval_revision_typed

# METADATA
# title: "audit of wide_blast_radius on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/14"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "wide_blast_radius", "predicate_result": _tool_execution_wide_blast_radius_result, "action": "require_approval", "control_version": "1.0", "eval_case_id": "remediate_wide_without_approval", "trace_id": _audit_trace_id, "observed_signal": "wide_blast_radius", "unknown_operands": _tool_execution_wide_blast_radius_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
}

# METADATA
# title: "require_approval wide_blast_radius on run_remediation"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/14"
demands contains finding.new("wide_blast_radius", "require_approval", "control.tool_execution", "control_checkpoints.wide_blast_radius", "checkpoints.yaml#/control_checkpoints/14") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "run_remediation"
	not _tool_execution_wide_blast_radius_false
}

_tool_execution_wide_blast_radius_true if {
	_v_string_arguments_blast_radius_typed
	_v_string_arguments_blast_radius != "single_host"
}

_tool_execution_wide_blast_radius_false if {
	_v_string_arguments_blast_radius_typed
	_v_string_arguments_blast_radius == "single_host"
}

_tool_execution_wide_blast_radius_result := "false" if _tool_execution_wide_blast_radius_false

else := "true" if _tool_execution_wide_blast_radius_true

else := "unknown"

_tool_execution_wide_blast_radius_unknown contains "arguments.blast_radius" if not _v_string_arguments_blast_radius_typed

# METADATA
# title: "audit of lesson_before_review on remember_lesson"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/15"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "lesson_before_review", "predicate_result": _tool_execution_lesson_before_review_result, "action": "deny", "control_version": "1.0", "eval_case_id": "remember_before_review", "trace_id": _audit_trace_id, "observed_signal": "review_open", "unknown_operands": _tool_execution_lesson_before_review_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_lesson"
}

# METADATA
# title: "deny lesson_before_review on remember_lesson"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/15"
findings contains finding.new("lesson_before_review", "deny", "control.tool_execution", "control_checkpoints.lesson_before_review", "checkpoints.yaml#/control_checkpoints/15") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_lesson"
	not _tool_execution_lesson_before_review_false
}

_tool_execution_lesson_before_review_true if {
	_v_string_evidence_ownership_review_status_typed
	_v_string_evidence_ownership_review_status != "completed"
}

_tool_execution_lesson_before_review_false if {
	_v_string_evidence_ownership_review_status_typed
	_v_string_evidence_ownership_review_status == "completed"
}

_tool_execution_lesson_before_review_result := "false" if _tool_execution_lesson_before_review_false

else := "true" if _tool_execution_lesson_before_review_true

else := "unknown"

_tool_execution_lesson_before_review_unknown contains "evidence.ownership.review_status" if not _v_string_evidence_ownership_review_status_typed

# METADATA
# title: "audit of lesson_before_review at memory_write"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/16"
controls contains {"checkpoint": "state", "policy_requirement": "lesson_before_review", "predicate_result": _state_lesson_before_review_result, "action": "deny", "control_version": "1.0", "eval_case_id": "memory_before_review", "trace_id": _audit_trace_id, "observed_signal": "review_open", "unknown_operands": _state_lesson_before_review_unknown} if {
	input.checkpoint == "state"
	input.operation == "memory_write"
}

# METADATA
# title: "deny lesson_before_review at memory_write"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/16"
findings contains finding.new("lesson_before_review", "deny", "control.state", "control_checkpoints.lesson_before_review", "checkpoints.yaml#/control_checkpoints/16") if {
	input.checkpoint == "state"
	input.operation == "memory_write"
	not _state_lesson_before_review_false
}

_state_lesson_before_review_true if {
	_v_string_evidence_ownership_review_status_typed
	_v_string_evidence_ownership_review_status != "completed"
}

_state_lesson_before_review_false if {
	_v_string_evidence_ownership_review_status_typed
	_v_string_evidence_ownership_review_status == "completed"
}

_state_lesson_before_review_result := "false" if _state_lesson_before_review_false

else := "true" if _state_lesson_before_review_true

else := "unknown"

_state_lesson_before_review_unknown contains "evidence.ownership.review_status" if not _v_string_evidence_ownership_review_status_typed

# METADATA
# title: "audit of no_credential_leaves"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/17"
controls contains {"checkpoint": "output", "policy_requirement": "no_credential_leaves", "predicate_result": _output_no_credential_leaves_result, "action": "deny", "control_version": "1.0", "eval_case_id": "status_with_credential", "trace_id": _audit_trace_id, "observed_signal": "credential_in_output", "unknown_operands": _output_no_credential_leaves_unknown} if input.checkpoint == "output"

# METADATA
# title: "deny no_credential_leaves"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/17"
findings contains finding.new("no_credential_leaves", "deny", "control.output", "control_checkpoints.no_credential_leaves", "checkpoints.yaml#/control_checkpoints/17") if {
	input.checkpoint == "output"
	not _output_no_credential_leaves_false
}

_output_no_credential_leaves_1 if is_null(_v_string_request_text)

_output_no_credential_leaves_2 if {
	_v_string_request_text_typed
	regex.match("[aA][pP][iI][_-]?[kK]ey|[bB]earer ", _v_string_request_text)
}

_output_no_credential_leaves_true if {
	not _output_no_credential_leaves_1
	_output_no_credential_leaves_2
}

_output_no_credential_leaves_false if _output_no_credential_leaves_1

_output_no_credential_leaves_false if {
	_v_string_request_text_typed
	not _output_no_credential_leaves_2
}

_output_no_credential_leaves_result := "false" if _output_no_credential_leaves_false

else := "true" if _output_no_credential_leaves_true

else := "unknown"

_output_no_credential_leaves_unknown contains "request.text" if not _v_string_request_text_typed
