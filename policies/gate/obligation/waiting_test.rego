package gate.obligation_test

import data.gate.fixture_test as fixture

# The run waits, where the contract says so, until the request is decided.
test_require_approval_pauses_the_run if {
	_owed_in(fixture.put(fixture.ticket, "/state/approval", null), _pausing) == [_request, {"type": "pause_run"}]
}

test_allow_pauses_nothing if not {"type": "pause_run"} in _owed_in(fixture.ticket, _pausing)

test_decided_request_resumes_the_run_that_waited if _misses_of_resumed == set()

_misses_of_resumed := {[word, decision, got] |
	some word, decision in {"approve": "approved", "reject": "rejected", "cancel": "cancelled"}
	doc := object.union(_waited_for, {"request": {"transition": word}, "evidence": {"vote": {"decision": decision}}})
	got := [o | some o in _owed_in(doc, _pausing); o.type == "resume_run"]
	got != [{"type": "resume_run", "approval_id": "apr-1"}]
}

test_decided_request_resumes_no_other_run if _misses_of_other == set()

_misses_of_other := {[path, value, got] |
	some path, values in {
		"/state/run/waiting_for": array.concat(fixture.garbage, ["apr-2"]),
		"/state/run/status": ["running", "completed", "stopped", "garbage", null],
	}
	some value in values
	got := [o | some o in _owed_in(fixture.put(_waited_for, path, value), _pausing); o.type == "resume_run"]
	got != []
}

test_rejection_that_stops_the_run_does_not_resume_it if {
	rejecting := object.union(_waited_for, {"request": {"transition": "reject"}, "evidence": {"vote": {"decision": "rejected"}}})
	stopping := fixture.put(_pausing, "/triage/contracts/create_ticket/on_reject", "stop_run")
	[o.type | some o in _owed_in(rejecting, stopping)] == ["move_approval", "end_run"]
}

test_pending_vote_resumes_nothing if {
	two := fixture.put(_pausing, "/triage/contracts/create_ticket/quorum", 2)
	[o.type | some o in _owed_in(_waited_for, two)] == ["move_approval"]
}

# A standing approval is asked for as long as it stands, and says how often it may be used.
test_require_standing_approval_asks_for_its_life if {
	[o.max_wait_seconds | some o in _owed_in(fixture.put(fixture.ticket, "/state/approval", null), _standing)] == [3600]
}

test_allow_standing_approval_says_its_uses if {
	_owed_in(_stands, _standing) == [
		{
			"type": "consume_approval", "approval_id": "apr-1", "version": 2,
			"standing_digest": "sha256:stands", "max_uses": 3,
		},
		{"type": "claim_effect", "lease_seconds": 15},
	]
}

test_standing_digest_that_is_lost_does_not_make_the_obligation_vanish if {
	_all_obligations_in("allow", fixture.without(_stands, "/digests/standing_digest"), _standing)[0].standing_digest == null
}

_stands := object.union(fixture.ticket, {
	"digests": {"standing_digest": "sha256:stands"},
	"state": {"approval": {
		"standing_digest": "sha256:stands",
		"uses": 1,
		"votes": [object.union(fixture.vote, {"standing_digest": "sha256:stands"})],
	}},
})

_standing := fixture.put(
	fixture.bundles, "/triage/contracts/create_ticket/standing",
	{"max_uses": 3, "valid_seconds": 3600, "scope": "session", "free_arguments": []},
)

_waited_for := object.union(fixture.voting, {"state": {"run": {"status": "paused", "waiting_for": "apr-1"}}})

_pausing := json.patch(fixture.bundles, [
	{
		"op": "add", "path": "/triage/contracts/create_ticket/runtime_controls/while_pending",
		"value": "pause_run",
	},
	{"op": "add", "path": "/triage/contracts/create_ticket/on_reject", "value": "continue_without"},
])
