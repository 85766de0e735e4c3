package gate.run_test

import data.gate.fixture_test as fixture
import data.gate.run

test_none_sound if _codes(fixture.ticket) == set()

test_none_sound_reading if _codes(fixture.reading) == set()

test_none_sound_voting if _codes(fixture.voting) == set()

test_none_sound_reconciling if _codes(fixture.reconciling) == set()

test_deny_empty_document if _codes({}) == _everything

test_deny_no_document if _misses_of_whole == set()

_misses_of_whole := {[doc, got] |
	some doc in fixture.no_section
	got := _codes(doc)
	got != _everything
}

_everything := {
	"run_not_running", "tenant_mismatch", "principal_mismatch", "agent_mismatch", "session_mismatch",
	"run_mismatch",
}

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(fixture.ticket, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/state": {"values": fixture.no_section, "codes": _everything},
	"/state/run": {"values": fixture.no_section, "codes": _everything},
	"/state/run/status": {
		"values": array.concat(fixture.garbage, ["paused", "completed", "cancelled", "stopped", "RUNNING"]),
		"codes": {"run_not_running"},
	},
	"/state/run/tenant_id": {"values": fixture.garbage, "codes": {"tenant_mismatch"}},
	"/state/run/principal_id": {"values": fixture.garbage, "codes": {"principal_mismatch"}},
	"/state/run/agent_id": {"values": fixture.garbage, "codes": {"agent_mismatch"}},
	"/state/run/session_id": {"values": fixture.garbage, "codes": {"session_mismatch"}},
	"/identity": {"values": fixture.no_section, "codes": {"tenant_mismatch", "principal_mismatch"}},
	"/identity/tenant_id": {
		"values": array.concat(fixture.garbage, ["tenant-other", "Tenant-Acme"]),
		"codes": {"tenant_mismatch"},
	},
	"/identity/principal_id": {"values": array.concat(fixture.garbage, ["USER-42"]), "codes": {"principal_mismatch"}},
	"/agent/agent_id": {"values": fixture.garbage, "codes": {"agent_mismatch"}},
	"/trace/session_id": {"values": fixture.garbage, "codes": {"session_mismatch"}},
	"/trace": {"values": fixture.no_section, "codes": {"session_mismatch", "run_mismatch"}},
	"/trace/run_id": {"values": array.concat(fixture.garbage, ["run-9", "RUN-1"]), "codes": {"run_mismatch"}},
	"/state/run/run_id": {"values": array.concat(fixture.garbage, ["run-9"]), "codes": {"run_mismatch"}},
}

# Two absent or two equally wrong sides are no match.
test_deny_both_sides_alike_but_no_string if _misses_of_both == set()

_misses_of_both := {[path, value, got] |
	some path, owed in {
		"tenant_id": ["/identity/tenant_id", {"tenant_mismatch"}],
		"principal_id": ["/identity/principal_id", {"principal_mismatch"}],
		"agent_id": ["/agent/agent_id", {"agent_mismatch"}],
		"session_id": ["/trace/session_id", {"session_mismatch"}],
		"run_id": ["/trace/run_id", {"run_mismatch"}],
	}
	some value in fixture.no_string
	doc := fixture.put(fixture.put(fixture.ticket, owed[0], value), concat("/", ["/state/run", path]), value)
	got := _codes(doc)
	got != owed[1]
}

test_none_run_start_without_run if {
	_codes(fixture.put(fixture.put(fixture.ticket, "/operation", "run_start"), "/state", null)) == set()
}

# People vote and reconcile when the run waits, has ended, or was another principal's: tenant, agent and run still bind.
test_none_transition_by_another_person_after_the_run if _misses_of_transition == set()

_misses_of_transition := {[doc, got] |
	some sound in [fixture.voting, fixture.reconciling]
	some field in ["status", "principal_id", "session_id"]
	doc := fixture.put(sound, concat("/", ["/state/run", field]), "another")
	got := _codes(doc)
	got != set()
}

test_deny_transition_of_another if _misses_of_another == set()

_misses_of_another := {[sound.operation, path, what, got] |
	some sound in [fixture.voting, fixture.reconciling]
	some path, code in {
		"/state/run/tenant_id": "tenant_mismatch",
		"/identity/tenant_id": "tenant_mismatch",
		"/state/run/agent_id": "agent_mismatch",
		"/agent/agent_id": "agent_mismatch",
		"/state/run/run_id": "run_mismatch",
		"/trace/run_id": "run_mismatch",
	}
	some what, doc in fixture.broken(sound, path, array.concat(fixture.garbage, ["another"]))
	got := _codes(doc)
	got != {code}
}

test_deny_transition_without_run if _misses_of_absent_run == set()

_misses_of_absent_run := {[sound.operation, what, got] |
	some sound in [fixture.voting, fixture.reconciling]
	some what, doc in fixture.broken(sound, "/state/run", fixture.no_section)
	got := _codes(doc)
	got != {"tenant_mismatch", "agent_mismatch", "run_mismatch"}
}

_codes(doc) := {f.code | some f in run.findings with input as doc}
