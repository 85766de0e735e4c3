package gate.continuity.boundary_test

import data.gate.continuity.boundary
import data.gate.continuity.fixture_test as fixture
import data.gate.fixture_test as core

test_none_sound_boundaries if _misses_of_sound == set()

_misses_of_sound := {[operation, got] |
	some operation in ["compact", "reset", "handoff", "fork", "recover"]
	got := _codes(core.put(fixture.compacting, "/operation", operation))
	got != set()
}

test_none_at_a_call if _codes(core.ticket) == set()

test_deny_each_work_that_is_under_way if {kind: _codes(_working(kind)) | some kind in _kinds} == {kind: {kind} |
	some kind in _kinds
}

test_deny_work_of_a_kind_nobody_knows if _misses_of_kinds == set()

_misses_of_kinds := {[kind, got] |
	some kind in core.garbage
	got := _codes(_working(kind))
	got != _kinds
}

_working(kind) := core.put(fixture.compacting, "/state/continuity/open_work", [{"kind": kind, "ref": null}])

_kinds := {"multi_step_in_progress", "irreversible_awaiting_confirmation", "credential_change_unfinished", "user_correction_not_durable", "incident_open"}

# Nobody asked for a recovery: it happened, so no state refuses it, and the states are recorded.
test_none_recovery_in_every_forbidden_state if _misses_of_recovery == set()

_misses_of_recovery := {[path, value, got] |
	some path, value in {
		"/state/continuity/actions/0/approval_status": "pending",
		"/state/continuity/actions/0/side_effect_status": "side_effect_unknown",
		"/state/continuity/in_flight": true,
		"/state/continuity/open_work": [{"kind": "incident_open"}],
		"/state/continuity/pending_obligations": ["await:customer"],
		"/state/continuity/sandbox_snapshot_ref": null,
		"/state/continuity/budget_remaining": 0,
		"/state/continuity/boundary/count": 3,
		"/state/continuity/checkpoint_ref": null,
		"/state/continuity/constraints": [],
	}
	got := _codes(fixture.puts(fixture.compacting, {"/operation": "recover", path: value}))
	got != set()
}

test_deny_recovery_over_a_broken_chain if {
	_codes(fixture.puts(fixture.compacting, {"/operation": "recover", "/state/continuity/event_range/intact": false})) == {
		"event_chain_broken",
	}
}

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in core.broken(fixture.compacting, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/state/continuity/actions/0/approval_status": {"values": [true, 17, ["approved"], {}, "", "garbage", "pending"], "codes": {"approval_pending"}},
	"/state/continuity/actions/0/side_effect_status": {"values": array.concat(core.garbage, ["in_flight", "side_effect_unknown", "partial_side_effect"]), "codes": {"tool_outcome_unknown"}},
	"/state/continuity/in_flight": {"values": [null, true, 0, "false", [false]], "codes": {"tool_outcome_unknown"}},
	"/state/continuity/actions": {"values": [null, true, 17, "garbage", {}], "codes": {"approval_pending", "tool_outcome_unknown"}},
	"/state/continuity/open_work": {"values": [null, true, 17, "garbage", {}], "codes": {"multi_step_in_progress", "irreversible_awaiting_confirmation", "credential_change_unfinished", "user_correction_not_durable", "incident_open"}},
	"/state/continuity/pending_obligations": {"values": [null, true, 17, "garbage", {}, ["await:customer"]], "codes": {"obligation_open"}},
	"/state/continuity/sandbox_snapshot_ref": {"values": core.no_text, "codes": {"sandbox_not_saved"}},
	"/state/continuity/budget_remaining": {"values": array.concat(core.no_number, [0, -1]), "codes": {"budget_exhausted"}},
	"/state/continuity/boundary/count": {"values": array.concat(core.no_number, [3, 4]), "codes": {"boundary_limit_reached"}},
	"/state/continuity/boundary": {"values": core.no_section, "codes": {"boundary_limit_reached"}},
	"/state/continuity/checkpoint_ref": {"values": core.no_text, "codes": {"checkpoint_missing"}},
	"/state/continuity/event_range/intact": {"values": core.no_true, "codes": {"event_chain_broken"}},
	"/state/continuity/constraints": {"values": [null, true, 17, "garbage", {}], "codes": {"constraint_unresolvable", "required_constraint_missing"}},
	"/state/continuity/constraints/0/resolvable": {"values": core.no_true, "codes": {"constraint_unresolvable", "required_constraint_missing"}},
	"/state/continuity/constraints/0/constraint_id": {"values": array.concat(core.garbage, ["constraint-1"]), "codes": {"required_constraint_missing"}},
}

test_none_what_only_the_bundle_forbids_in_a_bundle_that_does_not if {
	bundles := core.without(fixture.bundles, "/triage/continuity")
	_codes_in(
		fixture.puts(fixture.compacting, {
			"/state/continuity/pending_obligations": ["await:customer"],
			"/state/continuity/sandbox_snapshot_ref": null,
			"/state/continuity/budget_remaining": null,
			"/state/continuity/boundary/count": 1000,
			"/state/continuity/constraints": [],
		}),
		bundles,
	) == set()
}

test_deny_additions_broken_in_the_bundle if _misses_of_bundle == set()

_misses_of_bundle := {[path, what, got] |
	some path, code in {
		"forbidden_states/obligation_open": "obligation_open",
		"forbidden_states/sandbox_not_saved": "sandbox_not_saved",
		"forbidden_states/budget_exhausted": "budget_exhausted",
		"required_constraints": "required_constraint_missing",
	}
	some what, bundles in core.broken(fixture.bundles, concat("/", ["/triage/continuity", path]), [null, 17, "garbage"])
	got := _codes_in(
		fixture.puts(fixture.compacting, {
			"/state/continuity/pending_obligations": ["await:customer"],
			"/state/continuity/sandbox_snapshot_ref": null,
			"/state/continuity/budget_remaining": null,
		}),
		bundles,
	)
	not code in got
}

test_requested_is_total if {
	yes := boundary.requested with input as fixture.compacting
	yes == true
	no := boundary.requested with input as core.put(fixture.compacting, "/operation", "recover")
	no == false
	nothing := boundary.requested with input as {}
	nothing == false
}

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f.code | some f in boundary.findings with input as doc
	with data.gate.agents.bundle_of as core.bundle_of
	with data.gate.bundles as bundles}
