package gate.approval.standing_test

import data.gate.approval
import data.gate.approval.standing
import data.gate.fixture_test as fixture

test_none_sound_second_use if _codes(_second, _bundles) == set()

test_none_sound_first_use if _codes(object.union(_second, {"state": {"approval": {"uses": 0}}}), _bundles) == set()

test_none_last_use_but_one_more if _codes(fixture.put(_second, "/state/approval/uses", 2), _bundles) == set()

# A contract that says nothing of standing lets nothing stand, whatever the record says.
test_require_without_the_contract if {
	_codes(_second, fixture.bundles) == {
		"approval_digest_mismatch", "approval_signature_invalid", "approval_quorum_not_met",
	}
}

test_require_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in {
		"/digests/standing_digest": {"values": fixture.garbage, "codes": {"approval_digest_mismatch"}},
		"/state/approval/standing_digest": {
			"values": fixture.garbage,
			"codes": {"approval_digest_mismatch", "approval_signature_invalid", "approval_quorum_not_met"},
		},
		"/state/approval/votes/0/standing_digest": {
			"values": fixture.garbage,
			"codes": {"approval_signature_invalid", "approval_quorum_not_met"},
		},
		"/state/approval/uses": {
			"values": array.concat(fixture.no_number, [-1, 3, 4]),
			"codes": {"approval_consumed"},
		},
	}
	some what, doc in fixture.broken(_second, path, owed.values)
	got := _codes(doc, _bundles)
	got != owed.codes
}

# Terms that say nothing usable let nothing stand and leave no use.
test_require_terms_broken if _misses_of_terms == set()

_misses_of_terms := {[what, got] |
	some what, bundles in fixture.broken(_bundles, "/triage/contracts/create_ticket/standing/max_uses", fixture.no_number)
	got := _codes(_second, bundles)
	got != {
		"approval_digest_mismatch", "approval_signature_invalid", "approval_quorum_not_met",
		"approval_consumed",
	}
}

# Never for another tenant or principal; for another session only where the scope says so.
test_require_for_somebody_else if _misses_of_binding == set()

_misses_of_binding := {[path, scope, got] |
	some path in ["/state/approval/tenant_id", "/state/approval/principal_id", "/state/approval/session_id"]
	some scope in ["session", "principal", "tenant", null]
	bundles := fixture.put(_bundles, "/triage/contracts/create_ticket/standing/scope", scope)
	got := _codes(fixture.put(_second, path, "another"), bundles)
	got != _owed_by_binding(path, scope)
}

_owed_by_binding(path, scope) := set() if {
	path == "/state/approval/session_id"
	scope == "principal"
} else := {"approval_binding_mismatch"}

# An explicit rejection of the intent beats it.
test_deny_rejected if {
	_codes(fixture.put(_second, "/state/rejection/approval_id", "apr-0"), _bundles) == {"approval_rejected"}
}

test_require_expired if {
	_codes(fixture.put(_second, "/state/approval/expires_at_ms", 50000), _bundles) == {"approval_expired"}
}

test_none_empty_document if not standing.covers with input as {}

_second := object.union(fixture.ticket, {
	"digests": {"action_digest": "sha256:second-action", "standing_digest": "sha256:stands"},
	"request": {"idempotency_key": "key-2"},
	"state": {"approval": {
		"standing_digest": "sha256:stands",
		"uses": 1,
		"votes": [object.union(fixture.vote, {"standing_digest": "sha256:stands"})],
	}},
})

_bundles := fixture.put(
	fixture.put(
		fixture.bundles, "/triage/contracts/create_ticket/standing",
		{"max_uses": 3, "valid_seconds": 3600, "scope": "session", "free_arguments": []},
	),
	"/triage/contracts/create_ticket/runtime_controls/on_expiry", "request_again",
)

_codes(doc, bundles) := {f.code |
	some f in approval.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
