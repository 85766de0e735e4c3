# METADATA
# title: Required controls, blocking findings, inventory drift
# description: >-
#   what `gate check-controls` reports of the bundle that governs the agent. Signals are what an operator says; what the
#   gate observes itself is computed here and no signal can stand for it. What was not observed counts as false
# schemas:
#   - input:
#       type: object
#       additionalProperties: false
#       properties:
#         agent: {type: object, additionalProperties: false, properties: {agent_id: {type: string}}}
#         evidence:
#           type: object
#           additionalProperties: false
#           properties: {signals: {type: object}, evals: {type: object}, golden: {type: array}, probes: {type: array}}
package gate.controls

import data.gate.router

# METADATA
# title: The assessment
report := {
	"healthy": _healthy,
	"required_controls": _required,
	"blocked_findings_expected": _blocking,
	"missing_controls": _missing,
	"failed_run_controls": [name | some name in _missing; name in _failed_run],
	"preserved_failed_run_controls": [name | some name in _preserved; name in _failed_run],
	"failed_run_controls_healthy": _failed_run_healthy,
	"support_duplicate_controls": [name | some name in _missing; name in _support_duplicate],
	"preserved_support_duplicate_controls": [name | some name in _preserved; name in _support_duplicate],
	"support_duplicate_controls_healthy": _support_duplicate_healthy,
	"blocking_findings": array.concat(_raised, _drift_finding),
	"inventory_drift": {
		"has_drift": _has_drift,
		"missing_from_catalog": _missing_from_catalog,
		"missing_from_inventory": _missing_from_inventory,
	},
}

_failed_run := {"policy_traces_present", "memory_provenance_enforced"}

_support_duplicate := {"duplicate_ticket_eval_passed", "idempotency_keys_present"}

# In the author's order.
_required := [place[1] | some place in sort(_required_places)]

_blocking := [place[1] | some place in sort(_blocking_places)]

_required_places contains [control.at, name] if some name, control in router.required_controls

_blocking_places contains [control.at, name] if some name, control in router.blocking_controls

default _healthy := false

# No required control at all assures nobody of anything.
_healthy if {
	count(_required) > 0
	count(_missing) == 0
	count(_raised) == 0
	_has_drift == false
}

_missing := [name | some name in _required; name in _not_holding]

_preserved := [name | some name in _required; name in _holding]

_raised := [name | some name in _blocking; name in _holding]

default _failed_run_healthy := false

_failed_run_healthy if count(_failed_run & _not_holding) == 0

default _support_duplicate_healthy := false

_support_duplicate_healthy if count(_support_duplicate & _not_holding) == 0

_not_holding := {name | some name in _required} - _holding

_controls := object.union(router.required_controls, router.blocking_controls)

_holding contains name if {
	some name, control in _controls
	control.kind == "signal"
	input.evidence.signals[name] == true
}

_holding contains name if {
	some name, control in _controls
	control.kind == "approval_required"
	control.subject in _approval_demanded
}

_holding contains name if {
	some name, control in _controls
	control.kind == "idempotency_key_required"
	control.subject in _key_demanded
}

_holding contains name if {
	some name, control in _controls
	control.kind == "eval_passed"
	cases := input.evidence.evals[control.subject]
	count(cases) > 0
	count([id | some id in cases; id in _passed]) == count(cases)
}

_holding contains name if {
	some name, control in _controls
	control.kind == "golden_cases_passed"
	_all_golden(_passed)
}

_holding contains name if {
	some name, control in _controls
	control.kind == "policy_traces_present"
	_all_golden(_traced)
}

# The policies were asked about a write in order but for its approval, and asked for the approval.
_approval_demanded contains probe.capability if {
	some probe in input.evidence.probes
	probe.lacks == "approval"
	"approval_missing" in probe.codes
	router.catalog[probe.capability].mode == "write"
	router.catalog[probe.capability].approval != "none"
	router.decisions[probe.capability] == "approval_required"
}

_key_demanded contains probe.capability if {
	some probe in input.evidence.probes
	probe.lacks == "idempotency_key"
	"idempotency_key_missing" in probe.codes
	router.catalog[probe.capability].mode == "write"
	router.catalog[probe.capability].idempotency_key_required == true
}

_all_golden(ids) if {
	count(input.evidence.golden) > 0
	count({case.id | some case in input.evidence.golden} - ids) == 0
}

_passed contains case.id if {
	some case in input.evidence.golden
	case.passed == true
}

# The decision about a case can be led back: to the request and the trace it was about, to the rule behind each reason.
_traced contains case.id if {
	some case in input.evidence.golden
	is_string(case.audit.request_id)
	case.audit.trace_id == case.trace_id
	count(case.rules) > 0
	count([rule | some rule in case.rules; trim_space(rule) != ""]) == count(case.rules)
}

_has_drift := false if {
	count(_missing_from_catalog) == 0
	count(_missing_from_inventory) == 0
} else := true

_drift_finding := [name | some name in ["inventory_drift_present"]; _has_drift]

_missing_from_catalog := sort(_approved - object.keys(router.catalog))

# What the policy only denies needs no approval of the inventory.
_missing_from_inventory := sort({name | some name in object.keys(router.catalog); router.decisions[name] != "deny"} - _approved)

default _approved := set()

_approved := object.keys(router.inventory.approved)
