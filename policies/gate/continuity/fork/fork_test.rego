package gate.continuity.fork_test

import data.gate.continuity.fixture_test as fixture
import data.gate.continuity.fork
import data.gate.fixture_test as core

_forking := fixture.puts(fixture.resuming, {
	"/envelope/reset_reason": "fork",
	"/state/continuity/child": {"run_id": "run-2", "session_id": "session-2", "known": false},
})

_calling := fixture.puts(core.ticket, {
	"/state/run/parent_run_id": "run-0",
	"/state/approval/run_id": "run-1",
	"/trace/run_id": "run-1",
})

test_none_sound if {
	_codes(_forking) == set()
	_codes(_calling) == set()
	fork.forking with input as _forking
}

test_none_elsewhere if {
	_codes(fixture.resuming) == set()
	_codes(fixture.compacting) == set()
	_codes({}) == set()
}

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in core.broken(owed.doc, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_unnamed := {"fork_child_missing", "fork_child_not_new"}

_owed := {
	"/state/continuity/child": {"doc": _forking, "values": core.no_section, "codes": _unnamed},
	"/state/continuity/child/known": {"doc": _forking, "values": [null, true, 17, "false", [false], {}], "codes": {"fork_child_not_new"}},
	"/envelope/run_id": {"doc": _forking, "values": [null, true, 17, ["run-1"], {}, "run-2"], "codes": {"fork_child_not_new"}},
	"/envelope/session_id": {"doc": _forking, "values": [null, true, 17, ["session-1"], {}, "session-2"], "codes": {"fork_child_not_new"}},
	"/state/run/parent_run_id": {"doc": core.put(_calling, "/state/approval/run_id", "run-0"), "values": [true, 17, "", "run-0", {}], "codes": {"approval_not_inherited"}},
	"/state/approval/run_id": {"doc": _calling, "values": array.concat(core.garbage, ["run-0"]), "codes": {"approval_not_inherited"}},
	"/trace/run_id": {"doc": _calling, "values": array.concat(core.garbage, ["run-3"]), "codes": {"approval_not_inherited"}},
}

test_deny_boundary_of_no_known_kind if {
	{kind: _codes(core.put(fixture.resuming, "/envelope/reset_reason", kind)) | some kind in [null, 17, "compact"]} == {
		null: _unnamed,
		17: _unnamed,
		"compact": _unnamed,
	}
}

test_deny_child_without_a_name if _misses_of_name == set()

_misses_of_name := {[name, value] |
	some name in ["run_id", "session_id"]
	some value in [null, 17, "", " ", ["run-2"]]
	not "fork_child_missing" in _codes(core.put(_forking, concat("/", ["/state/continuity/child", name]), value))
}

# Who was not forked has no parent; what the runs of one session share is for the approval guard.
test_none_approval_of_another_run_of_the_session if {
	_codes(fixture.puts(_calling, {"/state/run/parent_run_id": null, "/state/approval/run_id": "run-0"})) == set()
}

test_none_without_approval if _codes(core.put(_calling, "/state/approval", null)) == set()

_codes(doc) := codes if {
	codes := {f.code | some f in fork.findings} with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as fixture.bundles
}
