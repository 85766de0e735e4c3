# METADATA
# title: Required controls, blocking findings, inventory drift
# description: >-
#   what `gate check-controls` reports of the bundle that governs the agent. Signals are what an operator says; what the
#   gate observes itself is computed here and no signal can stand for it. What was not observed counts as false
# schemas:
#   - input: {type: object, additionalProperties: false, properties: {agent: {type: object, additionalProperties: false, properties: {agent_id: {type: string}}}, evidence: {type: object, additionalProperties: false, properties: {signals: {type: object}, evals: {type: object}, golden: {type: array}}}}}
package gate.controls

import data.gate.controls.probe
import data.gate.router

# METADATA
# title: The assessment
report := {
	"healthy": _healthy,
	"required_controls": [control.name | some control in _required],
	"blocked_findings_expected": [control.name | some control in _blocking],
	"missing_controls": _missing,
	"failed_run_controls": [name | some name in _missing; name in _failed_run],
	"preserved_failed_run_controls": [name | some name in _present; name in _failed_run],
	"failed_run_controls_healthy": _none_missing(_failed_run),
	"support_duplicate_controls": [name | some name in _missing; name in _support_duplicate],
	"preserved_support_duplicate_controls": [name | some name in _present; name in _support_duplicate],
	"support_duplicate_controls_healthy": _none_missing(_support_duplicate),
	"blocking_findings": _findings,
	"inventory_drift": {
		"has_drift": _drifts,
		"missing_from_catalog": sort(_approved - _catalogued),
		"missing_from_inventory": sort(_governed - _approved),
	},
}

default _healthy := false

_healthy if {
	count(_required) > 0
	count(_missing) == 0
	count(_findings) == 0
}

_failed_run := {"policy_traces_present", "memory_provenance_enforced"}

_support_duplicate := {"duplicate_ticket_eval_passed", "idempotency_keys_present"}

default _required := []

_required := router.required_controls.require

default _blocking := []

_blocking := router.required_controls.block_if

_missing := [control.name | some control in _required; not _holding(control)]
