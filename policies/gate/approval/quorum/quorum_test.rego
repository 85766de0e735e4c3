package gate.approval.quorum_test

import data.gate.approval
import data.gate.fixture_test as fixture
import data.gate.transition

# One vote of each role, each by another human.
test_none_one_vote_of_each_role if _codes([fixture.vote, _otto], _each_role) == set()

test_require_two_votes_of_one_role if {
	_codes([fixture.vote, fixture.noor], _each_role) == {"approval_roles_not_met"}
}

test_require_one_human_with_both_roles if {
	both := fixture.put(_each_role, "/triage/reviewers/mira-manager/roles", ["manager", "auditor"])
	_codes([fixture.vote], both) == {"approval_quorum_not_met"}
	_codes([fixture.vote, fixture.noor], both) == set()
}

# Three humans, two of whom can only be the same role: each role has a vote, and still one human votes for two.
test_require_roles_that_no_human_of_their_own_votes_for if {
	roles := ["manager", "auditor", "owner"]
	bundles := fixture.put(
		fixture.put(
			_contract(
				roles, [
					["manager"], ["auditor"], ["owner"],
					["manager", "auditor"], ["manager", "owner"], ["auditor", "owner"],
					roles,
				],
				3,
			),
			"/triage/reviewers/otto-auditor/roles", ["auditor", "owner"],
		),
		"/triage/reviewers/noor-manager/roles", ["manager"],
	)
	third := fixture.put(bundles, "/triage/reviewers/pia", {
		"human": "Pia@Example.com",
		"roles": ["manager"],
		"keys": {"pia-key": {"public_key": "cGlh", "not_before_ms": 1000, "not_after_ms": 90000}},
	})
	pia := object.union(fixture.vote, {"reviewer": "pia", "key_id": "pia-key"})
	_codes([_otto, fixture.noor, pia], third) == {"approval_roles_not_met"}
	owner := fixture.put(third, "/triage/reviewers/pia/roles", ["owner"])
	_codes([_otto, fixture.noor, pia], owner) == set()
}

test_require_role_sets_broken if _misses == set()

_misses := {[value, got] |
	some value in [null, true, 5, "garbage", [], {}, [["manager"], 5]]
	got := _codes([fixture.vote, _otto], fixture.put(_each_role, "/triage/contracts/create_ticket/role_sets", value))
	got != {"approval_roles_not_met"}
}

test_next_status_pending_until_each_role_has_voted if {
	first := fixture.put(fixture.voting, "/state/approval/votes", [_otto])
	_next(fixture.voting, _each_role) == "pending"
	_next(first, _each_role) == "approved"
	_next(fixture.put(first, "/state/approval/votes", [fixture.noor]), _each_role) == "pending"
}

_otto := object.union(fixture.vote, {"reviewer": "otto-auditor", "key_id": "otto-key"})

_each_role := _contract(["manager", "auditor"], [["manager"], ["auditor"], ["manager", "auditor"]], 2)

_contract(roles, sets, quorum) := json.patch(fixture.bundles, [
	{"op": "add", "path": "/triage/contracts/create_ticket/required_reviewers", "value": roles},
	{"op": "add", "path": "/triage/contracts/create_ticket/role_sets", "value": sets},
	{"op": "add", "path": "/triage/contracts/create_ticket/quorum", "value": quorum},
])

_next(doc, bundles) := status if {
	status := transition.next_status with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_codes(votes, bundles) := {f.code |
	some f in approval.raised with input as fixture.put(fixture.ticket, "/state/approval/votes", votes)
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
