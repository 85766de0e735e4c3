package gate.longtask.pair_test

import data.gate.fixture_test as core
import data.gate.longtask.fixture_test as fixture
import data.gate.longtask.pair

test_none_sound if _codes(fixture.rehydrating) == set()

test_none_elsewhere if {
	_codes(fixture.committing) == set()
	_codes({}) == set()
}

test_refuse_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(fixture.rehydrating, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/checkpoint/run_id": {"values": array.concat(core.no_text, ["run-2"]), "codes": {"checkpoint_run_mismatch"}},
	"/artifact/run_id": {"values": array.concat(core.no_text, ["run-2"]), "codes": {"checkpoint_run_mismatch"}},
	"/checkpoint": {"values": core.no_section, "codes": {"checkpoint_run_mismatch"}},
	"/artifact": {"values": core.no_section, "codes": {"checkpoint_run_mismatch"}},
	"/checkpoint/intact": {"values": core.no_true, "codes": {"checkpoint_artifact_mismatch"}},
	"/checkpoint/artifact_id": {"values": core.garbage, "codes": {"checkpoint_artifact_mismatch"}},
	"/artifact/artifact_id": {"values": core.garbage, "codes": {"checkpoint_artifact_mismatch"}},
	"/artifact/digest": {"values": core.garbage, "codes": {"checkpoint_artifact_mismatch"}},
	"/checkpoint/artifact_digest": {"values": core.garbage, "codes": {"checkpoint_artifact_mismatch"}},
	"/artifact/schema_version": {"values": array.concat(core.garbage, [1, "2.0"]), "codes": {"artifact_rejected_schema"}},
	"/artifact/source_digest": {"values": core.no_text, "codes": {"artifact_rejected_source_digest"}},
	"/source": {"values": core.no_section, "codes": {"artifact_source_unverifiable"}},
	"/source/resolved": {"values": core.no_true, "codes": {"artifact_source_unverifiable"}},
	"/source/same_run": {"values": core.no_true, "codes": {"artifact_source_range_mismatch"}},
	"/source/increasing": {"values": core.no_true, "codes": {"artifact_source_range_mismatch"}},
	"/source/sources_present": {"values": core.no_true, "codes": {"artifact_source_range_mismatch"}},
	"/source/first_sequence": {"values": array.concat(core.no_number, [2]), "codes": {"artifact_source_range_mismatch"}},
	"/source/last_sequence": {"values": array.concat(core.no_number, [23]), "codes": {"artifact_source_range_mismatch"}},
	"/source/digest": {"values": core.garbage, "codes": {"artifact_source_digest_mismatch"}},
	"/checkpoint/event_cursor": {"values": array.concat(core.no_number, [23, 25]), "codes": {"stale_event_cursor"}},
	"/artifact/workspace_digest": {"values": core.garbage, "codes": {"stale_artifact_workspace_digest"}},
	"/checkpoint/workspace_digest": {"values": core.garbage, "codes": {"stale_artifact_workspace_digest"}},
	"/workspace_digest": {"values": core.garbage, "codes": {"stale_workspace_digest"}},
	"/target/repository": {"values": core.garbage, "codes": {"rehydration_config_mismatch"}},
	"/target/target_path": {"values": core.garbage, "codes": {"rehydration_config_mismatch"}},
	"/config/repository": {"values": core.garbage, "codes": {"rehydration_config_mismatch"}},
	"/config/target_path": {"values": core.garbage, "codes": {"rehydration_config_mismatch"}},
	"/artifact/status": {"values": array.concat(core.garbage, ["tainted", "erased", "cleaned"]), "codes": {"artifact_tainted"}},
	"/namespace": {"values": array.concat(core.no_text, ["fork-1"]), "codes": {"fork_artifact_unverified"}},
	"/artifact/namespace": {"values": array.concat(core.no_text, ["fork-1"]), "codes": {"fork_artifact_unverified"}},
	"/packet": {"values": core.no_section, "codes": {"packet_budget_too_small"}},
	"/packet/budget_bytes": {"values": array.concat(core.no_number, [99]), "codes": {"packet_budget_too_small"}},
	"/packet/required_bytes": {"values": array.concat(core.no_number, [101]), "codes": {"packet_budget_too_small"}},
}

# In the fixed order: of everything that is wrong, the first is named.
test_refuse_in_the_fixed_order if [_codes(_worse(n)) | some n in numbers.range(1, 10)] == [{s.code} | some s in _steps]

_worse(n) := fixture.puts(fixture.rehydrating, {s.path: s.value | some i, s in _steps; i >= n - 1})

_steps := [
	{"path": "/checkpoint/run_id", "value": "run-2", "code": "checkpoint_run_mismatch"},
	{"path": "/checkpoint/artifact_digest", "value": "sha256:other", "code": "checkpoint_artifact_mismatch"},
	{"path": "/artifact/schema_version", "value": "9", "code": "artifact_rejected_schema"},
	{"path": "/artifact/source_digest", "value": " ", "code": "artifact_rejected_source_digest"},
	{"path": "/source/resolved", "value": false, "code": "artifact_source_unverifiable"},
	{"path": "/source/increasing", "value": false, "code": "artifact_source_range_mismatch"},
	{"path": "/source/digest", "value": "other", "code": "artifact_source_digest_mismatch"},
	{"path": "/checkpoint/event_cursor", "value": 7, "code": "stale_event_cursor"},
	{"path": "/artifact/workspace_digest", "value": "other", "code": "stale_artifact_workspace_digest"},
	{"path": "/workspace_digest", "value": "other", "code": "stale_workspace_digest"},
]

test_refuse_input_with_the_phase_alone if {
	_codes({"operation": "rehydrate", "state": {"longtask": {"phase": "rehydrate"}}}) == {"checkpoint_run_mismatch"}
}

test_every_finding_fails_validation if {
	{f.verdict | some f in pair.findings with input as fixture.puts(fixture.rehydrating, {"/packet": null})} == {"continuity_validation_failed"}
}

_codes(doc) := {f.code | some f in pair.findings with input as doc}
