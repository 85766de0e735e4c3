# "Limits and budgets". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.refund_desk

default _limit_0_subject := null

_limit_0_subject := input.request.arguments.charge_id

# METADATA
# title: "one_refund_per_charge on issue_refund"
# custom:
#   source: "policy.yaml#/policy/limits/0"
limits contains {"limit_id": "one_refund_per_charge", "per": "/charge_id", "window": "none", "max": 1, "subject": _limit_0_subject, "amount": 1} if input.request.capability == "issue_refund"

# METADATA
# title: "one_refund_per_charge on issue_manager_refund"
# custom:
#   source: "policy.yaml#/policy/limits/0"
limits contains {"limit_id": "one_refund_per_charge", "per": "/charge_id", "window": "none", "max": 1, "subject": _limit_0_subject, "amount": 1} if input.request.capability == "issue_manager_refund"

default _limit_1_subject := null

_limit_1_subject := input.identity.principal_id

default _limit_1_amount := null

_limit_1_amount := input.request.arguments.amount_minor

# METADATA
# title: "refunded_per_principal_a_day on issue_refund"
# custom:
#   source: "policy.yaml#/policy/limits/1"
limits contains {"limit_id": "refunded_per_principal_a_day", "per": "principal", "window": "day", "max": 50000, "subject": _limit_1_subject, "amount": _limit_1_amount} if input.request.capability == "issue_refund"

# METADATA
# title: "refunded_per_principal_a_day on issue_manager_refund"
# custom:
#   source: "policy.yaml#/policy/limits/1"
limits contains {"limit_id": "refunded_per_principal_a_day", "per": "principal", "window": "day", "max": 50000, "subject": _limit_1_subject, "amount": _limit_1_amount} if input.request.capability == "issue_manager_refund"

default _limit_2_subject := null

_limit_2_subject := input.trace.run_id

# METADATA
# title: "run_budget on issue_refund"
# custom:
#   source: "policy.yaml#/policy/run_budget"
limits contains {"limit_id": "run_budget", "per": "run", "window": "none", "max": 5, "subject": _limit_2_subject, "amount": 1} if input.request.capability == "issue_refund"

# METADATA
# title: "run_budget on issue_manager_refund"
# custom:
#   source: "policy.yaml#/policy/run_budget"
limits contains {"limit_id": "run_budget", "per": "run", "window": "none", "max": 5, "subject": _limit_2_subject, "amount": 1} if input.request.capability == "issue_manager_refund"
