# "Control checkpoints". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

import data.gate.finding

# METADATA
# title: "audit of source_not_approved at retrieve"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
controls contains {"checkpoint": "input", "policy_requirement": "source_not_approved", "predicate_result": _input_source_not_approved_result, "action": "deny", "control_version": "1.0", "eval_case_id": "retrieve_from_unknown_source", "trace_id": _audit_trace_id, "observed_signal": "unapproved_source", "unknown_operands": _input_source_not_approved_unknown} if {
	input.checkpoint == "input"
	input.operation == "retrieve"
}

# METADATA
# title: "deny source_not_approved at retrieve"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
findings contains finding.new("source_not_approved", "deny", "control.input", "control_checkpoints.source_not_approved", "checkpoints.yaml#/control_checkpoints/0") if {
	input.checkpoint == "input"
	input.operation == "retrieve"
	not _input_source_not_approved_false
}

_input_source_not_approved_1 if {
	_v_string_evidence_retrieval_source_typed
	_v_string_evidence_retrieval_source in ["wiki", "handbook", "runbooks"]
}

_input_source_not_approved_true if {
	_v_string_evidence_retrieval_source_typed
	not _input_source_not_approved_1
}

_input_source_not_approved_false if _input_source_not_approved_1

_input_source_not_approved_result := "false" if _input_source_not_approved_false

else := "true" if _input_source_not_approved_true

else := "unknown"

_input_source_not_approved_unknown contains "evidence.retrieval.source" if not _v_string_evidence_retrieval_source_typed

# METADATA
# title: "audit of document_access_denied at retrieve"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
controls contains {"checkpoint": "input", "policy_requirement": "document_access_denied", "predicate_result": _input_document_access_denied_result, "action": "deny", "control_version": "1.0", "eval_case_id": "retrieve_denied_document", "trace_id": _audit_trace_id, "observed_signal": "access_denied", "unknown_operands": _input_document_access_denied_unknown} if {
	input.checkpoint == "input"
	input.operation == "retrieve"
}

# METADATA
# title: "deny document_access_denied at retrieve"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
findings contains finding.new("document_access_denied", "deny", "control.input", "control_checkpoints.document_access_denied", "checkpoints.yaml#/control_checkpoints/1") if {
	input.checkpoint == "input"
	input.operation == "retrieve"
	not _input_document_access_denied_false
}

_input_document_access_denied_true if {
	_v_string_evidence_retrieval_access_decision_typed
	_v_string_evidence_retrieval_access_decision != "granted"
}

_input_document_access_denied_false if {
	_v_string_evidence_retrieval_access_decision_typed
	_v_string_evidence_retrieval_access_decision == "granted"
}

_input_document_access_denied_result := "false" if _input_document_access_denied_false

else := "true" if _input_document_access_denied_true

else := "unknown"

_input_document_access_denied_unknown contains "evidence.retrieval.access_decision" if not _v_string_evidence_retrieval_access_decision_typed

# METADATA
# title: "audit of source_not_approved on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "source_not_approved", "predicate_result": _tool_execution_source_not_approved_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_from_unknown_source", "trace_id": _audit_trace_id, "observed_signal": "unapproved_source", "unknown_operands": _tool_execution_source_not_approved_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
}

# METADATA
# title: "deny source_not_approved on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
findings contains finding.new("source_not_approved", "deny", "control.tool_execution", "control_checkpoints.source_not_approved", "checkpoints.yaml#/control_checkpoints/2") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
	not _tool_execution_source_not_approved_false
}

_tool_execution_source_not_approved_1 if {
	_v_string_evidence_retrieval_source_typed
	_v_string_evidence_retrieval_source in ["wiki", "handbook", "runbooks"]
}

_tool_execution_source_not_approved_true if {
	_v_string_evidence_retrieval_source_typed
	not _tool_execution_source_not_approved_1
}

_tool_execution_source_not_approved_false if _tool_execution_source_not_approved_1

_tool_execution_source_not_approved_result := "false" if _tool_execution_source_not_approved_false

else := "true" if _tool_execution_source_not_approved_true

else := "unknown"

_tool_execution_source_not_approved_unknown contains "evidence.retrieval.source" if not _v_string_evidence_retrieval_source_typed

# METADATA
# title: "audit of document_access_denied on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "document_access_denied", "predicate_result": _tool_execution_document_access_denied_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_role_denied", "trace_id": _audit_trace_id, "observed_signal": "access_denied", "unknown_operands": _tool_execution_document_access_denied_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
}

# METADATA
# title: "deny document_access_denied on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("document_access_denied", "deny", "control.tool_execution", "control_checkpoints.document_access_denied", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
	not _tool_execution_document_access_denied_false
}

# METADATA
# title: "audit of document_access_denied on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "document_access_denied", "predicate_result": _tool_execution_document_access_denied_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_role_denied", "trace_id": _audit_trace_id, "observed_signal": "access_denied", "unknown_operands": _tool_execution_document_access_denied_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
}

# METADATA
# title: "deny document_access_denied on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("document_access_denied", "deny", "control.tool_execution", "control_checkpoints.document_access_denied", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
	not _tool_execution_document_access_denied_false
}

# METADATA
# title: "audit of document_access_denied on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "document_access_denied", "predicate_result": _tool_execution_document_access_denied_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_role_denied", "trace_id": _audit_trace_id, "observed_signal": "access_denied", "unknown_operands": _tool_execution_document_access_denied_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "deny document_access_denied on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("document_access_denied", "deny", "control.tool_execution", "control_checkpoints.document_access_denied", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
	not _tool_execution_document_access_denied_false
}

_tool_execution_document_access_denied_true if {
	_v_string_evidence_retrieval_access_decision_typed
	_v_string_evidence_retrieval_access_decision != "granted"
}

_tool_execution_document_access_denied_false if {
	_v_string_evidence_retrieval_access_decision_typed
	_v_string_evidence_retrieval_access_decision == "granted"
}

_tool_execution_document_access_denied_result := "false" if _tool_execution_document_access_denied_false

else := "true" if _tool_execution_document_access_denied_true

else := "unknown"

_tool_execution_document_access_denied_unknown contains "evidence.retrieval.access_decision" if not _v_string_evidence_retrieval_access_decision_typed

# METADATA
# title: "audit of access_checked_for_another on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "access_checked_for_another", "predicate_result": _tool_execution_access_checked_for_another_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_access_of_another_principal", "trace_id": _audit_trace_id, "observed_signal": "access_of_another", "unknown_operands": _tool_execution_access_checked_for_another_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
}

# METADATA
# title: "deny access_checked_for_another on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
findings contains finding.new("access_checked_for_another", "deny", "control.tool_execution", "control_checkpoints.access_checked_for_another", "checkpoints.yaml#/control_checkpoints/4") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
	not _tool_execution_access_checked_for_another_false
}

# METADATA
# title: "audit of access_checked_for_another on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "access_checked_for_another", "predicate_result": _tool_execution_access_checked_for_another_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_access_of_another_principal", "trace_id": _audit_trace_id, "observed_signal": "access_of_another", "unknown_operands": _tool_execution_access_checked_for_another_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
}

# METADATA
# title: "deny access_checked_for_another on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
findings contains finding.new("access_checked_for_another", "deny", "control.tool_execution", "control_checkpoints.access_checked_for_another", "checkpoints.yaml#/control_checkpoints/4") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
	not _tool_execution_access_checked_for_another_false
}

# METADATA
# title: "audit of access_checked_for_another on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "access_checked_for_another", "predicate_result": _tool_execution_access_checked_for_another_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_access_of_another_principal", "trace_id": _audit_trace_id, "observed_signal": "access_of_another", "unknown_operands": _tool_execution_access_checked_for_another_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "deny access_checked_for_another on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/4"
findings contains finding.new("access_checked_for_another", "deny", "control.tool_execution", "control_checkpoints.access_checked_for_another", "checkpoints.yaml#/control_checkpoints/4") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
	not _tool_execution_access_checked_for_another_false
}

_tool_execution_access_checked_for_another_true if {
	_v_string_evidence_retrieval_principal_id_typed
	_v_string_identity_principal_id_typed
	_v_string_evidence_retrieval_principal_id != _v_string_identity_principal_id
}

_tool_execution_access_checked_for_another_true if {
	_v_string_evidence_retrieval_tenant_id_typed
	_v_string_identity_tenant_id_typed
	_v_string_evidence_retrieval_tenant_id != _v_string_identity_tenant_id
}

_tool_execution_access_checked_for_another_false if {
	_v_string_evidence_retrieval_principal_id_typed
	_v_string_identity_principal_id_typed
	_v_string_evidence_retrieval_principal_id == _v_string_identity_principal_id
	_v_string_evidence_retrieval_tenant_id_typed
	_v_string_identity_tenant_id_typed
	_v_string_evidence_retrieval_tenant_id == _v_string_identity_tenant_id
}

_tool_execution_access_checked_for_another_result := "false" if _tool_execution_access_checked_for_another_false

else := "true" if _tool_execution_access_checked_for_another_true

else := "unknown"

_tool_execution_access_checked_for_another_unknown contains "evidence.retrieval.principal_id" if not _v_string_evidence_retrieval_principal_id_typed

_tool_execution_access_checked_for_another_unknown contains "evidence.retrieval.tenant_id" if not _v_string_evidence_retrieval_tenant_id_typed

_tool_execution_access_checked_for_another_unknown contains "identity.principal_id" if not _v_string_identity_principal_id_typed

_tool_execution_access_checked_for_another_unknown contains "identity.tenant_id" if not _v_string_identity_tenant_id_typed

# METADATA
# title: "audit of access_check_untrusted on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/5"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "access_check_untrusted", "predicate_result": _tool_execution_access_check_untrusted_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_access_checked_by_the_index", "trace_id": _audit_trace_id, "observed_signal": "access_check_untrusted", "unknown_operands": _tool_execution_access_check_untrusted_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
}

# METADATA
# title: "deny access_check_untrusted on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/5"
findings contains finding.new("access_check_untrusted", "deny", "control.tool_execution", "control_checkpoints.access_check_untrusted", "checkpoints.yaml#/control_checkpoints/5") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
	not _tool_execution_access_check_untrusted_false
}

# METADATA
# title: "audit of access_check_untrusted on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/5"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "access_check_untrusted", "predicate_result": _tool_execution_access_check_untrusted_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_access_checked_by_the_index", "trace_id": _audit_trace_id, "observed_signal": "access_check_untrusted", "unknown_operands": _tool_execution_access_check_untrusted_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
}

# METADATA
# title: "deny access_check_untrusted on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/5"
findings contains finding.new("access_check_untrusted", "deny", "control.tool_execution", "control_checkpoints.access_check_untrusted", "checkpoints.yaml#/control_checkpoints/5") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
	not _tool_execution_access_check_untrusted_false
}

# METADATA
# title: "audit of access_check_untrusted on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/5"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "access_check_untrusted", "predicate_result": _tool_execution_access_check_untrusted_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_access_checked_by_the_index", "trace_id": _audit_trace_id, "observed_signal": "access_check_untrusted", "unknown_operands": _tool_execution_access_check_untrusted_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "deny access_check_untrusted on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/5"
findings contains finding.new("access_check_untrusted", "deny", "control.tool_execution", "control_checkpoints.access_check_untrusted", "checkpoints.yaml#/control_checkpoints/5") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
	not _tool_execution_access_check_untrusted_false
}

_tool_execution_access_check_untrusted_true if {
	_v_string_evidence_retrieval_checked_by_typed
	_v_string_evidence_retrieval_checked_by != "svc-access-control"
}

_tool_execution_access_check_untrusted_false if {
	_v_string_evidence_retrieval_checked_by_typed
	_v_string_evidence_retrieval_checked_by == "svc-access-control"
}

_tool_execution_access_check_untrusted_result := "false" if _tool_execution_access_check_untrusted_false

else := "true" if _tool_execution_access_check_untrusted_true

else := "unknown"

_tool_execution_access_check_untrusted_unknown contains "evidence.retrieval.checked_by" if not _v_string_evidence_retrieval_checked_by_typed

# METADATA
# title: "audit of access_check_stale on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/6"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "access_check_stale", "predicate_result": _tool_execution_access_check_stale_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_access_check_stale", "trace_id": _audit_trace_id, "observed_signal": "access_check_stale", "unknown_operands": _tool_execution_access_check_stale_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
}

# METADATA
# title: "deny access_check_stale on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/6"
findings contains finding.new("access_check_stale", "deny", "control.tool_execution", "control_checkpoints.access_check_stale", "checkpoints.yaml#/control_checkpoints/6") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
	not _tool_execution_access_check_stale_false
}

# METADATA
# title: "audit of access_check_stale on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/6"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "access_check_stale", "predicate_result": _tool_execution_access_check_stale_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_access_check_stale", "trace_id": _audit_trace_id, "observed_signal": "access_check_stale", "unknown_operands": _tool_execution_access_check_stale_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
}

# METADATA
# title: "deny access_check_stale on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/6"
findings contains finding.new("access_check_stale", "deny", "control.tool_execution", "control_checkpoints.access_check_stale", "checkpoints.yaml#/control_checkpoints/6") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
	not _tool_execution_access_check_stale_false
}

# METADATA
# title: "audit of access_check_stale on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/6"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "access_check_stale", "predicate_result": _tool_execution_access_check_stale_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_access_check_stale", "trace_id": _audit_trace_id, "observed_signal": "access_check_stale", "unknown_operands": _tool_execution_access_check_stale_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "deny access_check_stale on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/6"
findings contains finding.new("access_check_stale", "deny", "control.tool_execution", "control_checkpoints.access_check_stale", "checkpoints.yaml#/control_checkpoints/6") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
	not _tool_execution_access_check_stale_false
}

_tool_execution_access_check_stale_true if {
	_v_number_evidence_retrieval_check_age_ms_typed
	_v_number_evidence_retrieval_check_age_ms < 0
}

_tool_execution_access_check_stale_true if {
	_v_number_evidence_retrieval_check_age_ms_typed
	_v_number_evidence_retrieval_check_age_ms > 60000
}

_tool_execution_access_check_stale_false if {
	_v_number_evidence_retrieval_check_age_ms_typed
	_v_number_evidence_retrieval_check_age_ms >= 0
	_v_number_evidence_retrieval_check_age_ms <= 60000
}

_tool_execution_access_check_stale_result := "false" if _tool_execution_access_check_stale_false

else := "true" if _tool_execution_access_check_stale_true

else := "unknown"

_tool_execution_access_check_stale_unknown contains "evidence.retrieval.check_age_ms" if not _v_number_evidence_retrieval_check_age_ms_typed

# METADATA
# title: "audit of evidence_for_another_document on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "evidence_for_another_document", "predicate_result": _tool_execution_evidence_for_another_document_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_another_document", "trace_id": _audit_trace_id, "observed_signal": "evidence_mismatch", "unknown_operands": _tool_execution_evidence_for_another_document_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
}

# METADATA
# title: "deny evidence_for_another_document on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
findings contains finding.new("evidence_for_another_document", "deny", "control.tool_execution", "control_checkpoints.evidence_for_another_document", "checkpoints.yaml#/control_checkpoints/7") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
	not _tool_execution_evidence_for_another_document_false
}

# METADATA
# title: "audit of evidence_for_another_document on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "evidence_for_another_document", "predicate_result": _tool_execution_evidence_for_another_document_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_another_document", "trace_id": _audit_trace_id, "observed_signal": "evidence_mismatch", "unknown_operands": _tool_execution_evidence_for_another_document_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
}

# METADATA
# title: "deny evidence_for_another_document on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
findings contains finding.new("evidence_for_another_document", "deny", "control.tool_execution", "control_checkpoints.evidence_for_another_document", "checkpoints.yaml#/control_checkpoints/7") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
	not _tool_execution_evidence_for_another_document_false
}

# METADATA
# title: "audit of evidence_for_another_document on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "evidence_for_another_document", "predicate_result": _tool_execution_evidence_for_another_document_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_another_document", "trace_id": _audit_trace_id, "observed_signal": "evidence_mismatch", "unknown_operands": _tool_execution_evidence_for_another_document_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "deny evidence_for_another_document on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/7"
findings contains finding.new("evidence_for_another_document", "deny", "control.tool_execution", "control_checkpoints.evidence_for_another_document", "checkpoints.yaml#/control_checkpoints/7") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
	not _tool_execution_evidence_for_another_document_false
}

_tool_execution_evidence_for_another_document_true if {
	_v_string_arguments_document_id_typed
	_v_string_evidence_retrieval_document_id_typed
	_v_string_arguments_document_id != _v_string_evidence_retrieval_document_id
}

_tool_execution_evidence_for_another_document_false if {
	_v_string_arguments_document_id_typed
	_v_string_evidence_retrieval_document_id_typed
	_v_string_arguments_document_id == _v_string_evidence_retrieval_document_id
}

_tool_execution_evidence_for_another_document_result := "false" if _tool_execution_evidence_for_another_document_false

else := "true" if _tool_execution_evidence_for_another_document_true

else := "unknown"

_tool_execution_evidence_for_another_document_unknown contains "arguments.document_id" if not _v_string_arguments_document_id_typed

_tool_execution_evidence_for_another_document_unknown contains "evidence.retrieval.document_id" if not _v_string_evidence_retrieval_document_id_typed

# METADATA
# title: "audit of classification_too_high on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/8"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "classification_too_high", "predicate_result": _tool_execution_classification_too_high_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_restricted_document", "trace_id": _audit_trace_id, "observed_signal": "classification_too_high", "unknown_operands": _tool_execution_classification_too_high_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
}

# METADATA
# title: "deny classification_too_high on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/8"
findings contains finding.new("classification_too_high", "deny", "control.tool_execution", "control_checkpoints.classification_too_high", "checkpoints.yaml#/control_checkpoints/8") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
	not _tool_execution_classification_too_high_false
}

_tool_execution_classification_too_high_1 if {
	_v_string_evidence_retrieval_classification_typed
	_v_string_evidence_retrieval_classification in ["public", "internal", "confidential"]
}

_tool_execution_classification_too_high_true if {
	_v_string_evidence_retrieval_classification_typed
	not _tool_execution_classification_too_high_1
}

_tool_execution_classification_too_high_false if _tool_execution_classification_too_high_1

_tool_execution_classification_too_high_result := "false" if _tool_execution_classification_too_high_false

else := "true" if _tool_execution_classification_too_high_true

else := "unknown"

_tool_execution_classification_too_high_unknown contains "evidence.retrieval.classification" if not _v_string_evidence_retrieval_classification_typed

# METADATA
# title: "audit of page_expired on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/9"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "page_expired", "predicate_result": _tool_execution_page_expired_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_expired_page", "trace_id": _audit_trace_id, "observed_signal": "page_expired", "unknown_operands": _tool_execution_page_expired_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
}

# METADATA
# title: "deny page_expired on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/9"
findings contains finding.new("page_expired", "deny", "control.tool_execution", "control_checkpoints.page_expired", "checkpoints.yaml#/control_checkpoints/9") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
	not _tool_execution_page_expired_false
}

# METADATA
# title: "audit of page_expired on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/9"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "page_expired", "predicate_result": _tool_execution_page_expired_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_expired_page", "trace_id": _audit_trace_id, "observed_signal": "page_expired", "unknown_operands": _tool_execution_page_expired_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
}

# METADATA
# title: "deny page_expired on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/9"
findings contains finding.new("page_expired", "deny", "control.tool_execution", "control_checkpoints.page_expired", "checkpoints.yaml#/control_checkpoints/9") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
	not _tool_execution_page_expired_false
}

# METADATA
# title: "audit of page_expired on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/9"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "page_expired", "predicate_result": _tool_execution_page_expired_result, "action": "deny", "control_version": "1.0", "eval_case_id": "read_expired_page", "trace_id": _audit_trace_id, "observed_signal": "page_expired", "unknown_operands": _tool_execution_page_expired_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "deny page_expired on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/9"
findings contains finding.new("page_expired", "deny", "control.tool_execution", "control_checkpoints.page_expired", "checkpoints.yaml#/control_checkpoints/9") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
	not _tool_execution_page_expired_false
}

_tool_execution_page_expired_true if {
	_v_number_evidence_retrieval_age_ms_typed
	_v_number_evidence_retrieval_age_ms < 0
}

_tool_execution_page_expired_true if {
	_v_number_evidence_retrieval_age_ms_typed
	_v_number_evidence_retrieval_age_ms > 2592000000
}

_tool_execution_page_expired_false if {
	_v_number_evidence_retrieval_age_ms_typed
	_v_number_evidence_retrieval_age_ms >= 0
	_v_number_evidence_retrieval_age_ms <= 2592000000
}

_tool_execution_page_expired_result := "false" if _tool_execution_page_expired_false

else := "true" if _tool_execution_page_expired_true

else := "unknown"

_tool_execution_page_expired_unknown contains "evidence.retrieval.age_ms" if not _v_number_evidence_retrieval_age_ms_typed

# METADATA
# title: "audit of page_ageing on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/10"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "page_ageing", "predicate_result": _tool_execution_page_ageing_result, "action": "warn", "control_version": "1.0", "eval_case_id": "read_ageing_page", "trace_id": _audit_trace_id, "observed_signal": "page_ageing", "unknown_operands": _tool_execution_page_ageing_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
}

# METADATA
# title: "warn page_ageing on read_document"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/10"
advice contains {"code": "page_ageing", "source": "checkpoints.yaml#/control_checkpoints/10"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "read_document"
	not _tool_execution_page_ageing_false
}

_tool_execution_page_ageing_true if {
	_v_number_evidence_retrieval_age_ms_typed
	_v_number_evidence_retrieval_age_ms > 604800000
}

_tool_execution_page_ageing_false if {
	_v_number_evidence_retrieval_age_ms_typed
	_v_number_evidence_retrieval_age_ms <= 604800000
}

_tool_execution_page_ageing_result := "false" if _tool_execution_page_ageing_false

else := "true" if _tool_execution_page_ageing_true

else := "unknown"

_tool_execution_page_ageing_unknown contains "evidence.retrieval.age_ms" if not _v_number_evidence_retrieval_age_ms_typed

# METADATA
# title: "audit of fact_superseded on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/11"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "fact_superseded", "predicate_result": _tool_execution_fact_superseded_result, "action": "deny", "control_version": "1.0", "eval_case_id": "remember_superseded_fact", "trace_id": _audit_trace_id, "observed_signal": "fact_superseded", "unknown_operands": _tool_execution_fact_superseded_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
}

# METADATA
# title: "deny fact_superseded on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/11"
findings contains finding.new("fact_superseded", "deny", "control.tool_execution", "control_checkpoints.fact_superseded", "checkpoints.yaml#/control_checkpoints/11") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
	not _tool_execution_fact_superseded_false
}

# METADATA
# title: "audit of fact_superseded on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/11"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "fact_superseded", "predicate_result": _tool_execution_fact_superseded_result, "action": "deny", "control_version": "1.0", "eval_case_id": "remember_superseded_fact", "trace_id": _audit_trace_id, "observed_signal": "fact_superseded", "unknown_operands": _tool_execution_fact_superseded_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "deny fact_superseded on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/11"
findings contains finding.new("fact_superseded", "deny", "control.tool_execution", "control_checkpoints.fact_superseded", "checkpoints.yaml#/control_checkpoints/11") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
	not _tool_execution_fact_superseded_false
}

_tool_execution_fact_superseded_true if {
	_v_string_evidence_retrieval_revision_typed
	_v_string_evidence_retrieval_current_revision_typed
	_v_string_evidence_retrieval_revision != _v_string_evidence_retrieval_current_revision
}

_tool_execution_fact_superseded_false if {
	_v_string_evidence_retrieval_revision_typed
	_v_string_evidence_retrieval_current_revision_typed
	_v_string_evidence_retrieval_revision == _v_string_evidence_retrieval_current_revision
}

_tool_execution_fact_superseded_result := "false" if _tool_execution_fact_superseded_false

else := "true" if _tool_execution_fact_superseded_true

else := "unknown"

_tool_execution_fact_superseded_unknown contains "evidence.retrieval.current_revision" if not _v_string_evidence_retrieval_current_revision_typed

_tool_execution_fact_superseded_unknown contains "evidence.retrieval.revision" if not _v_string_evidence_retrieval_revision_typed

# METADATA
# title: "audit of memory_without_provenance on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/12"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "memory_without_provenance", "predicate_result": _tool_execution_memory_without_provenance_result, "action": "deny", "control_version": "1.0", "eval_case_id": "remember_without_provenance", "trace_id": _audit_trace_id, "observed_signal": "provenance_missing", "unknown_operands": _tool_execution_memory_without_provenance_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
}

# METADATA
# title: "deny memory_without_provenance on remember_fact"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/12"
findings contains finding.new("memory_without_provenance", "deny", "control.tool_execution", "control_checkpoints.memory_without_provenance", "checkpoints.yaml#/control_checkpoints/12") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "remember_fact"
	not _tool_execution_memory_without_provenance_false
}

_tool_execution_memory_without_provenance_true if {
	_v_string_evidence_retrieval_provenance_typed
	_v_string_evidence_retrieval_provenance != "attributed"
}

_tool_execution_memory_without_provenance_false if {
	_v_string_evidence_retrieval_provenance_typed
	_v_string_evidence_retrieval_provenance == "attributed"
}

_tool_execution_memory_without_provenance_result := "false" if _tool_execution_memory_without_provenance_false

else := "true" if _tool_execution_memory_without_provenance_true

else := "unknown"

_tool_execution_memory_without_provenance_unknown contains "evidence.retrieval.provenance" if not _v_string_evidence_retrieval_provenance_typed

# METADATA
# title: "audit of memory_without_provenance at memory_write"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/13"
controls contains {"checkpoint": "state", "policy_requirement": "memory_without_provenance", "predicate_result": _state_memory_without_provenance_result, "action": "deny", "control_version": "1.0", "eval_case_id": "memory_without_provenance", "trace_id": _audit_trace_id, "observed_signal": "provenance_missing", "unknown_operands": _state_memory_without_provenance_unknown} if {
	input.checkpoint == "state"
	input.operation == "memory_write"
}

# METADATA
# title: "deny memory_without_provenance at memory_write"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/13"
findings contains finding.new("memory_without_provenance", "deny", "control.state", "control_checkpoints.memory_without_provenance", "checkpoints.yaml#/control_checkpoints/13") if {
	input.checkpoint == "state"
	input.operation == "memory_write"
	not _state_memory_without_provenance_false
}

_state_memory_without_provenance_true if {
	_v_string_evidence_retrieval_provenance_typed
	_v_string_evidence_retrieval_provenance != "attributed"
}

_state_memory_without_provenance_false if {
	_v_string_evidence_retrieval_provenance_typed
	_v_string_evidence_retrieval_provenance == "attributed"
}

_state_memory_without_provenance_result := "false" if _state_memory_without_provenance_false

else := "true" if _state_memory_without_provenance_true

else := "unknown"

_state_memory_without_provenance_unknown contains "evidence.retrieval.provenance" if not _v_string_evidence_retrieval_provenance_typed

# METADATA
# title: "audit of fact_superseded at memory_write"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/14"
controls contains {"checkpoint": "state", "policy_requirement": "fact_superseded", "predicate_result": _state_fact_superseded_result, "action": "deny", "control_version": "1.0", "eval_case_id": "memory_superseded_fact", "trace_id": _audit_trace_id, "observed_signal": "fact_superseded", "unknown_operands": _state_fact_superseded_unknown} if {
	input.checkpoint == "state"
	input.operation == "memory_write"
}

# METADATA
# title: "deny fact_superseded at memory_write"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/14"
findings contains finding.new("fact_superseded", "deny", "control.state", "control_checkpoints.fact_superseded", "checkpoints.yaml#/control_checkpoints/14") if {
	input.checkpoint == "state"
	input.operation == "memory_write"
	not _state_fact_superseded_false
}

_state_fact_superseded_true if {
	_v_string_evidence_retrieval_revision_typed
	_v_string_evidence_retrieval_current_revision_typed
	_v_string_evidence_retrieval_revision != _v_string_evidence_retrieval_current_revision
}

_state_fact_superseded_false if {
	_v_string_evidence_retrieval_revision_typed
	_v_string_evidence_retrieval_current_revision_typed
	_v_string_evidence_retrieval_revision == _v_string_evidence_retrieval_current_revision
}

_state_fact_superseded_result := "false" if _state_fact_superseded_false

else := "true" if _state_fact_superseded_true

else := "unknown"

_state_fact_superseded_unknown contains "evidence.retrieval.current_revision" if not _v_string_evidence_retrieval_current_revision_typed

_state_fact_superseded_unknown contains "evidence.retrieval.revision" if not _v_string_evidence_retrieval_revision_typed

# METADATA
# title: "audit of document_access_denied at memory_write"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/15"
controls contains {"checkpoint": "state", "policy_requirement": "document_access_denied", "predicate_result": _state_document_access_denied_result, "action": "deny", "control_version": "1.0", "eval_case_id": "memory_of_denied_document", "trace_id": _audit_trace_id, "observed_signal": "access_denied", "unknown_operands": _state_document_access_denied_unknown} if {
	input.checkpoint == "state"
	input.operation == "memory_write"
}

# METADATA
# title: "deny document_access_denied at memory_write"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/15"
findings contains finding.new("document_access_denied", "deny", "control.state", "control_checkpoints.document_access_denied", "checkpoints.yaml#/control_checkpoints/15") if {
	input.checkpoint == "state"
	input.operation == "memory_write"
	not _state_document_access_denied_false
}

_state_document_access_denied_true if {
	_v_string_evidence_retrieval_access_decision_typed
	_v_string_evidence_retrieval_access_decision != "granted"
}

_state_document_access_denied_false if {
	_v_string_evidence_retrieval_access_decision_typed
	_v_string_evidence_retrieval_access_decision == "granted"
}

_state_document_access_denied_result := "false" if _state_document_access_denied_false

else := "true" if _state_document_access_denied_true

else := "unknown"

_state_document_access_denied_unknown contains "evidence.retrieval.access_decision" if not _v_string_evidence_retrieval_access_decision_typed

# METADATA
# title: "audit of only_public_leaves on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/16"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "only_public_leaves", "predicate_result": _tool_execution_only_public_leaves_result, "action": "deny", "control_version": "1.0", "eval_case_id": "share_internal_document", "trace_id": _audit_trace_id, "observed_signal": "classification_too_high", "unknown_operands": _tool_execution_only_public_leaves_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "deny only_public_leaves on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/16"
findings contains finding.new("only_public_leaves", "deny", "control.tool_execution", "control_checkpoints.only_public_leaves", "checkpoints.yaml#/control_checkpoints/16") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
	not _tool_execution_only_public_leaves_false
}

_tool_execution_only_public_leaves_true if {
	_v_string_evidence_retrieval_classification_typed
	_v_string_evidence_retrieval_classification != "public"
}

_tool_execution_only_public_leaves_false if {
	_v_string_evidence_retrieval_classification_typed
	_v_string_evidence_retrieval_classification == "public"
}

_tool_execution_only_public_leaves_result := "false" if _tool_execution_only_public_leaves_false

else := "true" if _tool_execution_only_public_leaves_true

else := "unknown"

_tool_execution_only_public_leaves_unknown contains "evidence.retrieval.classification" if not _v_string_evidence_retrieval_classification_typed

# METADATA
# title: "audit of disputed_answer_needs_reviewer on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/17"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "disputed_answer_needs_reviewer", "predicate_result": _tool_execution_disputed_answer_needs_reviewer_result, "action": "require_approval", "control_version": "1.0", "eval_case_id": "share_disputed_answer", "trace_id": _audit_trace_id, "observed_signal": "conflicting_sources", "unknown_operands": _tool_execution_disputed_answer_needs_reviewer_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "require_approval disputed_answer_needs_reviewer on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/17"
demands contains finding.new("disputed_answer_needs_reviewer", "require_approval", "control.tool_execution", "control_checkpoints.disputed_answer_needs_reviewer", "checkpoints.yaml#/control_checkpoints/17") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
	not _tool_execution_disputed_answer_needs_reviewer_false
}

_tool_execution_disputed_answer_needs_reviewer_true if {
	_v_boolean_evidence_retrieval_conflicting_typed
	_v_boolean_evidence_retrieval_conflicting == true
}

_tool_execution_disputed_answer_needs_reviewer_false if {
	_v_boolean_evidence_retrieval_conflicting_typed
	_v_boolean_evidence_retrieval_conflicting == false
}

_tool_execution_disputed_answer_needs_reviewer_result := "false" if _tool_execution_disputed_answer_needs_reviewer_false

else := "true" if _tool_execution_disputed_answer_needs_reviewer_true

else := "unknown"

_tool_execution_disputed_answer_needs_reviewer_unknown contains "evidence.retrieval.conflicting" if not _v_boolean_evidence_retrieval_conflicting_typed

# METADATA
# title: "audit of private_contact_in_note on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/18"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "private_contact_in_note", "predicate_result": _tool_execution_private_contact_in_note_result, "action": "redact", "control_version": "1.0", "eval_case_id": "share_note_redacted", "trace_id": _audit_trace_id, "observed_signal": "private_contact", "unknown_operands": _tool_execution_private_contact_in_note_unknown} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
}

# METADATA
# title: "redact private_contact_in_note on share_answer_externally"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/18"
redactions contains {"code": "private_contact_in_note", "source": "checkpoints.yaml#/control_checkpoints/18", "pointers": ["/note"]} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "share_answer_externally"
	not _tool_execution_private_contact_in_note_false
}

_tool_execution_private_contact_in_note_1 if is_null(_v_string_arguments_note)

_tool_execution_private_contact_in_note_2 if {
	_v_string_arguments_note_typed
	regex.match("@corp[.]internal|[+][0-9]{6,}", _v_string_arguments_note)
}

_tool_execution_private_contact_in_note_true if {
	not _tool_execution_private_contact_in_note_1
	_tool_execution_private_contact_in_note_2
}

_tool_execution_private_contact_in_note_false if _tool_execution_private_contact_in_note_1

_tool_execution_private_contact_in_note_false if {
	_v_string_arguments_note_typed
	not _tool_execution_private_contact_in_note_2
}

_tool_execution_private_contact_in_note_result := "false" if _tool_execution_private_contact_in_note_false

else := "true" if _tool_execution_private_contact_in_note_true

else := "unknown"

_tool_execution_private_contact_in_note_unknown contains "arguments.note" if not _v_string_arguments_note_typed

# METADATA
# title: "audit of answer_without_source at emit"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/19"
controls contains {"checkpoint": "output", "policy_requirement": "answer_without_source", "predicate_result": _output_answer_without_source_result, "action": "deny", "control_version": "1.0", "eval_case_id": "answer_insufficient_context", "trace_id": _audit_trace_id, "observed_signal": "insufficient_context", "unknown_operands": _output_answer_without_source_unknown} if {
	input.checkpoint == "output"
	input.operation == "emit"
}

# METADATA
# title: "deny answer_without_source at emit"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/19"
findings contains finding.new("answer_without_source", "deny", "control.output", "control_checkpoints.answer_without_source", "checkpoints.yaml#/control_checkpoints/19") if {
	input.checkpoint == "output"
	input.operation == "emit"
	not _output_answer_without_source_false
}

_output_answer_without_source_true if {
	_v_number_evidence_retrieval_source_count_typed
	_v_number_evidence_retrieval_source_count < 1
}

_output_answer_without_source_true if {
	_v_string_evidence_retrieval_provenance_typed
	_v_string_evidence_retrieval_provenance != "attributed"
}

_output_answer_without_source_false if {
	_v_number_evidence_retrieval_source_count_typed
	_v_number_evidence_retrieval_source_count >= 1
	_v_string_evidence_retrieval_provenance_typed
	_v_string_evidence_retrieval_provenance == "attributed"
}

_output_answer_without_source_result := "false" if _output_answer_without_source_false

else := "true" if _output_answer_without_source_true

else := "unknown"

_output_answer_without_source_unknown contains "evidence.retrieval.provenance" if not _v_string_evidence_retrieval_provenance_typed

_output_answer_without_source_unknown contains "evidence.retrieval.source_count" if not _v_number_evidence_retrieval_source_count_typed

# METADATA
# title: "audit of document_access_denied at emit"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/20"
controls contains {"checkpoint": "output", "policy_requirement": "document_access_denied", "predicate_result": _output_document_access_denied_result, "action": "deny", "control_version": "1.0", "eval_case_id": "answer_after_access_revoked", "trace_id": _audit_trace_id, "observed_signal": "access_denied", "unknown_operands": _output_document_access_denied_unknown} if {
	input.checkpoint == "output"
	input.operation == "emit"
}

# METADATA
# title: "deny document_access_denied at emit"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/20"
findings contains finding.new("document_access_denied", "deny", "control.output", "control_checkpoints.document_access_denied", "checkpoints.yaml#/control_checkpoints/20") if {
	input.checkpoint == "output"
	input.operation == "emit"
	not _output_document_access_denied_false
}

_output_document_access_denied_true if {
	_v_string_evidence_retrieval_access_decision_typed
	_v_string_evidence_retrieval_access_decision != "granted"
}

_output_document_access_denied_false if {
	_v_string_evidence_retrieval_access_decision_typed
	_v_string_evidence_retrieval_access_decision == "granted"
}

_output_document_access_denied_result := "false" if _output_document_access_denied_false

else := "true" if _output_document_access_denied_true

else := "unknown"

_output_document_access_denied_unknown contains "evidence.retrieval.access_decision" if not _v_string_evidence_retrieval_access_decision_typed

# METADATA
# title: "audit of fact_superseded at emit"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/21"
controls contains {"checkpoint": "output", "policy_requirement": "fact_superseded", "predicate_result": _output_fact_superseded_result, "action": "deny", "control_version": "1.0", "eval_case_id": "answer_from_compacted_fact", "trace_id": _audit_trace_id, "observed_signal": "fact_superseded", "unknown_operands": _output_fact_superseded_unknown} if {
	input.checkpoint == "output"
	input.operation == "emit"
}

# METADATA
# title: "deny fact_superseded at emit"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/21"
findings contains finding.new("fact_superseded", "deny", "control.output", "control_checkpoints.fact_superseded", "checkpoints.yaml#/control_checkpoints/21") if {
	input.checkpoint == "output"
	input.operation == "emit"
	not _output_fact_superseded_false
}

_output_fact_superseded_true if {
	_v_string_evidence_retrieval_revision_typed
	_v_string_evidence_retrieval_current_revision_typed
	_v_string_evidence_retrieval_revision != _v_string_evidence_retrieval_current_revision
}

_output_fact_superseded_false if {
	_v_string_evidence_retrieval_revision_typed
	_v_string_evidence_retrieval_current_revision_typed
	_v_string_evidence_retrieval_revision == _v_string_evidence_retrieval_current_revision
}

_output_fact_superseded_result := "false" if _output_fact_superseded_false

else := "true" if _output_fact_superseded_true

else := "unknown"

_output_fact_superseded_unknown contains "evidence.retrieval.current_revision" if not _v_string_evidence_retrieval_current_revision_typed

_output_fact_superseded_unknown contains "evidence.retrieval.revision" if not _v_string_evidence_retrieval_revision_typed

# METADATA
# title: "audit of conflicting_sources at emit"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/22"
controls contains {"checkpoint": "output", "policy_requirement": "conflicting_sources", "predicate_result": _output_conflicting_sources_result, "action": "warn", "control_version": "1.0", "eval_case_id": "answer_with_conflicting_sources", "trace_id": _audit_trace_id, "observed_signal": "conflicting_sources", "unknown_operands": _output_conflicting_sources_unknown} if {
	input.checkpoint == "output"
	input.operation == "emit"
}

# METADATA
# title: "warn conflicting_sources at emit"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/22"
advice contains {"code": "conflicting_sources", "source": "checkpoints.yaml#/control_checkpoints/22"} if {
	input.checkpoint == "output"
	input.operation == "emit"
	not _output_conflicting_sources_false
}

_output_conflicting_sources_true if {
	_v_boolean_evidence_retrieval_conflicting_typed
	_v_boolean_evidence_retrieval_conflicting == true
}

_output_conflicting_sources_false if {
	_v_boolean_evidence_retrieval_conflicting_typed
	_v_boolean_evidence_retrieval_conflicting == false
}

_output_conflicting_sources_result := "false" if _output_conflicting_sources_false

else := "true" if _output_conflicting_sources_true

else := "unknown"

_output_conflicting_sources_unknown contains "evidence.retrieval.conflicting" if not _v_boolean_evidence_retrieval_conflicting_typed

# METADATA
# title: "audit of no_credential_leaves at emit"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/23"
controls contains {"checkpoint": "output", "policy_requirement": "no_credential_leaves", "predicate_result": _output_no_credential_leaves_result, "action": "deny", "control_version": "1.0", "eval_case_id": "answer_with_credential", "trace_id": _audit_trace_id, "observed_signal": "credential_in_output", "unknown_operands": _output_no_credential_leaves_unknown} if {
	input.checkpoint == "output"
	input.operation == "emit"
}

# METADATA
# title: "deny no_credential_leaves at emit"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/23"
findings contains finding.new("no_credential_leaves", "deny", "control.output", "control_checkpoints.no_credential_leaves", "checkpoints.yaml#/control_checkpoints/23") if {
	input.checkpoint == "output"
	input.operation == "emit"
	not _output_no_credential_leaves_false
}

# METADATA
# title: "audit of no_credential_leaves at notify"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/23"
controls contains {"checkpoint": "output", "policy_requirement": "no_credential_leaves", "predicate_result": _output_no_credential_leaves_result, "action": "deny", "control_version": "1.0", "eval_case_id": "answer_with_credential", "trace_id": _audit_trace_id, "observed_signal": "credential_in_output", "unknown_operands": _output_no_credential_leaves_unknown} if {
	input.checkpoint == "output"
	input.operation == "notify"
}

# METADATA
# title: "deny no_credential_leaves at notify"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/23"
findings contains finding.new("no_credential_leaves", "deny", "control.output", "control_checkpoints.no_credential_leaves", "checkpoints.yaml#/control_checkpoints/23") if {
	input.checkpoint == "output"
	input.operation == "notify"
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
