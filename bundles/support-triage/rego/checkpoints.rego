# "Control checkpoints". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

import data.gate.finding

# METADATA
# title: "audit of no_external_write_without_approval on create_ticket"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "no_external_write_without_approval", "predicate_result": _tool_execution_no_external_write_without_approval_result, "action": "require_approval", "control_version": "1.0", "eval_case_id": "ticket_without_approval", "trace_id": _audit_trace_id} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "create_ticket"
}

# METADATA
# title: "require_approval no_external_write_without_approval on create_ticket"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
demands contains finding.new("no_external_write_without_approval", "require_approval", "control.tool_execution", "control_checkpoints.no_external_write_without_approval", "checkpoints.yaml#/control_checkpoints/0") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "create_ticket"
	not _tool_execution_no_external_write_without_approval_false
}

_tool_execution_no_external_write_without_approval_true if {
	_v_string_risk_tier_typed
	_v_string_risk_tier == "high"
	_v_string_side_effect_typed
	_v_string_side_effect == "external_write"
}

_tool_execution_no_external_write_without_approval_false if {
	_v_string_risk_tier_typed
	_v_string_risk_tier != "high"
}

_tool_execution_no_external_write_without_approval_false if {
	_v_string_side_effect_typed
	_v_string_side_effect != "external_write"
}

_tool_execution_no_external_write_without_approval_result := "false" if _tool_execution_no_external_write_without_approval_false

else := "true" if _tool_execution_no_external_write_without_approval_true

else := "unknown"

_tool_execution_no_external_write_without_approval_unknown contains "risk_tier" if not _v_string_risk_tier_typed

_tool_execution_no_external_write_without_approval_unknown contains "side_effect" if not _v_string_side_effect_typed

# METADATA
# title: "audit of requester_principal_mismatch on create_ticket"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "requester_principal_mismatch", "predicate_result": _tool_execution_requester_principal_mismatch_result, "action": "deny", "control_version": "1.0", "eval_case_id": "ticket_for_another_requester", "observed_signal": "ticket_requester_differs", "unknown_operands": _tool_execution_requester_principal_mismatch_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "create_ticket"
}

# METADATA
# title: "deny requester_principal_mismatch on create_ticket"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
findings contains finding.new("requester_principal_mismatch", "deny", "control.tool_execution", "control_checkpoints.requester_principal_mismatch", "checkpoints.yaml#/control_checkpoints/1") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "create_ticket"
	not _tool_execution_requester_principal_mismatch_false
}

_tool_execution_requester_principal_mismatch_true if {
	_v_string_arguments_requester_id_typed
	_v_string_identity_principal_id_typed
	_v_string_arguments_requester_id != _v_string_identity_principal_id
}

_tool_execution_requester_principal_mismatch_false if {
	_v_string_arguments_requester_id_typed
	_v_string_identity_principal_id_typed
	_v_string_arguments_requester_id == _v_string_identity_principal_id
}

_tool_execution_requester_principal_mismatch_result := "false" if _tool_execution_requester_principal_mismatch_false

else := "true" if _tool_execution_requester_principal_mismatch_true

else := "unknown"

_tool_execution_requester_principal_mismatch_unknown contains "arguments.requester_id" if not _v_string_arguments_requester_id_typed

_tool_execution_requester_principal_mismatch_unknown contains "identity.principal_id" if not _v_string_identity_principal_id_typed

# METADATA
# title: "audit of no_secret_in_ticket on create_ticket"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "no_secret_in_ticket", "predicate_result": _tool_execution_no_secret_in_ticket_result, "action": "redact", "control_version": "1.0", "eval_case_id": "ticket_body_redacted"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "create_ticket"
}

# METADATA
# title: "redact no_secret_in_ticket on create_ticket"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
redactions contains {"code": "no_secret_in_ticket", "source": "checkpoints.yaml#/control_checkpoints/2", "pointers": ["/body"]} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "create_ticket"
	not _tool_execution_no_secret_in_ticket_false
}

_tool_execution_no_secret_in_ticket_1 if is_null(_v_string_arguments_body)

_tool_execution_no_secret_in_ticket_2 if {
	_v_string_arguments_body_typed
	regex.match("[pP]assword|[aA][pP][iI][_-]?[kK]ey|[bB]earer ", _v_string_arguments_body)
}

_tool_execution_no_secret_in_ticket_true if {
	not _tool_execution_no_secret_in_ticket_1
	_tool_execution_no_secret_in_ticket_2
}

_tool_execution_no_secret_in_ticket_false if _tool_execution_no_secret_in_ticket_1

_tool_execution_no_secret_in_ticket_false if {
	_v_string_arguments_body_typed
	not _tool_execution_no_secret_in_ticket_2
}

_tool_execution_no_secret_in_ticket_result := "false" if _tool_execution_no_secret_in_ticket_false

else := "true" if _tool_execution_no_secret_in_ticket_true

else := "unknown"

_tool_execution_no_secret_in_ticket_unknown contains "arguments.body" if not _v_string_arguments_body_typed

# METADATA
# title: "audit of long_search_query on search_docs"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"policy_requirement": "long_search_query", "predicate_result": _tool_execution_long_search_query_result, "action": "warn", "control_version": "1.0", "eval_case_id": "search_docs_many_hits", "observed_signal": "wide_search"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "search_docs"
}

# METADATA
# title: "warn long_search_query on search_docs"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
advice contains {"code": "long_search_query", "source": "checkpoints.yaml#/control_checkpoints/3"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "search_docs"
	not _tool_execution_long_search_query_false
}

_tool_execution_long_search_query_1 if is_null(_v_number_arguments_limit)

_tool_execution_long_search_query_true if {
	not _tool_execution_long_search_query_1
	_v_number_arguments_limit_typed
	_v_number_arguments_limit > 20
}

_tool_execution_long_search_query_false if _tool_execution_long_search_query_1

_tool_execution_long_search_query_false if {
	_v_number_arguments_limit_typed
	_v_number_arguments_limit <= 20
}

_tool_execution_long_search_query_result := "false" if _tool_execution_long_search_query_false

else := "true" if _tool_execution_long_search_query_true

else := "unknown"

_tool_execution_long_search_query_unknown contains "arguments.limit" if not _v_number_arguments_limit_typed

# METADATA
# title: "audit of no_credential_leaves"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
controls contains {"checkpoint": "output", "policy_requirement": "no_credential_leaves", "predicate_result": _output_no_credential_leaves_result, "action": "deny", "control_version": "1.0", "eval_case_id": "output_with_credential"} if input.checkpoint == "output"

# METADATA
# title: "deny no_credential_leaves"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
findings contains finding.new("no_credential_leaves", "deny", "control.output", "control_checkpoints.no_credential_leaves", "checkpoints.yaml#/control_checkpoints/4") if {
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
