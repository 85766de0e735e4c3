package gate.approval_test

import data.gate.fixture_test as fixture

_demanding := fixture.put(fixture.bundles, "/triage/demands", {{
	"code": "big_ticket",
	"verdict": "require_approval",
	"rule": "control.tool_execution",
	"requirement": "control_checkpoints.big_ticket",
	"source": "checkpoints.yaml#/control_checkpoints/0",
}})

# A control's demand is met by an approval that holds, and stands beside whatever an approval lacks.
test_none_demand_met if _codes_in(fixture.ticket, _demanding) == set()

test_require_demand_unmet if {
	_codes_in(fixture.put(fixture.ticket, "/state/approval", null), _demanding) == {"approval_missing", "big_ticket"}
	_codes_in(_in_status("pending"), _demanding) == {"approval_pending", "big_ticket"}
	_codes_in(fixture.put(fixture.ticket, "/digests/action_digest", "sha256:other"), _demanding) == {
		"approval_digest_mismatch",
		"big_ticket",
	}
}

# A demand makes an approval needed where policy and catalog ask for none; what is no call asks for none.
test_require_demand_on_a_call_that_is_else_free if {
	_codes_in(fixture.reading, _demanding) == {"approval_contract_missing", "approval_missing", "big_ticket"}
	_codes_in(fixture.voting, _demanding) == set()
	_codes_in({}, _demanding) == set()
}

# In every respect: whatever an approval lacks leaves the demand standing.
test_require_demand_by_an_approval_that_lacks_anything if _misses_of_demand == set()

_misses_of_demand := {[path, what] |
	some table in [_owed_by_context, _owed_by_record, _owed_by_party, _owed_by_binding, _owed_by_vote]
	some path, owed in table
	owed.codes != {"approval_request_incomplete"}
	some what, doc in fixture.broken(fixture.ticket, path, owed.values)
	not "big_ticket" in _codes_in(doc, _demanding)
}

# A quorum of good votes does not outweigh one that does not hold.
test_require_demand_by_a_quorum_beside_one_bad_vote if _misses_of_one_bad == set()

_misses_of_one_bad := {[what, got] |
	some what, vote in {
		"approval_signature_invalid": {"verified": false},
		"approval_reviewer_invalid": {"reviewer": "otto-auditor", "key_id": "otto-key"},
		"approval_self_approved": {"reviewer": "noor-manager"},
	}
	asked := fixture.put(fixture.ticket, "/state/approval/requested_by", _requesters[what])
	votes := [fixture.vote, object.union(fixture.noor, vote)]
	got := _codes_in(fixture.put(asked, "/state/approval/votes", votes), _demanding)
	got != {what, "big_ticket"}
}

_requesters := {
	"approval_signature_invalid": "user-42",
	"approval_reviewer_invalid": "user-42",
	"approval_self_approved": "noor-manager",
}

test_require_demand_under_a_contract_that_lacks_anything if _misses_of_demand_contract == set()

_misses_of_demand_contract := {[path, what] |
	some path, values in {
		"": fixture.no_section,
		"/contract_digest": fixture.garbage,
		"/quorum": [null, true, 0, -1, "1", 2],
		"/required_reviewers": fixture.no_section,
	}
	some what, bundles in fixture.broken(
		_demanding,
		concat("", ["/triage/contracts/create_ticket", path]),
		values,
	)
	not "big_ticket" in _codes_in(fixture.ticket, bundles)
}

test_require_demand_unmet_by_a_rejection_in_the_record if {
	votes := [fixture.vote, object.union(fixture.noor, {"decision": "rejected"})]
	_codes_in(_with_votes(votes), _demanding) == {"approval_rejected", "big_ticket"}
}
