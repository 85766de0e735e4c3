# "Values the predicates look at". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.refund_desk

import data.gate.evidence.known

default _v_boolean_evidence_charge_review_duplicate := null

_v_boolean_evidence_charge_review_duplicate := known.section.charge_review.duplicate

_v_boolean_evidence_charge_review_duplicate_typed if is_boolean(_v_boolean_evidence_charge_review_duplicate)

default _v_number_arguments_amount_minor := null

_v_number_arguments_amount_minor := input.request.arguments.amount_minor

_v_number_arguments_amount_minor_typed if is_number(_v_number_arguments_amount_minor)

default _v_number_evidence_charge_review_amount_minor := null

_v_number_evidence_charge_review_amount_minor := known.section.charge_review.amount_minor

_v_number_evidence_charge_review_amount_minor_typed if is_number(_v_number_evidence_charge_review_amount_minor)

default _v_string_arguments_charge_id := null

_v_string_arguments_charge_id := input.request.arguments.charge_id

_v_string_arguments_charge_id_typed if is_string(_v_string_arguments_charge_id)

default _v_string_arguments_currency := null

_v_string_arguments_currency := input.request.arguments.currency

_v_string_arguments_currency_typed if is_string(_v_string_arguments_currency)

default _v_string_arguments_note := null

_v_string_arguments_note := input.request.arguments.note

_v_string_arguments_note_typed if is_string(_v_string_arguments_note)

default _v_string_evidence_charge_review_charge_id := null

_v_string_evidence_charge_review_charge_id := known.section.charge_review.charge_id

_v_string_evidence_charge_review_charge_id_typed if is_string(_v_string_evidence_charge_review_charge_id)

default _v_string_evidence_charge_review_currency := null

_v_string_evidence_charge_review_currency := known.section.charge_review.currency

_v_string_evidence_charge_review_currency_typed if is_string(_v_string_evidence_charge_review_currency)

default _v_string_evidence_charge_review_duplicate_of := null

_v_string_evidence_charge_review_duplicate_of := known.section.charge_review.duplicate_of

_v_string_evidence_charge_review_duplicate_of_typed if is_string(_v_string_evidence_charge_review_duplicate_of)

default _v_string_evidence_charge_review_principal_id := null

_v_string_evidence_charge_review_principal_id := known.section.charge_review.principal_id

_v_string_evidence_charge_review_principal_id_typed if is_string(_v_string_evidence_charge_review_principal_id)

default _v_string_evidence_charge_review_tenant_id := null

_v_string_evidence_charge_review_tenant_id := known.section.charge_review.tenant_id

_v_string_evidence_charge_review_tenant_id_typed if is_string(_v_string_evidence_charge_review_tenant_id)

default _v_string_identity_principal_id := null

_v_string_identity_principal_id := input.identity.principal_id

_v_string_identity_principal_id_typed if is_string(_v_string_identity_principal_id)

default _v_string_identity_tenant_id := null

_v_string_identity_tenant_id := input.identity.tenant_id

_v_string_identity_tenant_id_typed if is_string(_v_string_identity_tenant_id)
