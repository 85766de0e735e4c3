package gate.approval.votes_test

import data.gate.approval
import data.gate.fixture_test as fixture
import data.gate.transition

# Noor hands her vote to Otto, who holds the delegate's role; Otto approves for her.
test_none_voted_by_the_delegate if _of_call([_handing, _otto], _delegating) == set()

test_require_delegate_without_a_delegation if {
	_of_call([_otto], _delegating) == {"approval_reviewer_invalid", "approval_quorum_not_met"}
}

test_require_delegation_that_does_not_hold if _misses_of_handing == set()

_misses_of_handing := {[field, value, got] |
	some field, values in {
		"verified": fixture.no_true,
		"delegate_to": array.concat(fixture.garbage, ["noor-manager", "mira-manager"]),
		"key_id": array.concat(fixture.garbage, ["otto-key"]),
		"contract_digest": fixture.garbage,
	}
	some value in values
	got := _of_call([object.union(_handing, {field: value}), _otto], _delegating)
	not "approval_reviewer_invalid" in got
}

test_require_contract_without_delegation if {
	bundles := fixture.without(_delegating, "/triage/contracts/create_ticket/delegation")
	_of_call([_handing, _otto], bundles) == {"approval_reviewer_invalid", "approval_quorum_not_met"}
}

# What was handed on is gone: neither she nor anybody else is counted for it a second time.
test_require_two_humans_for_one_vote if {
	two := fixture.put(_delegating, "/triage/contracts/create_ticket/quorum", 2)
	_of_call([_handing, _otto, fixture.noor], two) == {"approval_quorum_not_met"}
	_of_call([_handing, _otto, fixture.vote], two) == set()
}

test_none_sound_handing if _of_transition(_voting("delegate", _handing), _delegating) == set()

test_next_status_pending_after_handing if _next(_voting("delegate", _handing), _delegating) == "pending"

test_deny_handing_that_nobody_may if {
	_of_transition(_voting("delegate", _handing), fixture.bundles) == {
		"transition_not_allowed",
		"approval_delegate_not_allowed",
	}
	_of_transition(_voting("delegate", object.union(_handing, {"delegate_to": "mira-manager"})), _delegating) == {"approval_delegate_not_allowed"}
	_of_transition(_voting("delegate", object.union(_handing, {"delegate_to": "otto-second"})), _delegating) == {"approval_delegate_not_allowed"}
}

# Nobody hands his vote to himself under another id.
test_deny_handing_to_oneself if {
	bundles := fixture.put(_delegating, "/triage/reviewers/otto-auditor/human", "N00r@example.com")
	_of_transition(_voting("delegate", _handing), bundles) == {"approval_delegate_not_allowed"}
}

test_deny_voting_after_handing if {
	doc := fixture.put(_voting("approve", fixture.noor), "/state/approval/votes", [_handing])
	_of_transition(doc, _delegating) == {"approval_vote_repeated"}
}

# B15: who approved may have second thoughts while the request is open.
test_none_rejecting_after_approving if {
	rejecting := object.union(fixture.vote, {"decision": "rejected"})
	doc := fixture.put(_voting("reject", rejecting), "/state/approval/votes", [fixture.vote])
	two := fixture.put(fixture.bundles, "/triage/contracts/create_ticket/quorum", 2)
	_of_transition(doc, two) == set()
	_next(doc, two) == "rejected"
}

# After an escalation the default reviewer decides too, with a vote that is not older.
test_none_voted_after_an_escalation if _escalated(40000, _escalating) == set()

test_require_voted_before_the_escalation if {
	_escalated(40001, _escalating) == {"approval_reviewer_invalid", "approval_quorum_not_met"}
}

test_require_escalation_broken if _misses_of_escalation == set()

_misses_of_escalation := {[value, got] |
	some value in array.concat(fixture.no_number, [false, ""])
	got := _escalated(value, _escalating)
	got != {"approval_reviewer_invalid", "approval_quorum_not_met"}
}

test_require_contract_without_escalation if {
	_escalated(40000, fixture.bundles) == {"approval_reviewer_invalid", "approval_quorum_not_met"}
}

# A key that is known to be stolen signs nothing, though it is listed.
test_require_key_denied if {
	_of_call_with_keys(["mira-key"]) == {"approval_key_denied", "approval_quorum_not_met"}
	_of_call_with_keys(["other-key"]) == set()
}

test_require_denylist_broken if _misses_of_denylist == set()

_misses_of_denylist := {[value, got] |
	some value in [null, true, 17, "garbage", {}, {"mira-key": true}]
	got := _of_call_with_keys(value)
	got != {"approval_key_denied", "approval_quorum_not_met"}
}

test_deny_voting_with_a_denied_key if {
	denied := fixture.put(fixture.voting, "/state/approval/denied_keys", ["mira-key"])
	_of_transition(denied, fixture.bundles) == {"approval_key_denied"}
}

# A party whose name could be a look-alike of anybody's.
test_require_party_ambiguous if {
	doc := fixture.put(fixture.ticket, "/state/approval/requested_by", "m\u0456ra@example.com")
	_of_document(doc, fixture.bundles) == {"approval_party_ambiguous"}
}

test_deny_voting_for_an_ambiguous_party if {
	doc := fixture.put(fixture.voting, "/state/approval/requested_by", "m\u0456ra@example.com")
	_of_transition(doc, fixture.bundles) == {"approval_party_ambiguous"}
}

test_require_own_vote_under_a_name_that_looks_alike if {
	doc := fixture.put(fixture.ticket, "/state/approval/requested_by", "M1RA@example.com")
	_of_document(doc, fixture.bundles) == {"approval_self_approved", "approval_quorum_not_met"}
}

# Nothing of a run that is over is decided any more, but a rejection is remembered for later ones.
test_deny_voting_for_a_run_that_is_over if _misses_of_run == set()

_misses_of_run := {[status, got] |
	some status, owed in {
		"running": set(),
		"paused": set(),
		"completed": set(),
		"cancelled": {"approval_run_over"},
		"stopped": {"approval_run_over"},
		"garbage": {"approval_run_over"},
	}
	got := _of_transition(fixture.put(fixture.voting, "/state/run/status", status), fixture.bundles)
	got != owed
}

test_none_rejecting_for_a_run_that_is_over if {
	rejecting := object.union(fixture.vote, {"decision": "rejected"})
	_of_transition(fixture.put(_voting("reject", rejecting), "/state/run/status", "stopped"), fixture.bundles) == set()
}

_escalated(at_ms, bundles) := _of_document(
	object.union(fixture.ticket, {"state": {"approval": {
		"escalated_at_ms": at_ms,
		"votes": [_otto],
	}}}),
	bundles,
)

_of_call_with_keys(keys) := _of_document(fixture.put(fixture.ticket, "/state/approval/denied_keys", keys), fixture.bundles)

_of_call(list, bundles) := _of_document(_with_votes(list), bundles)

_voting(word, vote) := object.union(fixture.voting, {
	"request": {"transition": word},
	"identity": {"principal_id": vote.reviewer},
	"evidence": {"vote": vote},
})

_handing := object.union(fixture.noor, {"decision": "delegated", "delegate_to": "otto-auditor"})

_otto := object.union(fixture.vote, {"reviewer": "otto-auditor", "key_id": "otto-key"})

_delegating := fixture.put(
	fixture.put(fixture.bundles, "/triage/contracts/create_ticket/delegation", true),
	"/triage/routing_controls", {"approval_delegate": "auditor"},
)

_escalating := fixture.put(
	fixture.bundles, "/triage/contracts/create_ticket/runtime_controls/escalation",
	{"role": "auditor", "after_ms": 5000},
)

_next(doc, bundles) := status if {
	status := transition.next_status with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_of_document(doc, bundles) := {f.code |
	some f in approval.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_of_transition(doc, bundles) := {f.code |
	some f in transition.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
