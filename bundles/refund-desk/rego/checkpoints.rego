# "Control checkpoints". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.refund_desk

import data.gate.finding

# METADATA
# title: "audit of refund_of_verified_duplicate on issue_refund"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
controls contains {"policy_requirement": "refund_of_verified_duplicate", "predicate_result": _tool_execution_refund_of_verified_duplicate_result, "action": "require_approval", "control_version": "1.0", "eval_case_id": "refund_duplicate_unverified"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "issue_refund"
}

# METADATA
# title: "require_approval refund_of_verified_duplicate on issue_refund"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
demands contains finding.new("refund_of_verified_duplicate", "require_approval", "control.tool_execution", "control_checkpoints.refund_of_verified_duplicate", "checkpoints.yaml#/control_checkpoints/0") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "issue_refund"
	not _tool_execution_refund_of_verified_duplicate_false
}

_tool_execution_refund_of_verified_duplicate_true if {
	_v_boolean_evidence_charge_review_duplicate_typed
	_v_boolean_evidence_charge_review_duplicate == false
}

_tool_execution_refund_of_verified_duplicate_true if {
	_v_string_evidence_charge_review_charge_id_typed
	_v_string_arguments_charge_id_typed
	_v_string_evidence_charge_review_charge_id != _v_string_arguments_charge_id
}

_tool_execution_refund_of_verified_duplicate_true if {
	_v_string_evidence_charge_review_duplicate_of_typed
	_v_string_arguments_charge_id_typed
	_v_string_evidence_charge_review_duplicate_of == _v_string_arguments_charge_id
}

_tool_execution_refund_of_verified_duplicate_true if {
	_v_string_evidence_charge_review_tenant_id_typed
	_v_string_identity_tenant_id_typed
	_v_string_evidence_charge_review_tenant_id != _v_string_identity_tenant_id
}

_tool_execution_refund_of_verified_duplicate_true if {
	_v_string_evidence_charge_review_principal_id_typed
	_v_string_identity_principal_id_typed
	_v_string_evidence_charge_review_principal_id != _v_string_identity_principal_id
}

_tool_execution_refund_of_verified_duplicate_true if {
	_v_string_evidence_charge_review_currency_typed
	_v_string_arguments_currency_typed
	_v_string_evidence_charge_review_currency != _v_string_arguments_currency
}

_tool_execution_refund_of_verified_duplicate_true if {
	_v_number_arguments_amount_minor_typed
	_v_number_evidence_charge_review_amount_minor_typed
	_v_number_arguments_amount_minor > _v_number_evidence_charge_review_amount_minor
}

_tool_execution_refund_of_verified_duplicate_false if {
	_v_boolean_evidence_charge_review_duplicate_typed
	_v_boolean_evidence_charge_review_duplicate == true
	_v_string_evidence_charge_review_charge_id_typed
	_v_string_arguments_charge_id_typed
	_v_string_evidence_charge_review_charge_id == _v_string_arguments_charge_id
	_v_string_evidence_charge_review_duplicate_of_typed
	_v_string_evidence_charge_review_duplicate_of != _v_string_arguments_charge_id
	_v_string_evidence_charge_review_tenant_id_typed
	_v_string_identity_tenant_id_typed
	_v_string_evidence_charge_review_tenant_id == _v_string_identity_tenant_id
	_v_string_evidence_charge_review_principal_id_typed
	_v_string_identity_principal_id_typed
	_v_string_evidence_charge_review_principal_id == _v_string_identity_principal_id
	_v_string_evidence_charge_review_currency_typed
	_v_string_arguments_currency_typed
	_v_string_evidence_charge_review_currency == _v_string_arguments_currency
	_v_number_arguments_amount_minor_typed
	_v_number_evidence_charge_review_amount_minor_typed
	_v_number_arguments_amount_minor <= _v_number_evidence_charge_review_amount_minor
}

_tool_execution_refund_of_verified_duplicate_result := "false" if _tool_execution_refund_of_verified_duplicate_false

else := "true" if _tool_execution_refund_of_verified_duplicate_true

else := "unknown"

_tool_execution_refund_of_verified_duplicate_unknown contains "arguments.amount_minor" if not _v_number_arguments_amount_minor_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "arguments.charge_id" if not _v_string_arguments_charge_id_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "arguments.currency" if not _v_string_arguments_currency_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "evidence.charge_review.amount_minor" if not _v_number_evidence_charge_review_amount_minor_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "evidence.charge_review.charge_id" if not _v_string_evidence_charge_review_charge_id_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "evidence.charge_review.currency" if not _v_string_evidence_charge_review_currency_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "evidence.charge_review.duplicate" if not _v_boolean_evidence_charge_review_duplicate_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "evidence.charge_review.duplicate_of" if not _v_string_evidence_charge_review_duplicate_of_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "evidence.charge_review.principal_id" if not _v_string_evidence_charge_review_principal_id_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "evidence.charge_review.tenant_id" if not _v_string_evidence_charge_review_tenant_id_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "identity.principal_id" if not _v_string_identity_principal_id_typed

_tool_execution_refund_of_verified_duplicate_unknown contains "identity.tenant_id" if not _v_string_identity_tenant_id_typed

# METADATA
# title: "audit of refund_review_over_25 on issue_refund"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
controls contains {"policy_requirement": "refund_review_over_25", "predicate_result": _tool_execution_refund_review_over_25_result, "action": "require_approval", "control_version": "1.0", "eval_case_id": "refund_25_01"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "issue_refund"
}

# METADATA
# title: "require_approval refund_review_over_25 on issue_refund"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/1"
demands contains finding.new("refund_review_over_25", "require_approval", "control.tool_execution", "control_checkpoints.refund_review_over_25", "checkpoints.yaml#/control_checkpoints/1") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "issue_refund"
	not _tool_execution_refund_review_over_25_false
}

_tool_execution_refund_review_over_25_true if {
	_v_number_arguments_amount_minor_typed
	_v_number_arguments_amount_minor > 2500
}

_tool_execution_refund_review_over_25_false if {
	_v_number_arguments_amount_minor_typed
	_v_number_arguments_amount_minor <= 2500
}

_tool_execution_refund_review_over_25_result := "false" if _tool_execution_refund_review_over_25_false

else := "true" if _tool_execution_refund_review_over_25_true

else := "unknown"

_tool_execution_refund_review_over_25_unknown contains "arguments.amount_minor" if not _v_number_arguments_amount_minor_typed

# METADATA
# title: "audit of refund_manager_over_100 on issue_refund"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
controls contains {"policy_requirement": "refund_manager_over_100", "predicate_result": _tool_execution_refund_manager_over_100_result, "action": "deny", "control_version": "1.0", "eval_case_id": "refund_100_01"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "issue_refund"
}

# METADATA
# title: "deny refund_manager_over_100 on issue_refund"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/2"
findings contains finding.new("refund_manager_over_100", "deny", "control.tool_execution", "control_checkpoints.refund_manager_over_100", "checkpoints.yaml#/control_checkpoints/2") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "issue_refund"
	not _tool_execution_refund_manager_over_100_false
}

_tool_execution_refund_manager_over_100_true if {
	_v_number_arguments_amount_minor_typed
	_v_number_arguments_amount_minor > 10000
}

_tool_execution_refund_manager_over_100_false if {
	_v_number_arguments_amount_minor_typed
	_v_number_arguments_amount_minor <= 10000
}

_tool_execution_refund_manager_over_100_result := "false" if _tool_execution_refund_manager_over_100_false

else := "true" if _tool_execution_refund_manager_over_100_true

else := "unknown"

_tool_execution_refund_manager_over_100_unknown contains "arguments.amount_minor" if not _v_number_arguments_amount_minor_typed

# METADATA
# title: "audit of refund_note_without_card on issue_refund"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"policy_requirement": "refund_note_without_card", "predicate_result": _tool_execution_refund_note_without_card_result, "action": "deny", "control_version": "1.0", "eval_case_id": "refund_note_with_card"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "issue_refund"
}

# METADATA
# title: "deny refund_note_without_card on issue_refund"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("refund_note_without_card", "deny", "control.tool_execution", "control_checkpoints.refund_note_without_card", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "issue_refund"
	not _tool_execution_refund_note_without_card_false
}

# METADATA
# title: "audit of refund_note_without_card on issue_manager_refund"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
controls contains {"policy_requirement": "refund_note_without_card", "predicate_result": _tool_execution_refund_note_without_card_result, "action": "deny", "control_version": "1.0", "eval_case_id": "refund_note_with_card"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "issue_manager_refund"
}

# METADATA
# title: "deny refund_note_without_card on issue_manager_refund"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/3"
findings contains finding.new("refund_note_without_card", "deny", "control.tool_execution", "control_checkpoints.refund_note_without_card", "checkpoints.yaml#/control_checkpoints/3") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "issue_manager_refund"
	not _tool_execution_refund_note_without_card_false
}

_tool_execution_refund_note_without_card_1 if is_null(_v_string_arguments_note)

_tool_execution_refund_note_without_card_2 if {
	_v_string_arguments_note_typed
	regex.match("[0-9]{13,19}", _v_string_arguments_note)
}

_tool_execution_refund_note_without_card_true if {
	not _tool_execution_refund_note_without_card_1
	_tool_execution_refund_note_without_card_2
}

_tool_execution_refund_note_without_card_false if _tool_execution_refund_note_without_card_1

_tool_execution_refund_note_without_card_false if {
	_v_string_arguments_note_typed
	not _tool_execution_refund_note_without_card_2
}

_tool_execution_refund_note_without_card_result := "false" if _tool_execution_refund_note_without_card_false

else := "true" if _tool_execution_refund_note_without_card_true

else := "unknown"

_tool_execution_refund_note_without_card_unknown contains "arguments.note" if not _v_string_arguments_note_typed
