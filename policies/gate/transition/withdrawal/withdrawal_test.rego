package gate.transition.withdrawal_test

import data.gate.fixture_test as fixture
import data.gate.transition
import data.gate.transition.withdrawal

test_none_sound_revoking if _codes(_revoking) == set()

test_none_sound_cancelling if _codes(_cancelling) == set()

test_none_sound_taking_back if _codes_in(_taking_back, _requester_may) == set()

test_none_other_operation if _codes(fixture.ticket) == set()

test_none_empty_document if _codes({}) == set()

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(_revoking, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/state/approval/status": {
		"values": array.concat(fixture.garbage, ["pending", "rejected", "expired", "revoked", "cancelled"]),
		"codes": {"transition_not_allowed"},
	},
	"/state/approval/version": {"values": fixture.no_number, "codes": {"transition_not_allowed"}},
	"/state/approval/expires_at_ms": {
		"values": array.concat(fixture.no_number, [49999, 50000]),
		"codes": {"approval_expired"},
	},
	"/state/approval/tenant_id": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/state/approval/run_id": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/state/approval/agent_id": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/state/approval/contract_digest": {"values": fixture.garbage, "codes": {"approval_signature_invalid"}},
	"/state/approval/action_digest": {"values": fixture.garbage, "codes": {"approval_signature_invalid"}},
	"/state/approval/nonce": {"values": fixture.garbage, "codes": {"approval_signature_invalid"}},
	"/state/approval/denied_keys": {
		"values": [null, true, 17, "garbage", {}, ["mira-key"], ["other-key", "mira-key"]],
		"codes": {"approval_key_denied"},
	},
	"/evidence/vote/verified": {"values": fixture.no_true, "codes": {"approval_signature_invalid"}},
	"/evidence/vote/decision": {
		"values": array.concat(fixture.garbage, ["approved", "rejected", "cancelled"]),
		"codes": {"approval_signature_invalid"},
	},
	"/evidence/vote/reviewer": {"values": fixture.garbage, "codes": {"approval_reviewer_invalid"}},
	"/evidence/vote/key_id": {"values": array.concat(fixture.garbage, ["noor-key"]), "codes": {"approval_reviewer_invalid"}},
	"/now_ms": {
		"values": fixture.no_number,
		"codes": {"approval_expired", "approval_signature_invalid", "approval_reviewer_invalid"},
	},
}

test_deny_vote_absent if {
	_codes(fixture.without(_revoking, "/evidence/vote")) == {
		"approval_signature_invalid", "approval_reviewer_invalid", "approval_key_denied",
	}
}

test_deny_vote_is_no_object if _misses_of_vote == set()

_misses_of_vote := {[value, got] |
	some value in [null, true, 17, "", "garbage", [], ["garbage"], {}]
	got := _codes(fixture.put(_revoking, "/evidence/vote", value))
	got != {"approval_signature_invalid", "approval_reviewer_invalid"}
}

test_deny_cancelling_what_is_not_pending if _misses_of_cancelling == set()

_misses_of_cancelling := {[status, got] |
	some status in ["approved", "rejected", "expired", "revoked", "consumed", "cancelled", "garbage"]
	got := _codes(fixture.put(_cancelling, "/state/approval/status", status))
	got != {"transition_not_allowed"}
}

# Whoever is a party may take authority away: it helps him nothing.
test_none_revoked_by_a_party if {
	_codes(fixture.put(_revoking, "/state/approval/requested_by", "mira-manager")) == set()
}

test_deny_reviewer_without_the_role if {
	otto := object.union(_revoking, {"evidence": {"vote": {"reviewer": "otto-auditor", "key_id": "otto-key"}}})
	_codes(otto) == {"approval_reviewer_invalid"}
	_codes_in(otto, _auditors_withdraw) == set()
	_codes_in(_revoking, _auditors_withdraw) == {"approval_reviewer_invalid"}
}

# A later release, or none, does not keep an old approval alive.
test_none_revoked_under_another_release if {
	bundles := fixture.put(fixture.bundles, "/triage/contracts/create_ticket/contract_digest", "sha256:next")
	_codes_in(_revoking, fixture.put(bundles, "/triage/bundle/version", "2026.05.01")) == set()
}

test_deny_without_a_contract if {
	_codes_in(_revoking, fixture.without(fixture.bundles, "/triage/contracts/create_ticket")) == {"approval_reviewer_invalid"}
}

# What a claim has consumed is taken back while the claim's tool has not started, whatever is left of the approval.
test_none_sound_recalling if {
	_codes(_recalling) == set()
	_codes(fixture.put(_recalling, "/state/approval/expires_at_ms", 1)) == set()
	_codes(fixture.put(_recalling, "/state/approval/undispatched", 2)) == set()
	_next(_recalling) == "revoked"
}

test_deny_recalling if _misses_of_recalling == set()

_misses_of_recalling := {[path, what, got] |
	some path, owed in _owed_recalling
	some what, doc in fixture.broken(_recalling, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed_recalling := {
	"/state/approval/undispatched": {"values": array.concat(fixture.no_number, [0, -1]), "codes": {"approval_call_started"}},
	"/state/approval/version": {"values": fixture.no_number, "codes": {"transition_not_allowed"}},
	"/evidence/vote/verified": {"values": fixture.no_true, "codes": {"approval_signature_invalid"}},
	"/now_ms": {"values": fixture.no_number, "codes": {"approval_signature_invalid", "approval_reviewer_invalid"}},
}

test_deny_cancelling_what_is_consumed if {
	cancelling := fixture.put(_cancelling, "/state/approval/undispatched", 1)
	_codes(fixture.put(cancelling, "/state/approval/status", "consumed")) == {"transition_not_allowed"}
}

# Who asked and is listed signs it himself, without a role, where the contract lets him.
test_none_cancelled_by_who_asked if {
	_codes_in(_asker_cancelling, _requester_listed) == set()
	_by_human(_asker_cancelling, _requester_listed) == set()
}

test_deny_cancelled_by_who_asked if _misses_of_asker == set()

_misses_of_asker := {[name, got] |
	some name, sent in {
		"contract_silent": [_asker_cancelling, fixture.put(_requester_listed, _may_path, null)],
		"not_a_word": [_asker_cancelling, fixture.put(_requester_listed, _may_path, "true")],
		"not_listed": [_asker_cancelling, _requester_may],
		"somebody_else_asked": [
			fixture.put(_asker_cancelling, "/state/approval/requested_by", "user-43"),
			_requester_listed,
		],
		"who_asked_is_not_stated": [fixture.without(_asker_cancelling, "/state/approval/requested_by"), _requester_listed],
		"another_key": [fixture.put(_asker_cancelling, "/evidence/vote/key_id", "noor-key"), _requester_listed],
	}
	got := _codes_in(sent[0], sent[1])
	got != {"approval_reviewer_invalid"}
}

test_deny_cancelled_by_who_asked_without_a_signature if {
	unsigned := fixture.put(_asker_cancelling, "/evidence/vote/verified", false)
	_codes_in(unsigned, _requester_listed) == {"approval_signature_invalid"}
}

test_deny_revoked_by_who_asked if {
	approved := fixture.put(_asker_cancelling, "/state/approval/status", "approved")
	vote := fixture.put(approved, "/evidence/vote/decision", "revoked")
	_codes_in(fixture.put(vote, "/request/transition", "revoke"), _requester_listed) == {"approval_reviewer_invalid"}
}

# Who asked takes the request back only where the contract says so, only his own, and never an approval.
test_deny_taken_back if _misses_of_taken_back == set()

_misses_of_taken_back := {[name, got] |
	some name, sent in {
		"contract_silent": [_taking_back, fixture.bundles],
		"not_a_word": [_taking_back, fixture.put(_requester_may, _may_path, "true")],
		"somebody_else": [fixture.put(_taking_back, "/identity/principal_id", "user-43"), _requester_may],
		"other_spelling": [fixture.put(_taking_back, "/identity/principal_id", "USER-42"), _requester_may],
		"other_tenant": [fixture.put(_taking_back, "/state/approval/tenant_id", "tenant-other"), _requester_may],
		"nobody": [
			fixture.put(fixture.put(_taking_back, "/identity/principal_id", ""), "/state/approval/requested_by", ""),
			_requester_may,
		],
		"an_approval": [fixture.put(_taking_back, "/request/transition", "revoke"), _requester_may],
		"vote_absent": [fixture.without(_taking_back, "/evidence/vote"), _requester_may],
	}
	got := _codes_in(sent[0], sent[1])
	count(got & {"approval_signature_invalid", "approval_reviewer_invalid"}) != 2
}

test_by_human_needed_unless_the_requester if {
	_by_human(_revoking, fixture.bundles) == set()
	_by_human(fixture.put(_revoking, "/identity/authorization_mode", "platform_owned"), fixture.bundles) == {"transition_not_by_human"}
	_by_human(_taking_back, _requester_may) == set()
	_by_human(_taking_back, fixture.bundles) == {"transition_not_by_human"}
}

test_next_status if {
	_next(_revoking) == "revoked"
	_next(_cancelling) == "cancelled"
}

_by_human(doc, bundles) := {f.code |
	some f in transition.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_next(doc) := status if {
	status := transition.next_status with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}

_revoking := object.union(fixture.voting, {
	"request": {"transition": "revoke"},
	"state": {"approval": {"status": "approved", "votes": [fixture.noor]}},
	"evidence": {"vote": {"decision": "revoked"}},
})

_recalling := object.union(_revoking, {"state": {"approval": {"status": "consumed", "undispatched": 1}}})

_asker_cancelling := object.union(_cancelling, {
	"identity": {"principal_id": "user-42"},
	"evidence": {"vote": {"reviewer": "user-42", "key_id": "user-42-key"}},
})

_requester_listed := object.union(_requester_may, {"triage": {"reviewers": {"user-42": {
	"human": "Uma Ferreira",
	"roles": ["requester"],
	"keys": {"user-42-key": {"public_key": "", "not_before_ms": 0, "not_after_ms": 99999999}},
}}}})

_cancelling := object.union(fixture.voting, {
	"request": {"transition": "cancel"},
	"evidence": {"vote": {"decision": "cancelled"}},
})

_taking_back := object.union(fixture.voting, {
	"request": {"transition": "cancel"},
	"identity": {"principal_id": "user-42", "authorization_mode": "user_delegated"},
	"evidence": {"vote": null},
})

_may_path := "/triage/contracts/create_ticket/requester_may_cancel"

_requester_may := fixture.put(fixture.bundles, _may_path, true)

_auditors_withdraw := fixture.put(fixture.bundles, "/triage/contracts/create_ticket/withdrawal_roles", ["auditor"])

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f.code |
	some f in withdrawal.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
