# METADATA
# title: Rules over history
# description: >-
#   the rules that the bundle states for the capability, in the order of its YAML, over a history that is already known
#   to be this run's own. The first rule that does not hold says why; one that is not there holds nothing
package gate.trajectory.rule

import data.gate.router
import data.gate.trajectory.exact

# METADATA
# title: The first rule that does not hold, and why
first := {"rule_id": _failing[0].rule_id, "reason": _failing[0].reason} if {
	count(_failing) > 0
} else := {"rule_id": "trajectory.all_rules", "reason": "all_rules_satisfied"} if {
	is_array(router.trajectory.rules)
	count(_results) == count(router.trajectory.rules)
} else := {"rule_id": "trajectory.rules", "reason": "rules_undetermined"}

_failing := [result | some result in _results; result.reason != "satisfied"]

# A rule that the bundle lost leaves one result too few.
_results := [{"rule_id": id, "reason": _reason(router.trajectory_rules[id])} | some id in router.trajectory.rules]

_reason(rule) := _value_binding(rule.fingerprint_name) if {
	rule.kind == "value_binding"
} else := _cumulative_limit(rule.counter_name, rule.limit) if {
	rule.kind == "cumulative_limit"
} else := _required_predecessor(rule.predecessor) if {
	rule.kind == "required_predecessor"
} else := _required_approval(rule.approval_scope) if {
	rule.kind == "required_approval"
} else := "rules_undetermined"

_value_binding(name) := "satisfied" if {
	_is_digest(_request.fingerprints[name])
	_is_digest(_history.fingerprints[name])
	_request.fingerprints[name] == _history.fingerprints[name]
} else := "value_binding_mismatch" if {
	_is_digest(_request.fingerprints[name])
	_is_digest(_history.fingerprints[name])
} else := "history_fingerprint_missing" if {
	_is_digest(_request.fingerprints[name])
} else := "current_fingerprint_missing"

_cumulative_limit(name, limit) := "satisfied" if {
	_countable(name, limit)
	exact.within(_history.counters[name], _request.counters[name], limit)
} else := "cumulative_limit_exceeded" if {
	_countable(name, limit)
} else := "counter_arithmetic_error" if {
	_request.counters[name] != null
	_history.counters[name] != null
} else := "history_counter_missing" if {
	_request.counters[name] != null
} else := "current_counter_missing"

_countable(name, limit) if {
	exact.sound(_request.counters[name])
	exact.sound(_history.counters[name])
	exact.sound(limit)
}

# METADATA
# title: How each counter of the call stands to its limit
# description: within_limit, limit_exceeded or arithmetic_error, by name of the counter
counters[name] := _standing[reason] if {
	some id in router.trajectory.rules
	name := router.trajectory_rules[id].counter_name
	reason := _cumulative_limit(name, router.trajectory_rules[id].limit)
}

_standing := {
	"satisfied": "within_limit",
	"cumulative_limit_exceeded": "limit_exceeded",
	"counter_arithmetic_error": "arithmetic_error",
	"history_counter_missing": "arithmetic_error",
	"current_counter_missing": "arithmetic_error",
}

_required_predecessor(action) := "satisfied" if {
	action in _history.completed_actions
} else := "required_predecessor_missing"

_required_approval(scope) := "satisfied" if {
	count(_bound(scope)) > 0
	count(_bound(scope)) == count(_bound_in(scope, {"approved"}))
	_history.approval_state == "approved"
} else := "required_approval_inactive" if {
	count(_bound_in(scope, {"rejected", "revoked", "expired"})) > 0
} else := "approval_binding_mismatch" if {
	count(_bound(scope)) > 0
	count(_bound(scope)) == count(_bound_in(scope, {"pending"}))
	_history.approval_state == "pending"
} else := "approval_state_mismatch" if {
	count(_bound(scope)) > 0
} else := "approval_binding_mismatch" if {
	count(_scoped(scope)) > 0
} else := "required_approval_missing" if {
	_history.approval_state == "none"
} else := "approval_state_mismatch"

_scoped(scope) := [record | some record in _history.approval_records; record.scope == scope]

_bound(scope) := [record |
	some record in _scoped(scope)
	_is_digest(record.request_fingerprint)
	record.request_fingerprint == _request.request_fingerprint
]

_bound_in(scope, states) := [record | some record in _bound(scope); record.state in states]

_is_digest(value) if {
	is_string(value)
	regex.match(`^sha256:[0-9a-f]{64}$`, value)
}

default _request := {}

_request := input.evidence.trajectory.request

default _history := {}

_history := input.evidence.trajectory.history
