package gate.continuity.states_test

import data.gate.continuity.fixture_test as fixture
import data.gate.continuity.states
import data.gate.fixture_test as core

# Every state but those that only a bundle forbids.
test_observed_nothing_readable if _observed({}, core.bundles) == _core

_core := {"approval_pending", "tool_outcome_unknown", "multi_step_in_progress", "irreversible_awaiting_confirmation", "credential_change_unfinished", "user_correction_not_durable", "incident_open"}

test_observed_nothing_readable_in_a_bundle_that_adds if {
	_observed({"agent": {"agent_id": "triage-agent"}}, fixture.bundles) == _core | {
		"obligation_open", "sandbox_not_saved", "budget_exhausted",
	}
}

test_observed_none_sound if _observed(fixture.compacting, fixture.bundles) == set()

test_observed_several_at_once if {
	_observed(
		fixture.puts(fixture.compacting, {
			"/state/continuity/actions/0/approval_status": "pending",
			"/state/continuity/open_work": [{"kind": "incident_open"}, {"kind": "multi_step_in_progress"}],
		}),
		fixture.bundles,
	) == {"approval_pending", "incident_open", "multi_step_in_progress"}
}

# No approval, and so none that waits; a status that cannot be read may be one.
test_observed_nothing_of_an_action_without_approval if {
	path := "/state/continuity/actions/0"
	free := fixture.puts(fixture.compacting, {concat("", [path, "/approval_id"]): null, concat("", [path, "/approval_status"]): null})
	_observed(free, fixture.bundles) == set()
	_observed(core.put(free, concat("", [path, "/approval_id"]), "apr-1"), fixture.bundles) == {"approval_pending"}
	_observed(core.without(free, concat("", [path, "/approval_id"])), fixture.bundles) == {"approval_pending"}
}

_observed(doc, bundles) := got if {
	got := states.observed with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as bundles
}
