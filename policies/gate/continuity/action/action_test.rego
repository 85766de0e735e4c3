package gate.continuity.action_test

import data.gate.continuity.action
import data.gate.continuity.fixture_test as fixture
import data.gate.fixture_test as core

test_none_sound if _codes(fixture.resuming) == set()

test_none_at_another_operation if _codes(core.put(fixture.resuming, "/operation", "compact")) == set()

test_none_without_actions if {
	_codes(fixture.puts(fixture.resuming, {"/envelope/actions": [], "/state/continuity/actions": []})) == set()
}

test_failed_actions_unreadable if _misses_of_whole == set()

_misses_of_whole := {[path, what, got] |
	some path in ["/envelope/actions", "/state/continuity/actions"]
	some what, doc in core.broken(fixture.resuming, path, [null, true, 17, "garbage", {}])
	got := _codes(doc)
	got != {"actions_unreadable"}
}

test_failed_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in core.broken(fixture.resuming, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/envelope/actions/0/capability_name": {"values": array.concat(core.garbage, ["search_docs"]), "codes": {"capability_changed", "capability_version_changed"}},
	"/envelope/actions/0/capability_version": {"values": core.garbage, "codes": {"capability_version_changed"}},
	"/envelope/actions/0/approval_id": {"values": [true, 17, "", " ", "apr-9", {}], "codes": {"approval_binding_changed"}},
	"/envelope/actions/0/approval_expires_at_ms": {"values": core.no_number, "codes": {"approval_expiry_changed", "approval_expired"}},
	"/envelope/actions/0/action_digest": {"values": core.garbage, "codes": {"action_digest_changed"}},
	"/envelope/actions/0/idempotency_key": {"values": core.garbage, "codes": {"idempotency_key_changed"}},
	"/envelope/actions/0/business_key_digest": {"values": core.garbage, "codes": {"business_key_changed"}},
	"/envelope/actions/0/side_effect_status": {
		"values": array.concat(core.garbage, ["NOT_STARTED", "side_effect_committed"]),
		"codes": {"side_effect_status_changed"},
	},
	"/state/continuity/actions/0/capability_version": {"values": core.garbage, "codes": {"capability_version_changed"}},
	"/state/continuity/actions/0/approval_id": {"values": core.garbage, "codes": {"approval_binding_changed"}},
	"/state/continuity/actions/0/approval_expires_at_ms": {"values": core.no_number, "codes": {"approval_expiry_changed", "approval_expired"}},
	"/state/continuity/actions/0/action_digest": {"values": core.garbage, "codes": {"action_digest_changed"}},
	"/state/continuity/actions/0/idempotency_key": {"values": core.garbage, "codes": {"idempotency_key_changed"}},
	"/state/continuity/actions/0/business_key_digest": {"values": core.garbage, "codes": {"business_key_changed"}},
	"/now_ms": {"values": core.no_number, "codes": {"approval_expired"}},
	"/state/continuity/in_flight": {"values": [null, true, 0, "false", [false]], "codes": {"effect_in_flight"}},
}

# The record of the action as it is now.
test_failed_each_status_of_an_approval if {status: _codes(_now_approval(status)) |
	some status in ["approved", "pending", "rejected", "revoked", "expired", "consumed", "cancelled", "garbage", null]
} == {
	"approved": set(),
	"pending": {"approval_not_active"},
	"rejected": {"approval_not_active"},
	"revoked": {"approval_revoked"},
	"expired": {"approval_not_active"},
	"consumed": {"approval_not_active"},
	"cancelled": {"approval_not_active"},
	"garbage": {"approval_not_active", "approval_revoked"},
	null: {"approval_not_active"},
}

_now_approval(status) := core.put(fixture.resuming, "/state/continuity/actions/0/approval_status", status)

test_failed_approval_without_status if _misses_of_status == set()

_misses_of_status := {[what, got] |
	some what, doc in core.broken(
		fixture.resuming, "/state/continuity/actions/0/approval_status",
		[true, 17, ["approved"], {}, "APPROVED"],
	)
	got := _codes(doc)
	got != {"approval_not_active", "approval_revoked"}
}

# Equality with the expiry counts as expired; the envelope's own expiry binds as the record's does.
test_expiry_at_the_bound if {now: _codes(core.put(fixture.resuming, "/now_ms", now)) | some now in [59999, 60000]} == {
	59999: set(),
	60000: {"approval_expired"},
}

test_failed_each_status_of_an_effect if {now: _codes(_now_effect(now)) |
	some now in [
		"not_started", "side_effect_committed", "failed_before_effect", "side_effect_unknown", "partial_side_effect",
		"in_flight", "garbage", null,
	]
} == {
	"not_started": set(),
	"side_effect_committed": {"side_effect_status_changed"},
	"failed_before_effect": {"side_effect_status_changed"},
	"side_effect_unknown": {"side_effect_status_changed", "unknown_side_effect"},
	"partial_side_effect": {"side_effect_status_changed", "partial_side_effect"},
	"in_flight": {"side_effect_status_changed", "unknown_side_effect"},
	"garbage": {
		"side_effect_status_changed", "side_effect_state_missing", "unknown_side_effect", "partial_side_effect",
	},
	null: {"side_effect_status_changed", "side_effect_state_missing", "unknown_side_effect", "partial_side_effect"},
}

_now_effect(status) := core.put(fixture.resuming, "/state/continuity/actions/0/side_effect_status", status)

# then and now: an unknown effect resolved under its own key is no change, an unresolved one blocks.
test_each_way_of_an_unresolved_effect if {[then, now]: _codes(_claimed(then, now)) |
	some then in ["in_flight", "side_effect_unknown", "partial_side_effect"]
	some now in [
		"side_effect_committed", "failed_before_effect", "side_effect_unknown", "partial_side_effect", "not_started",
	]
} == {[then, now]: codes |
	some then in ["in_flight", "side_effect_unknown", "partial_side_effect"]
	some now, codes in {
		"side_effect_committed": set(),
		"failed_before_effect": set(),
		"side_effect_unknown": {"unknown_side_effect"},
		"partial_side_effect": {"partial_side_effect"},
		"not_started": {"side_effect_status_changed"},
	}
}

# Its claim used the approval up.
_claimed(then, now) := fixture.puts(fixture.resuming, {
	"/envelope/actions/0/side_effect_status": then,
	"/state/continuity/actions/0/side_effect_status": now,
	"/state/continuity/actions/0/approval_status": "consumed",
})

test_blocked_claim_that_is_being_carried_out if {
	live := core.put(_claimed("in_flight", "in_flight"), "/state/continuity/actions/0/lease_expires_at_ms", 50001)
	_codes(live) == set()
	_codes(core.put(live, "/state/continuity/in_flight", true)) == {"effect_in_flight"}
	_codes(core.put(live, "/now_ms", 50001)) == {"unknown_side_effect"}
	_codes(core.put(live, "/state/continuity/actions/0/lease_expires_at_ms", null)) == {"unknown_side_effect"}
}

test_failed_action_whose_record_is_gone if {
	gone := core.put(fixture.resuming, "/state/continuity/actions/0", {field: null |
		some field, _ in fixture.resuming.state.continuity.actions[0]
	})
	"action_missing" in _codes(gone)
	got := _codes({"operation": "rehydrate", "envelope": fixture.envelope, "state": {"continuity": {"actions": []}}})
	"action_missing" in got
}

test_failed_action_that_the_envelope_does_not_have if {
	_codes(core.put(fixture.resuming, "/state/continuity/actions/-", fixture.resuming.state.continuity.actions[1])) == {
		"action_unrecorded",
	}
}

# No approval then and none now, no key needed.
test_none_action_without_approval_or_key if {
	_codes(fixture.puts(fixture.resuming, object.union(
		{concat("/", [side, field]): null |
			some side in ["/envelope/actions/0", "/state/continuity/actions/0"]
			some field in ["approval_id", "approval_expires_at_ms", "idempotency_key", "business_key_digest"]
		},
		{"/state/continuity/actions/0/approval_status": null},
	))) == set()
}

test_failed_approval_that_the_envelope_does_not_have if {
	_codes(fixture.puts(fixture.resuming, {"/envelope/actions/0/approval_id": null})) == {"approval_binding_changed"}
}

test_unresolved_are_the_keys_to_reconcile if {
	got := action.unresolved with input as fixture.puts(fixture.resuming, {
		"/state/continuity/actions/0/side_effect_status": "side_effect_unknown",
		"/state/continuity/actions/1/side_effect_status": "in_flight",
	})
	got == {"key-1", "key-2"}
	none := action.unresolved with input as fixture.resuming
	none == set()
	nothing := action.unresolved with input as {}
	nothing == set()
}

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f.code | some f in action.findings with input as doc
	with data.gate.agents.bundle_of as core.bundle_of
	with data.gate.bundles as bundles}
