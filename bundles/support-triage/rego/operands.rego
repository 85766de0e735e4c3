# "Values the predicates look at". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

default _audit_trace_id := null

_audit_trace_id := input.trace.trace_id

default _v_number_arguments_limit := null

_v_number_arguments_limit := input.request.arguments.limit

_v_number_arguments_limit_typed if is_number(_v_number_arguments_limit)

default _v_string_arguments_body := null

_v_string_arguments_body := input.request.arguments.body

_v_string_arguments_body_typed if is_string(_v_string_arguments_body)

default _v_string_arguments_requester_id := null

_v_string_arguments_requester_id := input.request.arguments.requester_id

_v_string_arguments_requester_id_typed if is_string(_v_string_arguments_requester_id)

default _v_string_identity_principal_id := null

_v_string_identity_principal_id := input.identity.principal_id

_v_string_identity_principal_id_typed if is_string(_v_string_identity_principal_id)

default _v_string_request_text := null

_v_string_request_text := input.request.text

_v_string_request_text_typed if is_string(_v_string_request_text)

default _v_string_risk_tier := null

_v_string_risk_tier := catalog[input.request.capability].risk_tier

_v_string_risk_tier_typed if is_string(_v_string_risk_tier)

default _v_string_side_effect := null

_v_string_side_effect := catalog[input.request.capability].side_effect

_v_string_side_effect_typed if is_string(_v_string_side_effect)
