package gate.effect.limit_test

import data.gate.effect.limit
import data.gate.fixture_test as fixture

test_none_bundle_without_limits if {
	_codes(fixture.ticket, fixture.bundles) == set()
	_counters(fixture.ticket, fixture.bundles) == []
}

test_none_sound if _codes(_doc, _bundles) == set()

test_counts_every_limit_once_in_order_of_name if _counters(_doc, _bundles) == [
	{"name": "limit/daily", "amount": 60, "limit": 100, "read": 40},
	{"name": "limit/tickets", "amount": 1, "limit": 5, "read": 0},
]

test_none_up_to_the_limit if _codes(_at(40), _bundles) == set()

test_deny_one_past_the_limit if _codes(_at(41), _bundles) == {"limit_exceeded"}

test_deny_amount_alone_past_the_limit if {
	_codes(_at(0), _with(object.union(_daily_use, {"amount": 101}))) == {"limit_exceeded"}
	_codes(_at(0), _with(object.union(_daily_use, {"amount": 100}))) == set()
}

test_deny_any_of_several_past if _codes(fixture.put(_doc, "/state/counters/1/value", 5), _bundles) == {"limit_exceeded"}

test_deny_amount_broken if _misses_of_amount == set()

_misses_of_amount := {[what, got] |
	some what, use in fixture.broken(_daily_use, "/amount", array.concat(fixture.no_number, [0, -60, 0.5]))
	got := _codes(_doc, _with(use))
	got != {"limit_amount_invalid"}
}

test_deny_counter_broken if _misses == set()

_misses := {[path, what, got] |
	some path, values in {
		"/state": fixture.no_section,
		"/state/counters": fixture.no_section,
		"/state/counters/0/limit_id": fixture.garbage,
		"/state/counters/0/per": fixture.garbage,
		"/state/counters/0/subject": array.concat(fixture.garbage, ["user-43"]),
		"/state/counters/0/name": fixture.no_string,
		"/state/counters/0/value": array.concat(fixture.no_number, [-1]),
		"/state/counters/0/version": fixture.no_number,
		"/state/counters/0/since_ms": array.concat(fixture.no_number, [-86400000, 50001]),
		"/state/counters/0/until_ms": array.concat(fixture.no_number, [50000, 172800000]),
		"/now_ms": fixture.no_number,
	}
	some what, doc in fixture.broken(_doc, path, values)
	got := _codes(doc, _bundles)
	got != {"limit_counter_missing"}
}

test_deny_counter_not_an_object if _misses_of_row == set()

_misses_of_row := {[row, got] |
	some row in fixture.no_section
	got := _codes(fixture.put(_doc, "/state/counters", [row, _doc.state.counters[1]]), _bundles)
	got != {"limit_counter_missing"}
}

test_deny_endless_counter_with_a_window if {
	some path in ["/state/counters/1/since_ms", "/state/counters/1/until_ms"]
	_codes(fixture.put(_doc, path, 0), _bundles) == {"limit_counter_missing"}
	_codes(fixture.without(_doc, path), _bundles) == {"limit_counter_missing"}
}

test_deny_counter_of_yesterday if {
	_codes(fixture.put(_doc, "/now_ms", 86400000), _bundles) == {"limit_counter_missing"}
	_codes(fixture.put(_doc, "/now_ms", 86399999), _bundles) == set()
	_codes(fixture.put(_doc, "/now_ms", 0), _bundles) == set()
}

test_deny_two_values_of_one_counter if {
	twice := array.concat(_doc.state.counters, [object.union(_doc.state.counters[0], {"value": 0})])
	_codes(fixture.put(_doc, "/state/counters", twice), _bundles) == {"limit_counter_missing"}
}

test_deny_subject_unknown if _misses_of_subject == set()

_misses_of_subject := {[what, got] |
	some what, use in fixture.broken(_daily_use, "/subject", fixture.garbage)
	got := _codes(_doc, _with(use))
	got != {"limit_counter_missing"}
}

test_deny_window_unknown if _codes(_doc, _with(object.union(_daily_use, {"window": "week"}))) == {"limit_counter_missing"}

test_deny_limits_not_a_set if _misses_of_limits == set()

_misses_of_limits := {[limits, got] |
	some limits in [null, 5, true]
	got := _codes(_doc, fixture.put(_bundles, "/triage/limits", limits))
	got != {"limit_amount_invalid", "limit_counter_missing"}
}

# What began holds its share already: the effect guard says what becomes of it.
test_none_begun if _misses_of_begun == set()

_misses_of_begun := {[status, got] |
	some status in ["in_flight", "side_effect_committed", "side_effect_unknown", "partial_side_effect"]
	got := _codes(fixture.put(_at(100), "/state/side_effect/status", status), _bundles)
	got != set()
}

test_deny_failed_or_unheard_of if _misses_of_unbegun == set()

_misses_of_unbegun := {[status, got] |
	some status in ["not_started", "failed_before_effect", "garbage", null]
	got := _codes(fixture.put(_at(100), "/state/side_effect/status", status), _bundles)
	got != {"limit_exceeded"}
}

test_none_reading if _codes(fixture.reading, _bundles) == set()

test_none_other_operation if _codes(fixture.voting, _bundles) == set()

test_none_empty_document if _codes({}, _bundles) == set()

_daily_use := {"limit_id": "daily", "per": "principal", "window": "day", "max": 100, "subject": "user-42", "amount": 60}

_tickets_use := {"limit_id": "tickets", "per": "run", "window": "none", "max": 5, "subject": "run-1", "amount": 1}

_doc := fixture.put(fixture.ticket, "/state/counters", [
	{
		"name": "limit/daily",
		"limit_id": "daily",
		"per": "principal",
		"subject": "user-42",
		"since_ms": 0,
		"until_ms": 86400000,
		"value": 40,
		"version": 3,
	},
	{
		"name": "limit/tickets",
		"limit_id": "tickets",
		"per": "run",
		"subject": "run-1",
		"since_ms": null,
		"until_ms": null,
		"value": 0,
		"version": 0,
	},
])

_at(value) := fixture.put(_doc, "/state/counters/0/value", value)

_bundles := _with(_daily_use)

_with(use) := fixture.put(fixture.bundles, "/triage/limits", {use, _tickets_use})

_counters(doc, bundles) := [c |
	some c in limit.counters with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
]

_codes(doc, bundles) := {f.code |
	some f in limit.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
