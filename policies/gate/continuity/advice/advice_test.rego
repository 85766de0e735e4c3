package gate.continuity.advice_test

import data.gate.continuity.advice
import data.gate.continuity.fixture_test as fixture
import data.gate.fixture_test as core

_all := ["drop_tool_noise", "save_checkpoint", "ask_for_budget", "stop_before_next_action"]

_but_saving := ["drop_tool_noise", "ask_for_budget", "stop_before_next_action"]

test_none_sound_boundary if _codes(fixture.compacting) == []

test_none_empty_input if _codes({}) == []

test_none_at_a_call if _codes(core.ticket) == []

# It happened already: there is no instead.
test_none_for_a_recovery if _codes(fixture.puts(fixture.compacting, {
	"/operation": "recover",
	"/state/continuity/in_flight": true,
})) == []

test_ways_out_in_each_forbidden_state if _misses == set()

_misses := {[path, value, got] |
	some path, value in {
		"/state/continuity/actions/0/approval_status": "pending",
		"/state/continuity/actions/0/side_effect_status": "side_effect_unknown",
		"/state/continuity/in_flight": true,
		"/state/continuity/actions": null,
		"/state/continuity/open_work": [{"kind": "multi_step_in_progress"}],
		"/state/continuity/pending_obligations": ["await:customer"],
		"/state/continuity/budget_remaining": 0,
	}
	got := _codes(core.put(fixture.compacting, path, value))
	got != _but_saving
}

test_saving_first_where_something_is_not_saved if _misses_of_saving == set()

_misses_of_saving := {[path, value, got] |
	some path, values in {
		"/state/continuity/checkpoint_ref": core.no_text,
		"/state/continuity/sandbox_snapshot_ref": core.no_text,
		"/state/continuity/open_work": [null, [{"kind": "user_correction_not_durable"}], [{"kind": "nobody knows"}]],
	}
	some value in values
	got := _codes(fixture.puts(fixture.compacting, {"/state/continuity/in_flight": true, path: value}))
	got != _all
}

test_advice_names_its_source if {
	got := advice.advice with input as core.put(fixture.compacting, "/state/continuity/in_flight", true)
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as fixture.bundles
	got[0] == {"type": "instead", "code": "drop_tool_noise", "source": "gate.continuity.boundary"}
}

_codes(doc) := [a.code | some a in got] if {
	got := advice.advice with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as fixture.bundles
}
