package gate.transition_test

import data.gate.fixture_test as fixture
import data.gate.transition

test_none_sound_voting if _codes(fixture.voting) == set()

test_none_sound_rejecting if _codes(_rejecting) == set()

test_none_other_operation if _codes(fixture.ticket) == set()

test_none_empty_document if _codes({}) == set()

test_deny_transitions_without_anything if {
	_codes({"operation": "approval_transition"}) == {
		"transition_not_allowed", "transition_not_by_human", "approval_expired", "approval_contract_missing",
		"approval_contract_mismatch", "approval_binding_mismatch", "approval_signature_invalid",
		"approval_reviewer_invalid", "approval_self_approved", "approval_vote_repeated", "approval_key_denied",
		"approval_run_over",
	}
	_codes({"operation": "effect_transition"}) == {
		"transition_not_by_human", "effect_binding_mismatch", "reconciliation_not_needed",
		"reconciliation_outcome_unknown", "reconciliation_evidence_missing", "reconciliation_owner_not_fenced",
	}
}

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(fixture.voting, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/request": {"values": fixture.no_section, "codes": {"transition_not_allowed"}},
	"/request/transition": {
		"values": array.concat(fixture.garbage, ["approved", "reject", "revoked"]),
		"codes": {"transition_not_allowed"},
	},
	"/state/approval/status": {
		"values": array.concat(
			fixture.garbage,
			["approved", "rejected", "expired", "revoked", "consumed", "cancelled"],
		),
		"codes": {"transition_not_allowed"},
	},
	"/state/approval/expires_at_ms": {
		"values": array.concat(fixture.no_number, [49999, 50000]),
		"codes": {"approval_expired"},
	},
	"/state/approval/contract_digest": {"values": fixture.garbage, "codes": {"approval_contract_mismatch"}},
	"/state/approval/approval_id": {"values": fixture.garbage, "codes": {"approval_signature_invalid"}},
	"/state/approval/nonce": {"values": fixture.garbage, "codes": {"approval_signature_invalid"}},
	"/state/approval/action_digest": {"values": fixture.garbage, "codes": {"approval_signature_invalid"}},
	"/agent/environment": {"values": fixture.garbage, "codes": {"approval_signature_invalid"}},
	"/now_ms": {
		"values": fixture.no_number,
		"codes": {"approval_expired", "approval_signature_invalid", "approval_reviewer_invalid"},
	},
	"/evidence": {"values": fixture.no_section, "codes": _no_vote},
	"/evidence/vote/verified": {"values": fixture.no_true, "codes": {"approval_signature_invalid"}},
	"/evidence/vote/decision": {
		"values": array.concat(fixture.garbage, ["rejected"]),
		"codes": {"transition_not_allowed"},
	},
	"/evidence/vote/key_id": {
		"values": array.concat(fixture.garbage, ["noor-key"]),
		"codes": {"approval_reviewer_invalid"},
	},
	"/evidence/vote/reviewer": {
		"values": fixture.no_string,
		"codes": {"approval_reviewer_invalid", "approval_self_approved"},
	},
	"/state/approval/capability": {"values": fixture.garbage, "codes": _no_contract},
	"/state/approval/version": {"values": fixture.no_number, "codes": {"transition_not_allowed"}},
}

test_deny_agent_another if _misses_of_agent == set()

_misses_of_agent := {[value, got] |
	some value in ["", " \t\n", "garbage"]
	got := _codes(fixture.put(fixture.voting, "/agent/agent_id", value))
	got != {"approval_binding_mismatch"} | _no_contract
}

# Without an agent nobody can be told from it.
test_deny_agent_unstated if _misses_of_unstated_agent == set()

_misses_of_unstated_agent := {[what, got] |
	some what, doc in fixture.broken(fixture.voting, "/agent/agent_id", fixture.no_string)
	got := _codes(doc)
	got != {"approval_binding_mismatch", "transition_not_by_human"} | _no_contract
}

test_deny_binding_broken if _misses_in(_owed_by_binding) == set()

test_deny_party_broken if _misses_in(_owed_by_party) == set()

test_deny_earlier_votes_broken if _misses_in(_owed_by_votes) == set()

test_deny_person_broken if _misses_in(_owed_by_person) == set()

_misses_in(table) := {[path, what, got] |
	some path, owed in table
	some what, doc in fixture.broken(fixture.voting, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

# The record that is voted on is of this tenant, run, agent and release.
_owed_by_binding := {
	"/state/approval/tenant_id": {
		"values": array.concat(fixture.garbage, ["tenant-other"]),
		"codes": {"approval_binding_mismatch"},
	},
	"/identity/tenant_id": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/state/approval/run_id": {"values": array.concat(fixture.garbage, ["run-9"]), "codes": {"approval_binding_mismatch"}},
	"/state/run/run_id": {"values": array.concat(fixture.garbage, ["run-9"]), "codes": {"approval_binding_mismatch"}},
	"/state/approval/bundle_version": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/state/approval/release_identity": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
}

# Whoever is not stated could be anybody, so that nobody is independent of him.
_owed_by_party := {
	"/state/approval/requested_by": {"values": fixture.no_text, "codes": {"approval_self_approved"}},
	"/state/approval/principal_id": {"values": fixture.no_text, "codes": {"approval_self_approved"}},
	"/state/approval/agent_id": {
		"values": fixture.no_text,
		"codes": {"approval_binding_mismatch", "approval_self_approved"},
	},
	"/state/run/authorization_mode": {"values": fixture.garbage, "codes": {"approval_self_approved"}},
	"/state/run/delegated_principal_id": {"values": fixture.no_text, "codes": {"approval_self_approved"}},
	"/state/run": {
		"values": fixture.no_section,
		"codes": {
			"approval_binding_mismatch", "approval_self_approved", "transition_not_by_human",
			"approval_run_over",
		},
	},
}

_owed_by_votes := {"/state/approval/votes": {
	"values": [null, true, 5, "garbage", {}, [null], [{}], ["garbage"], [[]]],
	"codes": {"approval_vote_repeated", "transition_not_allowed"},
}}

_owed_by_person := {
	"/identity/authorization_mode": {
		"values": array.concat(fixture.garbage, ["platform_owned", "user_delegated", "HUMAN_APPROVED"]),
		"codes": {"transition_not_by_human"},
	},
	"/identity/principal_id": {"values": _nobody, "codes": {"transition_not_by_human"}},
	# Without a principal nobody can be told from him.
	"/state/run/principal_id": {"values": fixture.no_string, "codes": {"transition_not_by_human"}},
	"/identity": {
		"values": fixture.no_section,
		"codes": {"approval_binding_mismatch", "transition_not_by_human"},
	},
}

# No person at all, the agent, and the principal of the run, under any spelling.
_nobody := array.concat(fixture.no_text, [
	"triage-agent", "Triage-Agent", "triage-agent ", "\tTRIAGE-AGENT\n",
	"user-42", "USER-42", " User-42 ",
])

# One rejection stands, so a record that holds one is decided, whatever its status says.
test_deny_vote_after_a_rejecting_one if {
	rejecting := object.union(fixture.noor, {"decision": "rejected"})
	rejected := fixture.put(fixture.voting, "/state/approval/votes", [rejecting])
	_codes(rejected) == {"transition_not_allowed"}
	_codes_in(rejected, _quorum_of_two) == {"transition_not_allowed"}
	_codes(object.union(rejected, {
		"request": {"transition": "reject"},
		"evidence": {"vote": {"decision": "rejected"}},
	})) == {"transition_not_allowed"}
}

test_deny_vote_after_one_of_no_decision if _misses_of_undecided == set()

_misses_of_undecided := {[what, got] |
	some what, doc in fixture.broken(_second_vote, "/state/approval/votes/0/decision", fixture.garbage)
	got := _codes_in(doc, _quorum_of_two)
	got != {"transition_not_allowed"}
}

# Whose earlier votes do not hold, his second one cannot be told from a first.
test_deny_vote_after_one_that_does_not_hold if _misses_of_earlier == set()

_misses_of_earlier := {[field, got] |
	some field in [
		"verified", "approval_id", "nonce", "environment", "action_digest", "contract_digest", "issued_at_ms",
		"expires_at_ms",
	]
	got := _codes_in(
		fixture.put(_second_vote, concat("/", ["/state/approval/votes/0", field]), null),
		_quorum_of_two,
	)
	got != {"approval_vote_repeated"}
}

test_deny_quorum_broken if _misses_of_quorum == set()

_misses_of_quorum := {[what, got] |
	some what, bundles in fixture.broken(
		fixture.bundles,
		"/triage/contracts/create_ticket/quorum",
		[null, true, false, 0, -1, 0.5, "1", [], [1], {}],
	)
	got := _codes_in(fixture.voting, bundles)
	got != {"approval_contract_missing"}
}

# Whoever has no name is refused for that; whether he voted before is then no question.
test_deny_vote_is_no_object if _misses_of_vote == set()

_misses_of_vote := {[value, got] |
	some value in [null, true, 0, "garbage", [], {}]
	got := _codes(fixture.put(fixture.voting, "/evidence/vote", value))
	got != _no_vote - {"approval_vote_repeated", "approval_key_denied"}
}

test_deny_vote_absent if _codes(fixture.without(fixture.voting, "/evidence/vote")) == _no_vote

_no_vote := {
	"transition_not_allowed", "approval_signature_invalid", "approval_reviewer_invalid",
	"approval_self_approved", "approval_vote_repeated", "approval_key_denied",
}

_no_contract := {
	"transition_not_allowed", "approval_contract_missing", "approval_contract_mismatch", "approval_signature_invalid",
	"approval_reviewer_invalid",
}

test_deny_decision_that_the_contract_does_not_list if {
	_codes_in(fixture.voting, fixture.put(
		fixture.bundles,
		"/triage/contracts/create_ticket/allowed_decisions",
		["rejected"],
	)) == {"transition_not_allowed"}
}

test_deny_contract_digest_alike_but_no_string if _misses_of_contract == set()

_misses_of_contract := {[value, got] |
	some value in fixture.no_string
	got := _codes_in(
		fixture.put(
			fixture.put(fixture.voting, "/state/approval/contract_digest", value),
			"/evidence/vote/contract_digest",
			value,
		),
		fixture.put(fixture.bundles, "/triage/contracts/create_ticket/contract_digest", value),
	)
	got != {"approval_contract_mismatch", "approval_signature_invalid"}
}

# A4 and B15: the requester, the principal and the agent do not vote, under any spelling.
test_deny_vote_by_a_party if _misses_of_party == set()

_misses_of_party := {[party, name, got] |
	some party, besides in {
		"/state/approval/requested_by": set(),
		"/state/approval/principal_id": set(),
		"/state/approval/agent_id": {"approval_binding_mismatch"},
	}
	some name in ["mira-manager", "MIRA-manager", "mira@example.com", " Mira@Example.com "]
	got := _codes(fixture.put(fixture.voting, party, name))
	got != {"approval_self_approved"} | besides
}

test_deny_vote_by_the_delegate if {
	every name in ["mira@example.com", " Mira@Example.com "] {
		_codes(fixture.put(fixture.voting, "/state/run/delegated_principal_id", name)) == {"approval_self_approved"}
	}
	every name in ["mira-manager", "MIRA-manager"] {
		_codes(fixture.put(fixture.voting, "/state/run/delegated_principal_id", name)) == {
			"approval_self_approved",
			"transition_not_by_human",
		}
	}
}

test_deny_vote_by_the_requester_with_another_party_absent if _misses_of_absent == set()

_misses_of_absent := {[absent, got] |
	some absent, besides in {"principal_id": set(), "agent_id": {"approval_binding_mismatch"}}
	asked := fixture.put(fixture.voting, "/state/approval/requested_by", "mira-manager")
	got := _codes(fixture.without(asked, concat("/", ["/state/approval", absent])))
	got != {"approval_self_approved"} | besides
}

# B15: the same human again, by the same id or another.
test_deny_vote_repeated if _misses_of_repeated == set()

_misses_of_repeated := {[second, got] |
	some second in [
		fixture.vote,
		object.union(fixture.vote, {"reviewer": "mira-second", "key_id": "mira-second-key"}),
	]
	got := _codes_in(
		fixture.put(_one_vote_in, "/evidence/vote", second),
		_quorum_of_two,
	)
	got != {"approval_vote_repeated"}
}

test_none_second_vote_by_another_human if _codes_in(_second_vote, _quorum_of_two) == set()

_rejecting := object.union(fixture.voting, {
	"request": {"transition": "reject"},
	"evidence": {"vote": {"decision": "rejected"}},
})

_one_vote_in := fixture.put(fixture.voting, "/state/approval/votes", [fixture.vote])

_second_vote := fixture.put(_one_vote_in, "/evidence/vote", fixture.noor)

_quorum_of_two := fixture.put(fixture.bundles, "/triage/contracts/create_ticket/quorum", 2)

_next(doc, bundles) := {status |
	status := transition.next_status with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_stops(doc, bundles) if {
	transition.stops_run with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f.code |
	some f in transition.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
