package gate.continuity.carried_test

import data.gate.continuity.carried
import data.gate.continuity.fixture_test as fixture
import data.gate.fixture_test as core

test_none_sound if _codes(fixture.resuming) == set()

test_none_at_another_operation if _codes(core.put(fixture.resuming, "/operation", "compact")) == set()

test_failed_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in core.broken(fixture.resuming, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/envelope/checkpoint_ref": {"values": core.garbage, "codes": {"checkpoint_changed"}},
	"/state/continuity/checkpoint_ref": {"values": array.concat(core.garbage, ["checkpoint:step-7"]), "codes": {"checkpoint_changed"}},
	"/envelope/sandbox_snapshot_ref": {"values": core.garbage, "codes": {"sandbox_snapshot_changed"}},
	"/state/continuity/sandbox_snapshot_ref": {"values": core.garbage, "codes": {"sandbox_snapshot_changed"}},
	"/envelope/budget_remaining": {"values": array.concat(core.no_number, [6]), "codes": {"budget_changed", "budget_spent"}},
	"/state/continuity/budget_remaining": {"values": array.concat(core.no_number, [8, -1]), "codes": {"budget_changed", "budget_spent"}},
	"/envelope/pending_obligations": {"values": [null, true, 17, "garbage", {}], "codes": {"obligation_lost", "obligations_changed"}},
	"/state/continuity/pending_obligations": {"values": [null, true, 17, "garbage", {}, []], "codes": {"obligation_lost", "obligations_changed"}},
	"/state/continuity/closed_obligations": {"values": [null, true, 17, "garbage", {}], "codes": {"obligation_lost"}},
	"/envelope/exact_constraint_refs": {"values": [null, true, 17, "garbage", {}], "codes": {"constraint_unresolvable", "required_constraint_missing"}},
	"/state/continuity/constraints": {"values": [null, true, 17, "garbage", {}, []], "codes": {"constraint_unresolvable"}},
	"/state/continuity/constraints/0/resolvable": {"values": core.no_true, "codes": {"constraint_unresolvable"}},
	"/state/continuity/constraints/0/constraint_id": {"values": core.garbage, "codes": {"constraint_unresolvable"}},
	"/state/continuity/constraints/0/digest": {"values": core.no_text, "codes": {"constraint_unresolvable"}},
	"/envelope/role": {"values": array.concat(core.garbage, ["reviewer"]), "codes": {"role_changed"}},
	"/agent/role": {"values": array.concat(core.garbage, ["reviewer"]), "codes": {"role_changed"}},
	"/envelope/objective_sha256": {"values": core.garbage, "codes": {"objective_changed"}},
	"/state/continuity/objective_sha256": {"values": core.garbage, "codes": {"objective_changed"}},
	"/envelope/evidence_refs": {"values": [null, true, 17, "garbage", {}, ["trace:other"]], "codes": {"evidence_unresolvable"}},
	"/state/continuity/evidence_refs": {"values": [null, true, 17, "garbage", {}, ["trace:trace-0"]], "codes": {"evidence_unresolvable"}},
	"/state/continuity/open_work": {"values": [null, true, 17, "garbage", {}], "codes": {"multi_step_in_progress", "irreversible_awaiting_confirmation", "credential_change_unfinished", "user_correction_not_durable", "incident_open"}},
}

test_blocked_each_work_that_is_under_way if {kind: _codes(core.put(
	fixture.resuming,
	"/state/continuity/open_work", [{"kind": kind}],
)) |
	some kind in _kinds
} == {kind: {kind} | some kind in _kinds}

_kinds := {"multi_step_in_progress", "irreversible_awaiting_confirmation", "credential_change_unfinished", "user_correction_not_durable", "incident_open"}

# What only the bundle forbids blocks where the boundary came over the run.
test_blocked_states_of_the_bundle_after_a_recovery if {
	changed := {
		"/envelope/sandbox_snapshot_ref": null,
		"/state/continuity/sandbox_snapshot_ref": null,
		"/envelope/budget_remaining": 0,
		"/state/continuity/budget_remaining": 0,
	}
	_codes(fixture.puts(fixture.resuming, changed)) == set()
	_codes(fixture.puts(fixture.resuming, object.union(changed, {"/envelope/requested": false}))) == {
		"obligation_open", "sandbox_not_saved", "budget_exhausted",
	}
	_codes_in(
		fixture.puts(fixture.resuming, object.union(changed, {"/envelope/requested": false})),
		core.without(fixture.bundles, "/triage/continuity"),
	) == set()
}

# An obligation may have been closed; the bundle that wants them unchanged notices.
test_closed_obligation if {
	closed := fixture.puts(fixture.resuming, {
		"/state/continuity/pending_obligations": [],
		"/state/continuity/closed_obligations": ["await:customer"],
	})
	_codes(closed) == {"obligations_changed"}
	_codes_in(closed, core.without(fixture.bundles, "/triage/continuity")) == set()
}

test_none_what_only_the_bundle_compares_in_a_bundle_that_does_not if {
	_codes_in(
		fixture.puts(fixture.resuming, {
			"/envelope/role": null,
			"/envelope/objective_sha256": null,
			"/envelope/evidence_refs": ["trace:gone"],
			"/envelope/exact_constraint_refs": [],
			"/state/continuity/budget_remaining": 3,
		}),
		core.without(fixture.bundles, "/triage/continuity"),
	) == set()
}

test_failed_additions_broken_in_the_bundle if _misses_of_bundle == set()

_misses_of_bundle := {[path, what, got] |
	some path, code in {
		"compare/role": "role_changed",
		"compare/objective": "objective_changed",
		"compare/evidence_refs": "evidence_unresolvable",
		"compare/budget_remaining": "budget_spent",
		"compare/pending_obligations": "obligations_changed",
		"required_constraints": "required_constraint_missing",
	}
	some what, bundles in core.broken(fixture.bundles, concat("/", ["/triage/continuity", path]), [null, 17, "garbage"])
	got := _codes_in(
		fixture.puts(fixture.resuming, {
			"/envelope/role": "other",
			"/envelope/objective_sha256": null,
			"/envelope/evidence_refs": ["trace:gone"],
			"/state/continuity/budget_remaining": 3,
			"/state/continuity/pending_obligations": ["await:customer", "more"],
		}),
		bundles,
	)
	not code in got
}

test_none_without_sandbox_and_budget if {
	_codes(fixture.puts(fixture.resuming, {
		"/envelope/sandbox_snapshot_ref": null,
		"/state/continuity/sandbox_snapshot_ref": null,
		"/envelope/budget_remaining": null,
		"/state/continuity/budget_remaining": null,
	})) == set()
}

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f.code | some f in carried.findings with input as doc
	with data.gate.agents.bundle_of as core.bundle_of
	with data.gate.bundles as bundles}
