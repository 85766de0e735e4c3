package gate.approval_test

import data.gate.approval
import data.gate.approval.record
import data.gate.fixture_test as fixture

test_none_sound if _codes(fixture.ticket) == set()

test_none_reading_needs_none if {
	_codes(fixture.reading) == set()
	_flags(fixture.reading) == set()
}

# What a record says about an approval that the call does not need changes nothing, a rejection apart.
test_none_reading_whatever_the_record_says if _misses_of_reading == set()

test_deny_reading_that_was_rejected if {
	_codes(fixture.put(
		fixture.reading,
		"/state/approval",
		{"approval_id": "apr-1", "version": 1, "status": "rejected", "votes": []},
	)) == {"approval_rejected"}
}

_misses_of_reading := {[status, got] |
	some status in ["pending", "approved", "expired", "revoked", "consumed", "cancelled", "garbage"]
	record := {"approval_id": "apr-1", "version": 1, "status": status, "votes": [{}]}
	got := _codes(fixture.put(fixture.reading, "/state/approval", record))
	got != set()
}

test_none_other_operation if {
	_codes(fixture.voting) == set()
	_flags(fixture.voting) == set()
}

# Not a call: the operation itself is refused by the identity guard.
test_none_empty_document if {
	_codes({}) == set()
	_flags({}) == set()
}

test_require_context_broken if _misses_in(_owed_by_context) == set()

test_require_request_or_digest_broken if _misses_in(_owed_by_request) == set()

test_require_record_broken if _misses_in(_owed_by_record) == set()

test_require_binding_broken if _misses_in(_owed_by_binding) == set()

test_require_vote_broken if _misses_in(_owed_by_vote) == set()

test_deny_rejection_broken if _misses_in(_owed_by_rejection) == set()

test_require_party_broken if _misses_in(_owed_by_party) == set()

test_require_bound_to_another_principal_or_agent if _misses_of_bound == set()

_misses_of_bound := {[field, value, got] |
	some field in ["principal_id", "agent_id"]
	some value in ["another", "USER-42", "Triage-Agent"]
	got := _codes(fixture.put(fixture.ticket, concat("/", ["/state/approval", field]), value))
	got != {"approval_binding_mismatch"}
}

_misses_in(table) := {[path, what, got] |
	some path, owed in table
	some what, doc in fixture.broken(fixture.ticket, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed_by_context := {
	"/agent/environment": {"values": fixture.garbage, "codes": _unsigned},
	"/identity/tenant_id": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/identity/principal_id": {
		"values": fixture.no_text,
		"codes": {"approval_binding_mismatch", "approval_request_incomplete"},
	},
	"/trace/session_id": {
		"values": fixture.no_text,
		"codes": {"approval_binding_mismatch", "approval_request_incomplete"},
	},
	"/trace/trace_id": {"values": fixture.no_text, "codes": {"approval_request_incomplete"}},
	"/now_ms": {
		"values": fixture.no_number,
		"codes": ({"approval_expired", "approval_reviewer_invalid"} | _unsigned),
	},
}

_owed_by_request := {
	"/digests/action_digest": {
		"values": array.concat(fixture.garbage, ["sha256:intent"]),
		"codes": {"approval_digest_mismatch"},
	},
	"/request/idempotency_key": {"values": fixture.no_text, "codes": {"approval_request_incomplete"}},
	"/request/reason": {"values": fixture.no_text, "codes": {"approval_request_incomplete"}},
	"/digests/arguments": {"values": fixture.no_text, "codes": {"approval_request_incomplete"}},
}

_owed_by_record := {
	"/state": {"values": fixture.no_section, "codes": {"approval_rejected", "approval_missing"}},
	"/state/approval": {"values": fixture.no_section, "codes": {"approval_missing"}},
	"/state/approval/approval_id": {
		"values": fixture.no_string,
		"codes": {"approval_missing", "approval_signature_invalid", "approval_quorum_not_met"},
	},
	"/state/approval/version": {"values": fixture.no_number, "codes": {"approval_missing"}},
	"/state/approval/status": {
		"values": array.concat(fixture.garbage, ["APPROVED", "granted"]),
		"codes": {"approval_status_unknown"},
	},
	"/state/approval/nonce": {"values": fixture.garbage, "codes": _unsigned},
	"/state/approval/action_digest": {"values": fixture.garbage, "codes": ({"approval_digest_mismatch"} | _unsigned)},
	"/state/approval/contract_digest": {"values": fixture.garbage, "codes": {"approval_contract_mismatch"}},
	# The votes carry their own expiry.
	"/state/approval/expires_at_ms": {"values": fixture.no_number, "codes": {"approval_expired"}},
}

# null says that nobody rejected, and only null does, in both fields.
_owed_by_rejection := {
	"/state/rejection": {"values": fixture.no_section, "codes": {"approval_rejected"}},
	"/state/rejection/approval_id": {
		"values": array.slice(fixture.garbage, 1, count(fixture.garbage)),
		"codes": {"approval_rejected"},
	},
	"/state/rejection/intent_digest": {
		"values": array.concat(array.slice(fixture.garbage, 1, count(fixture.garbage)), ["sha256:intent"]),
		"codes": {"approval_rejected"},
	},
}

# Whoever may be party to the action must be stated, or any vote may be his own.
_owed_by_party := {
	"/state/approval/requested_by": {"values": fixture.no_text, "codes": _self_approved},
	"/state/approval/principal_id": {
		"values": fixture.no_text,
		"codes": ({"approval_binding_mismatch"} | _self_approved),
	},
	"/state/approval/agent_id": {
		"values": fixture.no_text,
		"codes": ({"approval_binding_mismatch"} | _self_approved),
	},
	"/state/run": {"values": fixture.no_section, "codes": _self_approved},
	"/state/run/authorization_mode": {"values": fixture.garbage, "codes": _self_approved},
	"/state/run/delegated_principal_id": {"values": fixture.no_text, "codes": _self_approved},
}

_self_approved := {"approval_self_approved", "approval_quorum_not_met"}

_owed_by_binding := {
	"/state/approval/tenant_id": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/state/approval/session_id": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/state/approval/capability": {
		"values": array.concat(fixture.garbage, ["search_docs"]),
		"codes": {"approval_binding_mismatch"},
	},
	"/state/approval/bundle_version": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/state/approval/release_identity": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
}

_owed_by_vote := {
	"/state/approval/votes/0/verified": {"values": fixture.no_true, "codes": _unsigned},
	"/state/approval/votes/0/decision": {
		"values": array.concat(fixture.garbage, ["rejected", "APPROVED"]),
		"codes": {"approval_rejected", "approval_quorum_not_met"},
	},
	"/state/approval/votes/0/key_id": {
		"values": fixture.garbage,
		"codes": {"approval_reviewer_invalid", "approval_quorum_not_met"},
	},
	"/state/approval/votes/0/reviewer": {
		"values": fixture.no_string,
		"codes": {"approval_reviewer_invalid", "approval_self_approved", "approval_quorum_not_met"},
	},
}

_unsigned := {"approval_signature_invalid", "approval_quorum_not_met"}

test_require_votes_broken if _misses_of_votes == set()

_misses_of_votes := {[what, got] |
	some what, codes in {
		"[]": {"approval_quorum_not_met"},
		"null": _no_votes,
		"true": _no_votes,
		"{}": _no_votes,
		"\"garbage\"": _no_votes,
		"[null]": _no_votes - {"approval_key_denied"},
		"[{}]": _no_votes - {"approval_key_denied"},
		"[\"approved\"]": _no_votes - {"approval_key_denied"},
		"[[]]": _no_votes - {"approval_key_denied"},
	}
	got := _codes(fixture.put(fixture.ticket, "/state/approval/votes", json.unmarshal(what)))
	got != codes
}

test_require_votes_absent if _codes(fixture.without(fixture.ticket, "/state/approval/votes")) == _no_votes

_no_votes := {
	"approval_rejected", "approval_signature_invalid", "approval_reviewer_invalid", "approval_self_approved",
	"approval_quorum_not_met", "approval_key_denied",
}

test_deny_contract_broken if _misses_of_contract == set()

_misses_of_contract := {[path, what, got] |
	some path, owed in {
		"": {"values": fixture.no_section, "codes": ({
			"approval_contract_missing", "approval_contract_mismatch",
			"approval_reviewer_invalid",
		} | _unsigned)},
		"/contract_digest": {
			"values": fixture.no_string,
			"codes": ({"approval_contract_missing", "approval_contract_mismatch"} | _unsigned),
		},
		"/quorum": {
			"values": [null, true, false, 0, -1, 0.5, 2, "", "1", [], [1], {}],
			"codes": {"approval_quorum_not_met"},
		},
		"/request_fields": {
			"values": [null, true, 5, "", "garbage", {}, ["unheard_of"], ["trace_id", 5]],
			"codes": {"approval_request_incomplete"},
		},
	}
	some what, bundles in fixture.broken(
		fixture.bundles,
		concat("", ["/triage/contracts/create_ticket", path]),
		owed.values,
	)
	got := _codes_in(fixture.ticket, bundles)
	got != owed.codes
}

# A contract that lets nobody wait: without a live approval there is nothing to ask for.
test_deny_pause_not_allowed if _misses_of_pause == set()

_misses_of_pause := {[what, got] |
	some what, bundles in fixture.broken(
		fixture.bundles,
		"/triage/contracts/create_ticket/runtime_controls/pause_allowed",
		fixture.no_true,
	)
	got := [
		_codes_in(fixture.ticket, bundles),
		_findings_in(fixture.put(fixture.ticket, "/state/approval", null), bundles),
	]
	got != [set(), {["approval_pause_not_allowed", "deny"], ["approval_missing", "require_approval"]}]
}

test_deny_pause_not_allowed_and_expired if {
	bundles := fixture.put(
		fixture.bundles,
		"/triage/contracts/create_ticket/runtime_controls/pause_allowed",
		false,
	)
	_codes_in(fixture.put(fixture.ticket, "/state/approval/expires_at_ms", 50000), bundles) == {
		"approval_pause_not_allowed",
		"approval_expired",
	}
}

# What is not known to need no approval needs one.
test_deny_catalog_does_not_say_that_none_is_needed if _misses_of_need == set()

_misses_of_need := {[path, what, got] |
	some path, values in {
		"/triage/catalog/search_docs/approval": array.concat(fixture.garbage, ["manager"]),
		"/triage/catalog/search_docs/risk_tier": array.concat(fixture.garbage, ["critical"]),
	}
	some what, bundles in fixture.broken(fixture.bundles, path, values)
	got := _codes_in(fixture.reading, bundles)
	got != {"approval_contract_missing", "approval_missing"}
}

test_deny_policy_does_not_say_that_none_is_needed if _misses_of_decision == set()

_misses_of_decision := {[path, what, got] |
	some path, values in {
		"/triage/decisions": fixture.no_section,
		"/triage/decisions/search_docs": array.concat(fixture.garbage, ["ALLOW", "approval_required"]),
	}
	some what, bundles in fixture.broken(fixture.bundles, path, values)
	got := _codes_in(fixture.reading, bundles)
	got != {"approval_contract_missing", "approval_missing"}
}

# A contract by itself asks for nothing; policy, catalog and controls do.
test_none_contract_of_a_capability_that_needs_none if {
	contracted := fixture.put(
		fixture.bundles,
		"/triage/contracts/search_docs",
		fixture.bundles.triage.contracts.create_ticket,
	)
	waiting := "/triage/contracts/search_docs/runtime_controls/pause_allowed"
	_codes_in(fixture.reading, contracted) == set()
	_codes_in(fixture.reading, fixture.put(contracted, waiting, false)) == set()
	_flags_in(fixture.reading, contracted) == set()
}

test_none_refused_capability_asks_for_no_approval if {
	_codes_in(fixture.reading, fixture.put(fixture.bundles, "/triage/decisions/search_docs", "deny")) == set()
}

test_require_capability_that_says_none_under_a_policy_that_asks if {
	bundles := fixture.put(
		fixture.put(
			fixture.bundles,
			"/triage/contracts/search_docs",
			object.union(fixture.bundles.triage.contracts.create_ticket, {"request_fields": []}),
		),
		"/triage/decisions/search_docs",
		"approval_required",
	)
	_codes_in(fixture.reading, bundles) == {"approval_missing"}
}

test_flags_of_a_sound_call if _flags(fixture.ticket) == {"needed"}

test_flags_of_an_expired_approval if _flags(_in_status("expired")) == {"needed", "ends_run"}

# What needs no approval ends no run over one that ran out: not a replay, not a reading call under the same digest.
test_flags_of_an_expired_approval_that_is_not_needed if {
	committed := {"status": "side_effect_committed", "idempotency_key": "key-1", "action_digest": "sha256:action"}
	_flags(fixture.put(_in_status("expired"), "/state/side_effect", committed)) == set()
	expired := object.union(
		fixture.ticket.state.approval,
		{"status": "expired", "capability": "search_docs", "contract_digest": "sha256:contract"},
	)
	_flags_in(
		fixture.put(fixture.reading, "/state/approval", expired),
		fixture.put(fixture.bundles, "/triage/contracts/search_docs", {"contract_digest": "sha256:contract"}),
	) == set()
}

# A run ends only for its own approval: bound to it in every field, for this action, under this contract.
test_flags_of_an_expired_approval_of_another if _misses_of_another == set()

_misses_of_another := {[path, what, got] |
	some path in [
		"/state/approval/tenant_id", "/state/approval/principal_id", "/state/approval/session_id",
		"/state/approval/agent_id", "/state/approval/capability", "/state/approval/bundle_version",
		"/state/approval/release_identity", "/state/approval/action_digest", "/state/approval/contract_digest",
	]
	some what, doc in fixture.broken(_in_status("expired"), path, fixture.garbage)
	got := _flags(doc)
	got != {"needed"}
}

_flags(doc) := _flags_in(doc, fixture.bundles)

_flags_in(doc, bundles) := flags if {
	flags := _all_flags with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_all_flags := union({
	{"needed" | approval.needed},
	{"ends_run" | record.ends_run_on_expiry},
})

_in_status(status) := fixture.put(fixture.ticket, "/state/approval/status", status)

_with_votes(list) := fixture.put(fixture.ticket, "/state/approval/votes", list)

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f[0] | some f in _findings_in(doc, bundles)}

_findings(doc) := _findings_in(doc, fixture.bundles)

_findings_in(doc, bundles) := {[f.code, f.verdict] |
	some f in approval.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
