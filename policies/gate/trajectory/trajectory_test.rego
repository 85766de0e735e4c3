package gate.trajectory_test

import data.gate.fixture_test as core
import data.gate.trajectory
import data.gate.trajectory.fixture_test as fixture
import data.gate.trajectory.outcome
import data.gate.trajectory.rule

test_none_sound if _codes(fixture.step, fixture.bundles) == set()

test_none_bundle_without_rules if _codes(fixture.step, core.bundles) == set()

test_none_capability_without_rules if _codes(core.reading, fixture.bundles) == set()

test_none_not_a_call if _codes(core.put(fixture.step, "/operation", "list_tools"), fixture.bundles) == set()

test_none_empty_document if _codes({}, fixture.bundles) == set()

# What already happened was judged then.
test_none_replay if {
	done := {"status": "side_effect_committed", "action_digest": "sha256:action", "idempotency_key": "key-1"}
	doc := core.put(core.without(fixture.step, "/evidence/trajectory"), "/state/side_effect", done)
	_codes(doc, fixture.bundles) == set()
}

test_deny_evidence_broken if _misses_of_evidence == set()

_misses_of_evidence := {[path, what, got] |
	some path in ["/evidence/trajectory", "/evidence/trajectory/history", "/evidence"]
	some what, doc in core.broken(fixture.step, path, [null])
	got := _codes(doc, fixture.bundles)
	got != {"history_missing"}
}

test_deny_history_no_object if _misses_of_kind == set()

_misses_of_kind := {[value, got] |
	some value in [true, false, 17, "garbage", [], {}]
	got := _codes(core.put(fixture.step, fixture.history(""), value), fixture.bundles)
	got != {"history_malformed"}
}

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in core.broken(fixture.step, path, owed.values)
	got := _codes(doc, fixture.bundles)
	got != {owed.code}
}

_malformed := {path: {"code": "history_malformed", "values": core.no_string} |
	some field in [
		"/history_ref", "/tenant_id", "/subject_id", "/policy_id", "/policy_version", "/integrity", "/status",
		"/window_id", "/window_state", "/approval_state",
	]
	path := fixture.history(field)
}

_no_list := {path: {"code": "history_malformed", "values": [null, true, 17, "garbage", {}]} |
	some field in ["/observed_sequence", "/completed_actions", "/approval_records"]
	path := fixture.history(field)
}

_mismatch := {
	fixture.history("/history_version"): {"code": "history_malformed", "values": core.no_number},
	fixture.request(""): {"code": "history_ref_mismatch", "values": core.no_section},
	fixture.request("/expected_history_ref"): {"code": "history_ref_mismatch", "values": core.garbage},
	fixture.request("/expected_history_version"): {"code": "history_version_mismatch", "values": [null, 1, 3, "2"]},
	fixture.request("/action"): {"code": "trajectory_identity_mismatch", "values": core.garbage},
	fixture.request("/tenant_id"): {"code": "trajectory_identity_mismatch", "values": core.garbage},
	fixture.request("/subject_id"): {"code": "trajectory_identity_mismatch", "values": core.garbage},
	fixture.request("/sequence_number"): {"code": "observed_sequence_mismatch", "values": [null, 1, 3, "2"]},
	fixture.request("/window_id"): {"code": "window_mismatch", "values": core.garbage},
	fixture.request("/fingerprints"): {"code": "current_fingerprint_missing", "values": core.no_section},
	fixture.request("/fingerprints/release"): {"code": "current_fingerprint_missing", "values": core.garbage},
	fixture.history("/fingerprints"): {"code": "history_fingerprint_missing", "values": core.no_section},
	fixture.history("/fingerprints/release"): {"code": "history_fingerprint_missing", "values": core.garbage},
	fixture.request("/counters"): {"code": "current_counter_missing", "values": core.no_section},
	fixture.history("/counters"): {"code": "history_counter_missing", "values": core.no_section},
	fixture.request("/request_fingerprint"): {"code": "trajectory_approval_binding_mismatch", "values": core.garbage},
}

_owed := object.union_n([_malformed, _no_list, _mismatch])

test_deny_value_of_the_history if _misses_of_value == set()

_misses_of_value := {[field, value, got] |
	some row in [
		["/integrity", "missing", "history_missing"],
		["/integrity", "corrupt", "history_corrupt"],
		["/integrity", "unverified", "history_unverified"],
		["/integrity", "VERIFIED", "history_malformed"],
		["/status", "missing", "history_missing"],
		["/status", "stale", "history_stale"],
		["/history_ref", "run-log:2", "history_ref_mismatch"],
		["/history_version", 3, "history_version_mismatch"],
		["/tenant_id", "tenant-other", "trajectory_identity_mismatch"],
		["/subject_id", "user-43", "trajectory_identity_mismatch"],
		["/policy_id", "other", "policy_identity_mismatch"],
		["/policy_version", "2", "policy_identity_mismatch"],
		["/observed_sequence", [], "observed_sequence_mismatch"],
		["/window_id", "run-2", "window_mismatch"],
		["/window_state", "closed", "window_not_open"],
		["/window_state", "stale", "window_not_open"],
		["/completed_actions", [], "required_predecessor_missing"],
		["/fingerprints/release", fixture.other, "value_binding_mismatch"],
		["/approval_state", "gone", "history_malformed"],
	]
	[field, value, code] := row
	got := _codes(core.put(fixture.step, fixture.history(field), value), fixture.bundles)
	got != {code}
}

test_amounts if _misses_of_amounts == set()

_misses_of_amounts := {[units, micros, got] |
	some row in [
		[0, 200000, set()], [0, 200001, {"cumulative_limit_exceeded"}], [0, 0, set()],
		[1, 0, {"cumulative_limit_exceeded"}], [-1, 0, {"counter_arithmetic_error"}],
		[0, -1, {"counter_arithmetic_error"}], [0, 1000000, {"counter_arithmetic_error"}],
		[1000000000000, 0, {"counter_arithmetic_error"}], [999999999999, 999999, {"cumulative_limit_exceeded"}],
		[null, 0, {"counter_arithmetic_error"}], ["0", 0, {"counter_arithmetic_error"}],
		[0, null, {"counter_arithmetic_error"}], [0, "0", {"counter_arithmetic_error"}],
	]
	[units, micros, codes] := row
	got := _codes(
		core.put(fixture.step, fixture.request("/counters/spend"), {"units": units, "micros": micros}),
		fixture.bundles,
	)
	got != codes
}

# More millionths are used than the limit has: a unit is borrowed.
test_amounts_that_borrow if _misses_of_borrowing == set()

_misses_of_borrowing := {[asked, got] |
	some row in [[{"units": 0, "micros": 400000}, set()], [{"units": 0, "micros": 400001}, {"cumulative_limit_exceeded"}], [
		{"units": 0, "micros": 0},
		set(),
	]]
	[asked, codes] := row
	used := core.put(fixture.step, fixture.history("/counters/spend"), {"units": 24, "micros": 900000})
	got := _codes(core.put(used, fixture.request("/counters/spend"), asked), fixture.bundles)
	got != codes
}

test_whole_units_are_left if {
	doc := core.put(fixture.step, fixture.history("/counters/spend"), {"units": 20, "micros": 900000})
	_codes(core.put(doc, fixture.request("/counters/spend"), {"units": 3, "micros": 999999}), fixture.bundles) == set()
}

# No rule holds over nothing.
test_first_of_an_empty_document if {
	first := rule.first with input as {"agent": fixture.step.agent, "request": fixture.step.request}
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as fixture.bundles
	first == {"rule_id": "bound", "reason": "current_fingerprint_missing"}
}

test_history_counter_broken if _misses_of_used == set()

_misses_of_used := {[value, got] |
	some value, code in {
		"missing": "history_counter_missing",
		"malformed": "counter_arithmetic_error",
	}
	used := {"missing": null, "malformed": {"units": -1, "micros": 0}}[value]
	got := _codes(core.put(fixture.step, fixture.history("/counters/spend"), used), fixture.bundles)
	got != {code}
}

test_limit_that_is_none if {
	bundles := core.put(fixture.bundles, "/triage/trajectory_rules/limit/limit", "25.3")
	_codes(fixture.step, bundles) == {"counter_arithmetic_error"}
}

test_approvals if _misses_of_approvals == set()

_with(records, state) := core.put(
	core.put(fixture.step, fixture.history("/approval_records"), records),
	fixture.history("/approval_state"), state,
)

_as(state) := object.union(fixture.record, {"state": state})

_elsewhere := object.union(fixture.record, {"request_fingerprint": fixture.other})

_unscoped := object.union(fixture.record, {"scope": "other"})

_misses_of_approvals := {[records, state, got] |
	some row in [
		[[fixture.record], "approved", set()],
		[[fixture.record, _as("pending")], "approved", {"approval_state_mismatch"}],
		[[fixture.record], "pending", {"approval_state_mismatch"}],
		[[_as("pending")], "pending", {"trajectory_approval_binding_mismatch"}],
		[[_as("pending")], "approved", {"approval_state_mismatch"}],
		[[_as("rejected")], "rejected", {"required_approval_inactive"}],
		[[_as("revoked"), fixture.record], "approved", {"required_approval_inactive"}],
		[[_as("expired")], "expired", {"required_approval_inactive"}],
		[[_as("strange")], "approved", {"approval_state_mismatch"}],
		[[_elsewhere], "approved", {"trajectory_approval_binding_mismatch"}],
		[[], "none", {"required_approval_missing"}],
		[[], "approved", {"approval_state_mismatch"}],
		[[_unscoped], "none", {"required_approval_missing"}],
		[["garbage"], "none", {"required_approval_missing"}],
	]
	[records, state, codes] := row
	got := _codes(_with(records, state), fixture.bundles)
	got != codes
}

test_only_a_missing_or_unbound_approval_asks_a_person if _verdicts == {
	"approved": "deny", "none": "require_approval", "pending": "require_approval",
}

_verdicts := {state: verdict |
	some state, records in {"approved": [], "none": [], "pending": [_as("pending")]}
	some verdict in {f.verdict | some f in _raised(_with(records, state), fixture.bundles)}
}

test_rule_lost_or_of_no_kind if _misses_of_rules == set()

_misses_of_rules := {[what, got] |
	some path, values in {
		"/triage/trajectory_rules/first": [],
		"/triage/trajectory_rules": [null, 17, "garbage"],
		"/triage/trajectory_rules/first/kind": [null, 17, "garbage"],
	}
	some what, bundles in core.broken(fixture.bundles, path, values)
	got := _codes(fixture.step, bundles)
	got != {"rules_undetermined"}
}

test_no_rules_of_the_capability_let_a_sound_step_pass if {
	_codes(fixture.step, core.put(fixture.bundles, "/triage/trajectory/create_ticket/rules", [])) == set()
}

test_rules_that_are_no_list if {
	bundles := core.put(fixture.bundles, "/triage/trajectory/create_ticket/rules", null)
	_codes(fixture.step, bundles) == {"rules_undetermined"}
}

test_kept_null_without_rules if _kept(fixture.step, core.bundles) == null

test_kept_of_an_allowed_step if _kept(fixture.step, fixture.bundles) == {
	"policy_id": "policy",
	"policy_version": "1",
	"rule_id": "trajectory.all_rules",
	"reason": "all_rules_satisfied",
	"decision": "allow",
	"source": "trajectory.yaml#/trajectory",
	"counters": {"spend": "within_limit"},
}

test_kept_names_the_rule_and_its_place if {
	doc := core.put(fixture.step, fixture.request("/counters/spend"), {"units": 1, "micros": 0})
	kept := _kept(doc, fixture.bundles)
	[kept.rule_id, kept.source, kept.decision, kept.counters] == [
		"limit", "trajectory.yaml#/r/1", "deny",
		{"spend": "limit_exceeded"},
	]
}

test_kept_of_a_missing_approval if _kept(_with([], "none"), fixture.bundles).decision == "approval_required"

test_kept_evaluates_nothing_over_a_history_without_trust if {
	doc := core.put(fixture.step, fixture.history("/integrity"), "corrupt")
	_kept(doc, fixture.bundles).counters == {"spend": "not_evaluated"}
}

_codes(doc, bundles) := {f.code | some f in _raised(doc, bundles)}

_raised(doc, bundles) := raised if {
	raised := trajectory.raised with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as bundles
}

_kept(doc, bundles) := kept if {
	kept := outcome.kept with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as bundles
}
