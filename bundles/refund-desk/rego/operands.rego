# "Values the predicates look at". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.refund_desk

default _v_number_arguments_amount_minor := null

_v_number_arguments_amount_minor := input.request.arguments.amount_minor

_v_number_arguments_amount_minor_typed if is_number(_v_number_arguments_amount_minor)

default _v_string_arguments_note := null

_v_string_arguments_note := input.request.arguments.note

_v_string_arguments_note_typed if is_string(_v_string_arguments_note)
