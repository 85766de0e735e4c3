package gate.longtask.commit_test

import data.gate.fixture_test as core
import data.gate.longtask.commit
import data.gate.longtask.fixture_test as fixture

test_none_sound if _codes(fixture.committing) == set()

test_none_elsewhere if {
	_codes(fixture.rehydrating) == set()
	_codes({}) == set()
}

test_none_without_a_parent if _codes(fixture.puts(fixture.committing, {"/parent": null})) == set()

test_none_next_generation if _codes(_next({})) == set()

test_none_same_generation_in_another_schema if {
	migrated := {"/artifact/direct_source": "migration", "/artifact/generation": 1}
	_codes(_next(migrated)) == set()
	_codes(_next(object.union(migrated, {"/artifact/generation": 2}))) == {"artifact_lineage_invalid"}
	_codes(_next(object.union(migrated, {"/parent/status": "tainted"}))) == {"artifact_lineage_invalid"}
}

test_deny_next_generation_broken if _misses_of_next == set()

_misses_of_next := {[path, value, got] |
	some path, values in {
		"/artifact/generation": [null, "2", 1, 3],
		"/artifact/parent_artifact_id": [null, "art-1", 7],
		"/artifact/parent_digest": [null, "sha256:other"],
		"/artifact/direct_source": [null, "migration", "summary"],
		"/parent/status": [null, "tainted", "erased", "cleaned"],
		"/parent/generation": [null, "1", 2],
		"/parent/digest": [null, 1],
		"/parent/artifact_id": [null, 1],
	}
	some value in values
	got := _codes(_next({path: value}))
	got != {"artifact_lineage_invalid"}
}

_next(changes) := fixture.puts(
	fixture.committing,
	object.union(
		{
			"/artifact/generation": 2,
			"/artifact/direct_source": "artifact",
			"/artifact/parent_artifact_id": "art-0",
			"/artifact/parent_digest": "sha256:art-0",
		},
		changes,
	),
)

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(fixture.committing, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/envelope_id": {"values": array.concat(core.no_text, ["ce-2"]), "codes": {"boundary_not_open"}},
	"/artifact/run_id": {"values": array.concat(core.no_text, ["run-2"]), "codes": {"compaction_run_mismatch"}},
	"/checkpoint/run_id": {"values": array.concat(core.no_text, ["run-2"]), "codes": {"compaction_run_mismatch"}},
	"/checkpoint/artifact_id": {"values": core.garbage, "codes": {"checkpoint_artifact_mismatch"}},
	"/artifact/artifact_id": {"values": core.garbage, "codes": {"checkpoint_artifact_mismatch"}},
	"/checkpoint/artifact_digest": {"values": core.garbage, "codes": {"checkpoint_artifact_mismatch"}},
	"/artifact/digest": {"values": core.garbage, "codes": {"checkpoint_artifact_mismatch"}},
	"/artifact/schema_version": {"values": array.concat(core.garbage, [1, "1.1", "2.0"]), "codes": {"artifact_rejected_schema"}},
	"/source/resolved": {"values": core.no_true, "codes": {"artifact_source_unverifiable"}},
	"/source/same_run": {"values": core.no_true, "codes": {"artifact_source_range_mismatch"}},
	"/source/increasing": {"values": core.no_true, "codes": {"artifact_source_range_mismatch"}},
	"/source/sources_present": {"values": core.no_true, "codes": {"artifact_source_range_mismatch"}},
	"/source/first_sequence": {"values": array.concat(core.no_number, [2]), "codes": {"artifact_source_range_mismatch"}},
	"/source/last_sequence": {"values": array.concat(core.no_number, [23, 25]), "codes": {"artifact_source_range_mismatch"}},
	"/artifact/first_sequence": {"values": array.concat(core.no_number, [2]), "codes": {"artifact_source_range_mismatch"}},
	"/artifact/last_sequence": {"values": array.concat(core.no_number, [23, 25]), "codes": {"artifact_source_range_mismatch", "stale_event_cursor"}},
	"/source/digest": {"values": core.garbage, "codes": {"artifact_source_digest_mismatch"}},
	"/artifact/source_digest": {"values": core.garbage, "codes": {"artifact_source_digest_mismatch"}},
	"/frozen_cursor": {"values": array.concat(core.no_number, [23, 25]), "codes": {"stale_event_cursor"}},
	"/checkpoint/event_cursor": {"values": array.concat(core.no_number, [23, 25]), "codes": {"stale_event_cursor"}},
	"/artifact/workspace_digest": {"values": core.garbage, "codes": {"stale_artifact_workspace_digest"}},
	"/checkpoint/workspace_digest": {"values": core.garbage, "codes": {"stale_artifact_workspace_digest", "stale_workspace_digest"}},
	"/workspace_digest": {"values": core.garbage, "codes": {"stale_workspace_digest"}},
	"/parent": {"values": [true, 17, "garbage", []], "codes": {"artifact_lineage_invalid"}},
	"/artifact/generation": {"values": array.concat(core.no_number, [0, 2]), "codes": {"artifact_lineage_invalid"}},
	"/artifact/direct_source": {"values": array.concat(core.garbage, ["artifact", "migration"]), "codes": {"artifact_lineage_invalid"}},
	"/namespace": {"values": array.concat(core.no_text, ["fork-1"]), "codes": {"fork_artifact_unverified"}},
	"/artifact/namespace": {"values": array.concat(core.no_text, ["fork-1"]), "codes": {"fork_artifact_unverified"}},
	"/pending_calls": {"values": [null, true, 17, "patch", {}, ["inspect"], ["patch", "other"]], "codes": {"pending_call_counted_done"}},
	"/checkpoint/completed_steps": {"values": [null, true, 17, "inspect", {}, ["inspect", "patch"]], "codes": {"pending_call_counted_done"}},
	"/checkpoint/pending_step": {"values": core.garbage, "codes": {"pending_call_counted_done"}},
}

test_none_nothing_pending if {
	_codes(fixture.puts(fixture.committing, {"/pending_calls": [], "/checkpoint/pending_step": null})) == set()
}

test_deny_boundary_that_is_not_open if {
	_codes(core.put(fixture.committing, "/state/run/boundary", null)) == {"boundary_not_open"}
	_codes(core.put(fixture.committing, "/state/run/boundary/status", "resumed")) == {"boundary_not_open"}
}

test_deny_input_with_the_phase_alone if {
	count(_codes({"operation": "compact", "state": {"longtask": {"phase": "commit"}}})) == 13
}

_codes(doc) := {f.code | some f in commit.findings with input as doc}
