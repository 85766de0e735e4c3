# "Values the predicates look at". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

import data.gate.evidence.known

default _audit_trace_id := null

_audit_trace_id := input.trace.trace_id

default _v_boolean_evidence_retrieval_conflicting := null

_v_boolean_evidence_retrieval_conflicting := known.section.retrieval.conflicting

_v_boolean_evidence_retrieval_conflicting_typed if is_boolean(_v_boolean_evidence_retrieval_conflicting)

default _v_number_evidence_retrieval_age_ms := null

_v_number_evidence_retrieval_age_ms := known.section.retrieval.age_ms

_v_number_evidence_retrieval_age_ms_typed if is_number(_v_number_evidence_retrieval_age_ms)

default _v_number_evidence_retrieval_check_age_ms := null

_v_number_evidence_retrieval_check_age_ms := known.section.retrieval.check_age_ms

_v_number_evidence_retrieval_check_age_ms_typed if is_number(_v_number_evidence_retrieval_check_age_ms)

default _v_number_evidence_retrieval_source_count := null

_v_number_evidence_retrieval_source_count := known.section.retrieval.source_count

_v_number_evidence_retrieval_source_count_typed if is_number(_v_number_evidence_retrieval_source_count)

default _v_string_arguments_document_id := null

_v_string_arguments_document_id := input.request.arguments.document_id

_v_string_arguments_document_id_typed if is_string(_v_string_arguments_document_id)

default _v_string_arguments_note := null

_v_string_arguments_note := input.request.arguments.note

_v_string_arguments_note_typed if is_string(_v_string_arguments_note)

default _v_string_evidence_retrieval_access_decision := null

_v_string_evidence_retrieval_access_decision := known.section.retrieval.access_decision

_v_string_evidence_retrieval_access_decision_typed if is_string(_v_string_evidence_retrieval_access_decision)

default _v_string_evidence_retrieval_checked_by := null

_v_string_evidence_retrieval_checked_by := known.section.retrieval.checked_by

_v_string_evidence_retrieval_checked_by_typed if is_string(_v_string_evidence_retrieval_checked_by)

default _v_string_evidence_retrieval_classification := null

_v_string_evidence_retrieval_classification := known.section.retrieval.classification

_v_string_evidence_retrieval_classification_typed if is_string(_v_string_evidence_retrieval_classification)

default _v_string_evidence_retrieval_current_revision := null

_v_string_evidence_retrieval_current_revision := known.section.retrieval.current_revision

_v_string_evidence_retrieval_current_revision_typed if is_string(_v_string_evidence_retrieval_current_revision)

default _v_string_evidence_retrieval_document_id := null

_v_string_evidence_retrieval_document_id := known.section.retrieval.document_id

_v_string_evidence_retrieval_document_id_typed if is_string(_v_string_evidence_retrieval_document_id)

default _v_string_evidence_retrieval_principal_id := null

_v_string_evidence_retrieval_principal_id := known.section.retrieval.principal_id

_v_string_evidence_retrieval_principal_id_typed if is_string(_v_string_evidence_retrieval_principal_id)

default _v_string_evidence_retrieval_provenance := null

_v_string_evidence_retrieval_provenance := known.section.retrieval.provenance

_v_string_evidence_retrieval_provenance_typed if is_string(_v_string_evidence_retrieval_provenance)

default _v_string_evidence_retrieval_revision := null

_v_string_evidence_retrieval_revision := known.section.retrieval.revision

_v_string_evidence_retrieval_revision_typed if is_string(_v_string_evidence_retrieval_revision)

default _v_string_evidence_retrieval_source := null

_v_string_evidence_retrieval_source := known.section.retrieval.source

_v_string_evidence_retrieval_source_typed if is_string(_v_string_evidence_retrieval_source)

default _v_string_evidence_retrieval_tenant_id := null

_v_string_evidence_retrieval_tenant_id := known.section.retrieval.tenant_id

_v_string_evidence_retrieval_tenant_id_typed if is_string(_v_string_evidence_retrieval_tenant_id)

default _v_string_identity_principal_id := null

_v_string_identity_principal_id := input.identity.principal_id

_v_string_identity_principal_id_typed if is_string(_v_string_identity_principal_id)

default _v_string_identity_tenant_id := null

_v_string_identity_tenant_id := input.identity.tenant_id

_v_string_identity_tenant_id_typed if is_string(_v_string_identity_tenant_id)

default _v_string_request_text := null

_v_string_request_text := input.request.text

_v_string_request_text_typed if is_string(_v_string_request_text)
