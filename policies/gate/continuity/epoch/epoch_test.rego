package gate.continuity.epoch_test

import data.gate.continuity.epoch
import data.gate.continuity.fixture_test as fixture
import data.gate.fixture_test as core

_call := core.put(core.ticket, "/state/approval/epoch", 1)

test_none_sound_call if _codes(_call) == set()

# Nothing is there to be confirmed again, though the bundle wants approvals confirmed.
test_none_call_that_needs_no_approval if {
	reading := core.put(core.reading, "/trace/epoch", 1)
	_codes(reading) == set()
	_codes(core.put(reading, "/state/run/epoch", 2)) == {"epoch_backwards"}
	_codes(core.put(reading, "/trace/epoch", 2)) == {"epoch_ahead"}
}

test_none_sound_boundary if _codes(fixture.compacting) == set()

test_none_exempt_operations if _misses_of_exempt == set()

_misses_of_exempt := {[operation, got] |
	some operation in ["run_start", "recover", "rehydrate", "approval_transition", "effect_transition"]
	got := _codes({"operation": operation})
	got != set()
}

# Everything else, also what nobody knows.
test_deny_every_other_operation_of_an_unreadable_run if _misses_of_operations == set()

_misses_of_operations := {[operation, got] |
	some operation in [
		"model_call", "user_message", "memory_write", "list_tools", "compact", "reset", "handoff", "fork", "emit", "garbage",
		null,
	]
	got := _codes({"operation": operation})
	got != {"boundary_open", "epoch_absent"}
}

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in core.broken(_call, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/state/run/boundary": {"values": [true, 17, "", [], {}, {"envelope_id": "ce-1", "status": "sealed"}], "codes": {"boundary_open"}},
	"/state/run/epoch": {"values": [null, true, "1", [1], {}, 0, -1], "codes": {"epoch_absent", "approval_epoch_changed"}},
	"/state/approval/epoch": {"values": [null, true, "1", [1], {}, 0, 2], "codes": {"approval_epoch_changed"}},
}

# What the host says, and what the records say: it may be silent before the first boundary only.
test_each_pair_of_epochs if {json.marshal([host, run]): _codes(_in_epoch(host, run)) |
	some host in [null, 1, 2, 3, "2", 0]
	some run in [1, 2]
} == {
	`[null,1]`: set(),
	`[1,1]`: set(),
	`[2,1]`: {"epoch_ahead"},
	`[3,1]`: {"epoch_ahead"},
	`["2",1]`: {"epoch_absent"},
	`[0,1]`: {"epoch_absent"},
	`[null,2]`: {"epoch_absent"},
	`[1,2]`: {"epoch_backwards"},
	`[2,2]`: set(),
	`[3,2]`: {"epoch_ahead"},
	`["2",2]`: {"epoch_absent"},
	`[0,2]`: {"epoch_absent"},
}

_in_epoch(host, run) := fixture.puts(core.ticket, {
	"/trace/epoch": host,
	"/state/run/epoch": run,
	"/state/approval/epoch": run,
})

# An approval of epoch 2 is asked for again in epoch 3, where the bundle wants it.
test_require_approval_of_an_earlier_epoch if {
	crossed := fixture.puts(core.ticket, {"/trace/epoch": 3, "/state/run/epoch": 3, "/state/approval/epoch": 2})
	_codes(crossed) == {"approval_epoch_changed"}
	_codes_in(crossed, core.put(fixture.bundles, "/triage/continuity/reconfirm_approval", false)) == set()
	_codes_in(crossed, core.without(fixture.bundles, "/triage/continuity")) == set()
	_codes_in(crossed, core.without(fixture.bundles, "/triage/continuity/reconfirm_approval")) == {
		"approval_epoch_changed",
	}
}

test_none_about_the_epoch_of_what_approves_nothing if {
	_codes(core.put(core.ticket, "/state/approval", null)) == set()
	_codes(core.put(core.ticket, "/state/approval/status", "pending")) == set()
	_codes(core.reading) == set()
}

test_min_epoch if {
	_min(_call, fixture.bundles) == 1
	_min(core.without(_call, "/state/run/epoch"), fixture.bundles) == null
	_min(core.put(_call, "/state/run/epoch", "1"), fixture.bundles) == null
	_min(_call, core.bundles) == null
}

_min(doc, bundles) := got if {
	got := epoch.min_epoch with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as bundles
}

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f.code | some f in epoch.raised with input as doc
	with data.gate.agents.bundle_of as core.bundle_of
	with data.gate.bundles as bundles}
