package gate.transition_test

import data.gate.fixture_test as fixture

test_next_status_approved_by_a_quorum_of_one if _next(fixture.voting, fixture.bundles) == {"approved"}

test_next_status_pending_until_the_quorum if _next(fixture.voting, _quorum_of_two) == {"pending"}

test_next_status_pending_for_the_same_human_twice if {
	_next(fixture.put(_one_vote_in, "/evidence/vote", fixture.vote), _quorum_of_two) == {"pending"}
}

test_next_status_approved_at_the_quorum if _next(_second_vote, _quorum_of_two) == {"approved"}

# Votes that do not hold are no part of a quorum.
test_next_status_pending_when_the_first_vote_does_not_hold if {
	_next(fixture.put(_second_vote, "/state/approval/votes/0/verified", false), _quorum_of_two) == {"pending"}
}

test_next_status_rejected_at_once if _next(_rejecting, _quorum_of_two) == {"rejected"}

test_next_status_none_for_other_words if _misses_of_next == set()

_misses_of_next := {[what, got] |
	some what, doc in fixture.broken(fixture.voting, "/request/transition", fixture.garbage)
	got := _next(doc, fixture.bundles)
	got != set()
}

test_next_status_none_for_other_operations if _misses_of_operation == set()

_misses_of_operation := {[operation, word, got] |
	some operation in ["call_tool", "effect_transition", "memory_write"]
	some word in ["approve", "reject"]
	some bundles in [fixture.bundles, _quorum_of_two]
	got := _next(
		object.union(fixture.voting, {
			"operation": operation,
			"request": {"transition": word, "capability": "create_ticket"},
			"state": {"side_effect": {"capability": "create_ticket"}},
		}),
		bundles,
	)
	got != set()
}

test_stops_run_rejected if _stops(_rejecting, fixture.bundles)

test_stops_run_rejected_and_contract_broken if _misses_of_stop == set()

_misses_of_stop := {what |
	some what, bundles in fixture.broken(
		fixture.bundles,
		"/triage/contracts/create_ticket/on_reject",
		fixture.garbage,
	)
	not _stops(_rejecting, bundles)
}

test_goes_on_rejected_where_the_contract_says_so if {
	bundles := fixture.put(fixture.bundles, "/triage/contracts/create_ticket/on_reject", "continue_without")
	not _stops(_rejecting, bundles)
}

test_goes_on_approved if not _stops(fixture.voting, fixture.bundles)
