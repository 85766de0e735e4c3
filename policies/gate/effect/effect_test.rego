package gate.effect_test

import data.gate.effect
import data.gate.fixture_test as fixture

test_none_sound if _codes(fixture.ticket) == set()

test_none_reading_claims_nothing if _codes(fixture.reading) == set()

test_none_reading_whatever_the_ledger_says if _misses_of_reading == set()

_misses_of_reading := {[status, got] |
	some status in [
		"not_started", "in_flight", "side_effect_unknown", "partial_side_effect",
		"side_effect_committed", "failed_before_effect", "garbage",
	]
	got := _codes(object.union(fixture.reading, {"state": {
		"side_effect": {"status": status, "lease_expires_at_ms": 60000},
		"idempotency": {"action_digest": "sha256:other"},
	}}))
	got != set()
}

test_none_other_operation if _codes(fixture.reconciling) == set()

# Not a call: the operation itself is refused by the identity guard.
test_none_empty_document if _codes({}) == set()

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(fixture.ticket, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/state": {"values": fixture.no_section, "codes": {"side_effect_state_missing", "idempotency_conflict"}},
	"/state/side_effect": {"values": fixture.no_section, "codes": {"side_effect_state_missing"}},
	"/state/side_effect/status": {
		"values": array.concat(fixture.garbage, ["NOT_STARTED", "committed", "not_executed"]),
		"codes": {"side_effect_state_missing"},
	},
	"/state/idempotency": {"values": fixture.no_section, "codes": {"idempotency_conflict"}},
	# null says that the key is unused, and only null does, on both sides.
	"/state/idempotency/action_digest": {
		"values": array.concat(array.slice(fixture.garbage, 1, count(fixture.garbage)), ["sha256:other", "sha256:action"]),
		"codes": {"idempotency_conflict"},
	},
	"/state/idempotency/idempotency_key": {
		"values": array.concat(array.slice(fixture.garbage, 1, count(fixture.garbage)), ["key-1"]),
		"codes": {"idempotency_conflict"},
	},
}

test_none_failed_before_the_effect if _codes(_in_state({"status": "failed_before_effect"})) == set()

_used := fixture.put(
	fixture.ticket,
	"/state/idempotency",
	{"idempotency_key": "key-1", "action_digest": "sha256:action"},
)

test_none_key_used_for_this_action if _codes(_used) == set()

test_deny_key_used_but_a_side_broken if _misses_of_key == set()

_misses_of_key := {[path, what, got] |
	some path, another in {
		"/digests": fixture.no_section,
		"/digests/action_digest": ["sha256:other"],
		"/request/idempotency_key": ["key-2"],
		"/state/idempotency/action_digest": ["sha256:other"],
		"/state/idempotency/idempotency_key": ["key-2"],
	}
	some what, doc in fixture.broken(_used, path, array.concat(fixture.garbage, another))
	got := _codes(doc)
	got != {"idempotency_conflict"}
}

test_deny_key_and_digest_alike_but_no_string if _misses_of_alike == set()

_misses_of_alike := {[there, here, value, got] |
	some there, here in {
		"/state/idempotency/action_digest": "/digests/action_digest",
		"/state/idempotency/idempotency_key": "/request/idempotency_key",
	}
	some value in [null, true, false, 0, [], {}]
	got := _codes(fixture.put(fixture.put(_used, there, value), here, value))
	got != {"idempotency_conflict"}
}

# C1: after a timeout the effect is unknown; a fresh call id and key change nothing, because the row is the business key's.
test_blocked_unknown_effect_under_a_fresh_key if {
	_codes(fixture.put(
		_in_state({"status": "side_effect_unknown", "idempotency_key": "key-1", "action_digest": "sha256:first"}),
		"/request/idempotency_key",
		"key-2",
	)) == {"unknown_side_effect"}
}

test_blocked_partial_effect if _codes(_in_state({"status": "partial_side_effect"})) == {"partial_side_effect"}

test_blocked_in_flight_before_its_lease if {
	_codes(_in_state({"status": "in_flight", "lease_expires_at_ms": 50001})) == {"effect_in_flight"}
}

test_blocked_in_flight_at_its_lease_is_unknown if {
	_codes(_in_state({"status": "in_flight", "lease_expires_at_ms": 50000})) == {"unknown_side_effect"}
}

# B5: killed between the claim and the settlement.
test_blocked_in_flight_after_its_lease_is_unknown if {
	_codes(_in_state({"status": "in_flight", "lease_expires_at_ms": 49999})) == {"unknown_side_effect"}
}

test_blocked_in_flight_time_or_lease_broken if _misses_of_lease == set()

_misses_of_lease := {[path, what, got] |
	some path in ["/state/side_effect/lease_expires_at_ms", "/now_ms"]
	late := _in_state({"status": "in_flight", "lease_expires_at_ms": 1})
	some what, doc in fixture.broken(late, path, fixture.no_number)
	got := _codes(doc)
	got != {"effect_in_flight"}
}

# Only a claim has a lease; what is left of one in another state says nothing.
test_none_old_lease_of_no_claim if {
	_codes(_in_state({"status": "not_started", "lease_expires_at_ms": 1})) == set()
	_codes(_in_state({"status": "failed_before_effect", "lease_expires_at_ms": 1})) == set()
}

# What is not in the catalog is refused for that alone, and claims nothing.
test_none_whatever_the_ledger_says_of_no_capability if _misses_of_unknown == set()

_misses_of_unknown := {[name, what, got] |
	some name in ["run_shell", "unheard_of"]
	some what, doc in fixture.broken(fixture.ticket, "/state/side_effect", fixture.no_section)
	got := [_codes(fixture.put(doc, "/request/capability", name)), _guarded(fixture.put(doc, "/request/capability", name))]
	got != [set(), false]
}

test_guarded_is_every_call_that_must_be_claimed if {
	_guarded(fixture.ticket) == true
	_guarded(fixture.reading) == false
	_guarded(fixture.reconciling) == false
	_guarded({}) == false
}

test_none_no_replay_of_a_reading_call if {
	_replays(object.union(fixture.reading, {
		"request": {"idempotency_key": "key-1"},
		"state": {"side_effect": {
			"status": "side_effect_committed",
			"idempotency_key": "key-1",
			"action_digest": "sha256:action",
		}},
	})) == 0
}

test_deny_committed if _codes(_in_state({"status": "side_effect_committed"})) == {"effect_already_committed"}

# C3: the same call again, after a resume, is answered with its receipt.
test_deny_replay_of_a_committed_call if {
	_codes(_committed) == {"effect_already_committed"}
	_replay(_committed)
}

test_deny_no_replay_field_broken if _misses_of_replay == set()

_misses_of_replay := {[path, what, got] |
	some path in [
		"/state/side_effect/action_digest", "/state/side_effect/idempotency_key", "/request/idempotency_key",
		"/digests/action_digest",
	]
	some what, doc in fixture.broken(_committed, path, fixture.garbage)
	got := [_codes(doc), _replays(doc)]
	got != [{"effect_already_committed"}, 0]
}

test_deny_no_replay_digests_alike_but_no_string if _misses_of_replay_alike == set()

_misses_of_replay_alike := {[value, got] |
	some value in fixture.no_string
	doc := fixture.put(
		fixture.put(_committed, "/state/side_effect/action_digest", value),
		"/digests/action_digest",
		value,
	)
	got := _replays(doc)
	got != 0
}

test_none_no_replay_in_any_other_state if _misses_of_state == set()

_misses_of_state := {[status, got] |
	some status in array.concat(
		fixture.garbage,
		["not_started", "in_flight", "side_effect_unknown", "partial_side_effect", "failed_before_effect"],
	)
	got := _replays(fixture.put(_committed, "/state/side_effect/status", status))
	got != 0
}

_committed := _in_state({
	"status": "side_effect_committed",
	"idempotency_key": "key-1",
	"action_digest": "sha256:action",
})

_in_state(row) := fixture.put(fixture.ticket, "/state/side_effect", row)

_guarded(doc) := count({true |
	effect.guarded with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}) == 1

_replay(doc) if _replays(doc) == 1

_replays(doc) := count({true |
	effect.replay with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
})

_codes(doc) := {f.code |
	some f in effect.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}
