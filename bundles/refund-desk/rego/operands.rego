# "Values the predicates look at". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.refund_desk

default _v_number_arguments_amount_minor := null

_v_number_arguments_amount_minor := input.request.arguments.amount_minor

_v_number_arguments_amount_minor_typed if is_number(_v_number_arguments_amount_minor)
