# "Values the predicates look at". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

import data.gate.evidence.known

default _audit_trace_id := null

_audit_trace_id := input.trace.trace_id

default _v_boolean_evidence_ownership_handover_approved := null

_v_boolean_evidence_ownership_handover_approved := known.section.ownership.handover_approved

_v_boolean_evidence_ownership_handover_approved_typed if is_boolean(_v_boolean_evidence_ownership_handover_approved)

default _v_number_arguments_to_level := null

_v_number_arguments_to_level := input.request.arguments.to_level

_v_number_arguments_to_level_typed if is_number(_v_number_arguments_to_level)

default _v_number_evidence_ownership_check_age_ms := null

_v_number_evidence_ownership_check_age_ms := known.section.ownership.check_age_ms

_v_number_evidence_ownership_check_age_ms_typed if is_number(_v_number_evidence_ownership_check_age_ms)

default _v_number_evidence_ownership_next_level := null

_v_number_evidence_ownership_next_level := known.section.ownership.next_level

_v_number_evidence_ownership_next_level_typed if is_number(_v_number_evidence_ownership_next_level)

default _v_number_evidence_ownership_unacknowledged_ms := null

_v_number_evidence_ownership_unacknowledged_ms := known.section.ownership.unacknowledged_ms

_v_number_evidence_ownership_unacknowledged_ms_typed if is_number(_v_number_evidence_ownership_unacknowledged_ms)

default _v_number_evidence_retrieval_source_count := null

_v_number_evidence_retrieval_source_count := known.section.retrieval.source_count

_v_number_evidence_retrieval_source_count_typed if is_number(_v_number_evidence_retrieval_source_count)

default _v_string_arguments_blast_radius := null

_v_string_arguments_blast_radius := input.request.arguments.blast_radius

_v_string_arguments_blast_radius_typed if is_string(_v_string_arguments_blast_radius)

default _v_string_arguments_incident_id := null

_v_string_arguments_incident_id := input.request.arguments.incident_id

_v_string_arguments_incident_id_typed if is_string(_v_string_arguments_incident_id)

default _v_string_arguments_message := null

_v_string_arguments_message := input.request.arguments.message

_v_string_arguments_message_typed if is_string(_v_string_arguments_message)

default _v_string_arguments_new_owner := null

_v_string_arguments_new_owner := input.request.arguments.new_owner

_v_string_arguments_new_owner_typed if is_string(_v_string_arguments_new_owner)

default _v_string_arguments_runbook_id := null

_v_string_arguments_runbook_id := input.request.arguments.runbook_id

_v_string_arguments_runbook_id_typed if is_string(_v_string_arguments_runbook_id)

default _v_string_arguments_severity := null

_v_string_arguments_severity := input.request.arguments.severity

_v_string_arguments_severity_typed if is_string(_v_string_arguments_severity)

default _v_string_evidence_ownership_alert_state := null

_v_string_evidence_ownership_alert_state := known.section.ownership.alert_state

_v_string_evidence_ownership_alert_state_typed if is_string(_v_string_evidence_ownership_alert_state)

default _v_string_evidence_ownership_handover_to := null

_v_string_evidence_ownership_handover_to := known.section.ownership.handover_to

_v_string_evidence_ownership_handover_to_typed if is_string(_v_string_evidence_ownership_handover_to)

default _v_string_evidence_ownership_incident_id := null

_v_string_evidence_ownership_incident_id := known.section.ownership.incident_id

_v_string_evidence_ownership_incident_id_typed if is_string(_v_string_evidence_ownership_incident_id)

default _v_string_evidence_ownership_on_call := null

_v_string_evidence_ownership_on_call := known.section.ownership.on_call

_v_string_evidence_ownership_on_call_typed if is_string(_v_string_evidence_ownership_on_call)

default _v_string_evidence_ownership_owner := null

_v_string_evidence_ownership_owner := known.section.ownership.owner

_v_string_evidence_ownership_owner_typed if is_string(_v_string_evidence_ownership_owner)

default _v_string_evidence_ownership_owner_role := null

_v_string_evidence_ownership_owner_role := known.section.ownership.owner_role

_v_string_evidence_ownership_owner_role_typed if is_string(_v_string_evidence_ownership_owner_role)

default _v_string_evidence_ownership_review_status := null

_v_string_evidence_ownership_review_status := known.section.ownership.review_status

_v_string_evidence_ownership_review_status_typed if is_string(_v_string_evidence_ownership_review_status)

default _v_string_evidence_ownership_severity := null

_v_string_evidence_ownership_severity := known.section.ownership.severity

_v_string_evidence_ownership_severity_typed if is_string(_v_string_evidence_ownership_severity)

default _v_string_evidence_ownership_source := null

_v_string_evidence_ownership_source := known.section.ownership.source

_v_string_evidence_ownership_source_typed if is_string(_v_string_evidence_ownership_source)

default _v_string_evidence_retrieval_current_revision := null

_v_string_evidence_retrieval_current_revision := known.section.retrieval.current_revision

_v_string_evidence_retrieval_current_revision_typed if is_string(_v_string_evidence_retrieval_current_revision)

default _v_string_evidence_retrieval_document_id := null

_v_string_evidence_retrieval_document_id := known.section.retrieval.document_id

_v_string_evidence_retrieval_document_id_typed if is_string(_v_string_evidence_retrieval_document_id)

default _v_string_evidence_retrieval_revision := null

_v_string_evidence_retrieval_revision := known.section.retrieval.revision

_v_string_evidence_retrieval_revision_typed if is_string(_v_string_evidence_retrieval_revision)

default _v_string_identity_principal_id := null

_v_string_identity_principal_id := input.identity.principal_id

_v_string_identity_principal_id_typed if is_string(_v_string_identity_principal_id)

default _v_string_request_text := null

_v_string_request_text := input.request.text

_v_string_request_text_typed if is_string(_v_string_request_text)
