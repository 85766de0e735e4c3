package gate.approval.delegated_test

import data.gate.approval.delegated
import data.gate.fixture_test as fixture

test_none_sound if _codes(fixture.ticket, _bundles) == set()

test_none_empty_document if _codes({}, _bundles) == set()

test_none_reading if _codes(fixture.reading, _bundles) == set()

test_none_bundle_without_defaults if _codes(fixture.ticket, fixture.bundles) == set()

test_deny_binding_broken if _misses_of_binding == set()

_misses_of_binding := {[path, what, got] |
	some path in ["/identity/principal_id", "/identity/delegated_principal_id"]
	some what, doc in fixture.broken(fixture.ticket, path, array.concat(fixture.garbage, ["USER-42", "user-43"]))
	got := _codes(doc, fixture.bundles)
	got != {["delegated_principal_unbound", "deny"]}
}

# Only a bundle that says so lets another user's delegation be used.
test_binding_waived_by_false_alone if _misses_of_waiver == set()

_misses_of_waiver := {[value, got] |
	some value in [null, true, 0, "false", [], {}]
	bundles := fixture.put(_bundles, "/triage/approval_policy/require_principal_binding", value)
	got := _codes(_for_another, bundles)
	got != {["delegated_principal_unbound", "deny"]}
}

test_none_binding_waived if {
	_codes(_for_another, fixture.put(_bundles, "/triage/approval_policy/require_principal_binding", false)) == set()
}

test_none_call_of_its_own if _misses_of_own == set()

_misses_of_own := {[mode, got] |
	some mode in ["platform_owned", "human_approved"]
	got := _codes(fixture.put(_for_another, "/identity/authorization_mode", mode), _needing_auditor)
	got != set()
}

test_deny_mode_broken if _misses_of_mode == set()

_misses_of_mode := {[what, got] |
	some what, doc in fixture.broken(_for_another, "/identity/authorization_mode", fixture.garbage)
	got := _codes(doc, _needing_auditor)
	got != {["delegated_principal_unbound", "deny"], ["delegation_reviewer_missing", "require_approval"]}
}

test_ask_no_reviewer_with_the_role if {
	_codes(fixture.ticket, _needing_auditor) == {["delegation_reviewer_missing", "require_approval"]}
}

test_none_reviewer_has_the_role_too if _codes(fixture.ticket, _mira_audits) == set()

# What does not count as an approving signature does not count here. Noor, who has not the role, has signed as well.
test_ask_vote_of_the_role_broken if _misses_of_votes == set()

_misses_of_votes := {[path, what, got] |
	some path, values in {
		"/state/approval/votes/0/verified": fixture.no_true,
		"/state/approval/votes/0/decision": array.concat(fixture.garbage, ["rejected"]),
		"/state/approval/votes/0/reviewer": array.concat(fixture.garbage, ["noor-manager"]),
		"/state/approval/votes/0/key_id": fixture.garbage,
	}
	some what, doc in fixture.broken(_signed_by_two, path, values)
	got := _codes(doc, _mira_audits)
	got != {["delegation_reviewer_missing", "require_approval"]}
}

_signed_by_two := fixture.put(fixture.ticket, "/state/approval/votes", [fixture.vote, fixture.noor])

test_none_signed_by_two if _codes(_signed_by_two, _mira_audits) == set()

# Too few signatures altogether: the approval guard says so.
test_none_quorum_not_met if {
	_codes(fixture.put(fixture.ticket, "/state/approval/votes", []), _needing_auditor) == set()
	_codes(fixture.ticket, fixture.put(_needing_auditor, "/triage/contracts/create_ticket/quorum", 2)) == set()
}

test_ask_quorum_broken if _misses_of_quorum == set()

_misses_of_quorum := {[what, got] |
	some what, bundles in fixture.broken(_needing_auditor, "/triage/contracts/create_ticket/quorum", fixture.no_number)
	got := _codes(fixture.ticket, bundles)
	got != {["delegation_reviewer_missing", "require_approval"]}
}

test_ask_status_broken if _misses_of_status == set()

_misses_of_status := {[what, got] |
	some what, doc in fixture.broken(fixture.ticket, "/state/approval/status", fixture.garbage)
	got := _codes(doc, _needing_auditor)
	got != {["delegation_reviewer_missing", "require_approval"]}
}

# Where nothing claims to be approved, the approval guard asks.
test_none_nothing_claimed if {
	_codes(fixture.put(fixture.ticket, "/state/approval", null), _needing_auditor) == set()
	_unclaimed == set()
}

_unclaimed := {[status, got] |
	some status in ["pending", "rejected", "expired", "revoked", "consumed", "cancelled"]
	got := _codes(fixture.put(fixture.ticket, "/state/approval/status", status), _needing_auditor)
	got != set()
}

test_deny_deciding_vote_without_the_role if {
	_codes(fixture.voting, _needing_auditor) == {["delegation_reviewer_missing", "deny"]}
	_codes(fixture.voting, _mira_audits) == set()
	_codes(fixture.voting, fixture.bundles) == set()
}

test_none_vote_that_decides_nothing if {
	_codes(fixture.put(fixture.voting, "/request/transition", "reject"), _needing_auditor) == set()
	_codes(fixture.voting, fixture.put(_needing_auditor, "/triage/contracts/create_ticket/quorum", 2)) == set()
}

test_none_earlier_vote_has_the_role if {
	doc := fixture.put(fixture.put(fixture.voting, "/state/approval/votes", [fixture.vote]), "/evidence/vote", fixture.noor)
	_codes(doc, fixture.put(_mira_audits, "/triage/contracts/create_ticket/quorum", 2)) == set()
}

test_none_vote_on_a_run_of_its_own if _misses_of_runs == set()

_misses_of_runs := {[mode, got] |
	some mode in ["platform_owned", "human_approved"]
	got := _codes(fixture.put(fixture.voting, "/state/run/authorization_mode", mode), _needing_auditor)
	got != set()
}

test_deny_vote_on_a_run_of_unknown_mode if _misses_of_run_modes == set()

_misses_of_run_modes := {[what, got] |
	some what, doc in fixture.broken(fixture.voting, "/state/run/authorization_mode", fixture.garbage)
	got := _codes(doc, _needing_auditor)
	got != {["delegation_reviewer_missing", "deny"]}
}

_for_another := fixture.put(fixture.ticket, "/identity/delegated_principal_id", "user-43")

_bundles := fixture.put(fixture.bundles, "/triage/approval_policy", {"require_principal_binding": true})

_needing_auditor := fixture.put(_bundles, "/triage/approval_policy/delegation_reviewer", "auditor")

_mira_audits := fixture.put(_needing_auditor, "/triage/reviewers/mira-manager/roles", ["manager", "auditor"])

_codes(doc, bundles) := {[f.code, f.verdict] | some f in found} if {
	found := delegated.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

# Only a vote that approves needs the role; time, and whoever takes an approval back, do not.
test_none_transition_that_approves_nothing if _misses_of_other_moves == set()

_misses_of_other_moves := {[word, got] |
	some word in ["reject", "delegate", "cancel", "revoke", "expire", "escalate"]
	got := _codes(fixture.put(fixture.voting, "/request/transition", word), _needing_auditor)
	got != set()
}

# The short way passes such a call by; its rules say the same of it.
test_none_found_in_a_call_in_nobodys_name if _found_in_own_calls == set()

_found_in_own_calls := found if {
	found := delegated.findings with input as fixture.put(fixture.ticket, "/identity/authorization_mode", "platform_owned")
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as _needing_auditor
}
