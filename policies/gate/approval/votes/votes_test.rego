package gate.approval.votes_test

import data.gate.approval.names
import data.gate.approval.votes
import data.gate.fixture_test as fixture

test_vote_sound_counts if {
	_view(fixture.ticket) == {"humans": {"mlra@example.com"}, "all": {"approving", "signed", "may_review", "independent"}}
}

test_vote_empty_document_counts_nothing if _view({}) == {"humans": set(), "all": set()}

test_vote_each_field_broken_does_not_count if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(fixture.ticket, path, owed.values)
	got := _view(doc)
	got != {"humans": set(), "all": owed.all}
}

_owed := {
	"/state/approval": {"values": fixture.no_section, "all": set()},
	"/state/approval/votes/0/decision": {
		"values": array.concat(fixture.garbage, ["rejected", "Approved"]),
		"all": {"signed", "may_review", "independent"},
	},
	"/state/approval/votes/0/verified": {"values": fixture.no_true, "all": {"approving", "may_review", "independent"}},
	"/state/approval/votes/0/approval_id": {"values": fixture.garbage, "all": {"approving", "may_review", "independent"}},
	"/state/approval/votes/0/nonce": {"values": fixture.garbage, "all": {"approving", "may_review", "independent"}},
	"/state/approval/votes/0/action_digest": {"values": fixture.garbage, "all": {"approving", "may_review", "independent"}},
	"/state/approval/votes/0/contract_digest": {"values": fixture.garbage, "all": {"approving", "may_review", "independent"}},
	"/state/approval/votes/0/environment": {"values": fixture.garbage, "all": {"approving", "may_review", "independent"}},
	"/state/approval/votes/0/expires_at_ms": {"values": fixture.no_number, "all": {"approving", "may_review", "independent"}},
	"/state/approval/votes/0/issued_at_ms": {"values": fixture.no_number, "all": {"approving", "independent"}},
	"/state/approval/votes/0/key_id": {
		"values": array.concat(fixture.garbage, ["noor-key"]),
		"all": {"approving", "signed", "independent"},
	},
	"/state/approval/votes/0/reviewer": {"values": fixture.no_string, "all": {"approving", "signed"}},
	"/state/approval/approval_id": {"values": fixture.garbage, "all": {"approving", "may_review", "independent"}},
	"/state/approval/nonce": {"values": fixture.garbage, "all": {"approving", "may_review", "independent"}},
	"/state/approval/action_digest": {"values": fixture.garbage, "all": {"approving", "may_review", "independent"}},
	"/agent/environment": {"values": fixture.garbage, "all": {"approving", "may_review", "independent"}},
	"/now_ms": {"values": fixture.no_number, "all": {"approving", "independent"}},
	"/request/capability": {"values": fixture.garbage, "all": {"approving", "independent"}},
	"/agent/agent_id": {"values": fixture.garbage, "all": {"approving", "independent"}},
	# Whoever is not stated could be anybody, so that nobody is independent of him.
	"/state/approval/requested_by": {"values": fixture.no_text, "all": {"approving", "signed", "may_review"}},
	"/state/approval/principal_id": {"values": fixture.no_text, "all": {"approving", "signed", "may_review"}},
	"/state/approval/agent_id": {"values": fixture.no_text, "all": {"approving", "signed", "may_review"}},
	"/state/run/authorization_mode": {"values": fixture.garbage, "all": {"approving", "signed", "may_review"}},
	"/state/run/delegated_principal_id": {"values": fixture.no_text, "all": {"approving", "signed", "may_review"}},
	"/state/run": {"values": fixture.no_section, "all": {"approving", "signed", "may_review"}},
}

# Two equally wrong sides are no match.
test_vote_both_sides_alike_but_no_string_is_unsigned if _misses_of_alike == set()

_misses_of_alike := {[field, value, got] |
	some field, other in {
		"approval_id": "/state/approval/approval_id",
		"nonce": "/state/approval/nonce",
		"action_digest": "/state/approval/action_digest",
		"environment": "/agent/environment",
	}
	some value in fixture.no_string
	got := _view(fixture.put(
		fixture.put(fixture.ticket, other, value),
		concat("/", ["/state/approval/votes/0", field]),
		value,
	))
	got != {"humans": set(), "all": {"approving", "may_review", "independent"}}
}

test_vote_contract_alike_but_no_string_is_unsigned if _misses_of_contract == set()

_misses_of_contract := {[value, got] |
	some value in fixture.no_string
	got := _view_in(
		fixture.put(fixture.ticket, "/state/approval/votes/0/contract_digest", value),
		fixture.put(fixture.bundles, "/triage/contracts/create_ticket/contract_digest", value),
	)
	got != {"humans": set(), "all": {"approving", "may_review", "independent"}}
}

test_vote_no_list_at_all_counts_nothing if _misses_of_list == set()

_misses_of_list := {[votes_, got] |
	some votes_ in [null, true, 5, "", "garbage", {}, {"0": fixture.vote}, [null], [5], ["garbage"], [[]], [{}]]
	got := _view(fixture.put(fixture.ticket, "/state/approval/votes", votes_))
	got != {"humans": set(), "all": set()}
}

test_vote_list_absent_counts_nothing if {
	_view(fixture.without(fixture.ticket, "/state/approval/votes")) == {"humans": set(), "all": set()}
}

test_vote_empty_list_counts_nobody if {
	_view(_with_votes([])) == {"humans": set(), "all": {"approving", "signed", "may_review", "independent"}}
}

test_vote_rejecting_beside_an_approving_one if {
	_view(_with_votes([fixture.vote, object.union(fixture.noor, {"decision": "rejected"})])) == {
		"humans": {"mlra@example.com"},
		"all": {"signed", "may_review", "independent"},
	}
}

test_vote_one_bad_vote_spoils_the_list if {
	_view(_with_votes([fixture.vote, object.union(fixture.noor, {"verified": false})])) == {
		"humans": {"mlra@example.com"},
		"all": {"approving", "may_review", "independent"},
	}
}

test_vote_signed_only_within_its_times if _misses_of_times == set()

_misses_of_times := {[times, got] |
	some times, signed in {
		[50000, 50001]: true,
		[50001, 60000]: false,
		[40000, 50000]: false,
		[40000, 50001]: true,
	}
	got := "signed" in _view(_with_votes([object.union(
		fixture.vote,
		{"issued_at_ms": times[0], "expires_at_ms": times[1]},
	)])).all
	got != signed
}

test_vote_key_only_within_its_times if _misses_of_key == set()

_misses_of_key := {[times, got] |
	some times, valid in {
		[40000, 50001]: true,
		[40001, 90000]: false,
		[1000, 50000]: false,
		[1000, 50001]: true,
	}
	got := "may_review" in _view_in(fixture.ticket, fixture.put(
		fixture.bundles,
		"/triage/reviewers/mira-manager/keys/mira-key",
		{"not_before_ms": times[0], "not_after_ms": times[1]},
	)).all
	got != valid
}

# A key without its times is valid at no time; null and false order before every number, text after.
test_vote_key_times_broken if _misses_of_key_times == set()

_misses_of_key_times := {[field, what, got] |
	some field in ["not_before_ms", "not_after_ms"]
	some what, bundles in fixture.broken(
		fixture.bundles,
		concat("/", ["/triage/reviewers/mira-manager/keys/mira-key", field]),
		array.concat(fixture.no_number, [false, ""]),
	)
	got := _view_in(fixture.ticket, bundles)
	got != {"humans": set(), "all": {"approving", "signed", "independent"}}
}

test_vote_reviewer_without_the_role if {
	_view(_with_votes([object.union(fixture.vote, {"reviewer": "otto-auditor", "key_id": "otto-key"})])) == {
		"humans": set(),
		"all": {"approving", "signed", "independent"},
	}
}

test_vote_contract_or_reviewer_broken if _misses_of_bundle == set()

_misses_of_bundle := {[path, what, got] |
	some path in [
		"/triage/reviewers", "/triage/reviewers/mira-manager", "/triage/reviewers/mira-manager/roles",
		"/triage/reviewers/mira-manager/keys", "/triage/reviewers/mira-manager/keys/mira-key",
		"/triage/contracts/create_ticket/required_reviewers",
	]
	some what, bundles in fixture.broken(fixture.bundles, path, fixture.no_section)
	got := "may_review" in _view_in(fixture.ticket, bundles).all
	got != false
}

# B15: one person under two ids and two spellings is one human.
test_vote_same_human_twice_counts_once if {
	_view(_with_votes([
		fixture.vote, fixture.vote,
		object.union(fixture.vote, {"reviewer": "mira-second", "key_id": "mira-second-key"}),
	])) == {"humans": {"mlra@example.com"}, "all": {"approving", "signed", "may_review", "independent"}}
}

test_vote_two_humans_count_twice if {
	_view(_with_votes([fixture.vote, fixture.noor])).humans == {"mlra@example.com", "noor@example.com"}
}

# A4 and B15: neither who asked, nor the principal, nor the agent, under any spelling, by id or by name.
test_vote_by_a_party_is_not_independent if _misses_of_party == set()

_misses_of_party := {[party, name, got] |
	some party in ["requested_by", "principal_id", "agent_id"]
	some name in ["mira-manager", "Mira-Manager", "mira@example.com", " MIRA@EXAMPLE.COM\n"]
	got := _view(fixture.put(fixture.ticket, concat("/", ["/state/approval", party]), name))
	got != {"humans": set(), "all": {"approving", "signed", "may_review"}}
}

# Nor the person the agent acts for, whether the run or the caller names him.
test_vote_by_the_delegating_person_is_not_independent if _misses_of_delegate == set()

_misses_of_delegate := {[path, name, got] |
	some path in ["/state/run/delegated_principal_id", "/identity/delegated_principal_id"]
	some name in ["mira-manager", "Mira-Manager", "mira@example.com", " MIRA@EXAMPLE.COM\n"]
	got := _view(fixture.put(fixture.ticket, path, name))
	got != {"humans": set(), "all": {"approving", "signed", "may_review"}}
}

test_vote_where_nobody_delegates_is_independent if _misses_of_nobody == set()

_misses_of_nobody := {[mode, what, got] |
	some mode in ["platform_owned", "human_approved"]
	alone := object.union(fixture.ticket, {
		"identity": {"delegated_principal_id": null},
		"state": {"run": {"authorization_mode": mode}},
	})
	some what, doc in fixture.broken(alone, "/state/run/delegated_principal_id", fixture.no_text)
	got := _view(doc)
	got != _view(fixture.ticket)
}

# One party's absence hides no other party.
test_vote_by_a_party_with_another_party_absent if _misses_of_two_parties == set()

_misses_of_two_parties := {[party, absent, got] |
	some party in ["requested_by", "principal_id", "agent_id"]
	some absent in ["requested_by", "principal_id", "agent_id"]
	party != absent
	voted := fixture.put(fixture.ticket, concat("/", ["/state/approval", party]), "mira-manager")
	got := _view(fixture.without(voted, concat("/", ["/state/approval", absent])))
	got != {"humans": set(), "all": {"approving", "signed", "may_review"}}
}

test_humans_of_an_unknown_reviewer_are_none if _humans({"reviewer": "nobody"}) == set()

test_humans_of_a_known_reviewer if _humans({"reviewer": "mira-second"}) == {"mlra@example.com"}

test_folded_without_case_and_outer_space if names.folded(" Alice@Example.com\t") == "allce@example.com"

_with_votes(list) := fixture.put(fixture.ticket, "/state/approval/votes", list)

_humans(vote) := humans if {
	humans := votes.humans(vote) with input as fixture.ticket
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}

_view(doc) := _view_in(doc, fixture.bundles)

_view_in(doc, bundles) := view if {
	view := _whole_view with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_whole_view := {
	"humans": votes.approving,
	"all": union({
		{"approving" | votes.all_approving},
		{"signed" | votes.all_signed},
		{"may_review" | votes.all_may_review},
		{"independent" | votes.all_independent},
	}),
}
