package gate.longtask_test

import data.gate.continuity.epoch
import data.gate.fixture_test as core
import data.gate.longtask
import data.gate.longtask.fixture_test as fixture
import data.gate.longtask.section

test_none_without_meaning if {
	_codes(core.ticket) == set()
	_codes({}) == set()
	_codes(core.put(core.ticket, "/state/longtask", null)) == set()
}

test_deny_a_section_that_fits_nowhere if _misses == set()

_misses := {[what, got] |
	some what, doc in {
		"at a call": core.put(core.ticket, "/state/longtask", fixture.committing.state.longtask),
		"rehydrate at compact": fixture.puts(fixture.committing, {"/phase": "rehydrate"}),
		"commit at rehydrate": fixture.puts(fixture.rehydrating, {"/phase": "commit"}),
		"no phase": core.without(fixture.committing, "/state/longtask/phase"),
		"no object": core.put(fixture.committing, "/state/longtask", "commit"),
	}
	got := _codes(doc)
	got != {"longtask_phase_invalid"}
}

test_none_section_where_it_belongs if {
	set() == {f.code | some f in section.findings with input as fixture.committing}
	set() == {f.code | some f in section.findings with input as fixture.rehydrating}
}

test_none_sound_commit if _codes(fixture.committing) == set()

test_none_sound_rehydration if _codes(fixture.rehydrating) == set()

# A compaction's second half is asked inside the boundary that its first half opened, and inside no other.
test_open_boundary_is_no_finding_only_for_its_own_pair if {
	_epoch(fixture.committing) == set()
	_epoch(fixture.puts(fixture.committing, {"/envelope_id": "ce-2"})) == {"boundary_open"}
	_epoch(core.put(fixture.committing, "/state/run/boundary/status", "sealed")) == {"boundary_open"}
	_epoch(core.without(fixture.committing, "/state/longtask")) == {"boundary_open"}
}

_epoch(doc) := {f.code | some f in epoch.raised with input as doc}

_codes(doc) := {f.code | some f in longtask.raised with input as doc}

test_step_after_a_failed_compaction_until_none_is_left if {
	{n: _codes(_step(n)) | some n in [0, 7, 8, 9]} == {0: set(), 7: set(), 8: {"compaction_overdue"}, 9: {"compaction_overdue"}}
	{n | some n in core.no_number; _codes(_step(n)) != {"compaction_overdue"}} == set()
	_codes(core.without(_step(1), "/state/longtask/steps_since_failure")) == {"compaction_overdue"}
}

test_step_after_a_failed_compaction_until_as_many_as_the_bundle_says_are_left if {
	{n: _codes_in(_step(n), 2) | some n in [0, 1, 2, 7]} == {0: set(), 1: set(), 2: {"compaction_overdue"}, 7: {"compaction_overdue"}}
	_codes_in(_step(8), 9) == set()
	{n | some n in core.no_number; _codes_in(_step(0), n) != {"compaction_overdue"}} == set()
	{f.source | some f in _raised_in(_step(2), 2)} == {"continuity.yaml#/continuity/max_steps_after_failed_compaction"}
	{f.source | some f in _raised_in(_step(8), null)} == {""}
}

_codes_in(doc, most) := {f.code | some f in _raised_in(doc, most)}

_raised_in(doc, most) := found if {
	bundles := core.put(core.bundles, "/triage/continuity", {"max_steps_after_failed_compaction": most})
	found := longtask.raised with input as doc with data.gate.bundles as bundles with data.gate.agents.bundle_of as core.bundle_of
}

_step(count) := core.put(
	core.put(core.ticket, "/operation", "model_call"),
	"/state/longtask",
	{"phase": "step", "steps_since_failure": count},
)

test_refuse_to_leave_the_meaning_out_that_was_committed if {
	bare := core.without(fixture.rehydrating, "/state/longtask")
	_codes(bare) == set()
	_codes(core.put(bare, "/state/continuity/boundary/pair", null)) == set()
	_codes(core.put(bare, "/state/continuity/boundary/pair", "cp-1")) == {"meaning_not_presented"}
	_codes(core.put(fixture.rehydrating, "/state/continuity/boundary/pair", "cp-1")) == set()
}
