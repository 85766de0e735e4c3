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

_epoch(doc) := {f.code | some f in epoch.findings with input as doc}

_codes(doc) := {f.code | some f in longtask.raised with input as doc}
