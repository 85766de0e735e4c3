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
	"run_mismatch", "authorization_changed",
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
	"/identity": {
		"values": fixture.no_section,
		"codes": {"tenant_mismatch", "principal_mismatch", "authorization_changed"},
	},
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

# As whom and with which scope a run acts was settled when it started.
test_deny_authorization_of_another_run if _misses_of_authorization == set()

_misses_of_authorization := {[side, field, what, got] |
	some side in ["/state/run", "/identity"]
	some field, other in {
		"authorization_mode": "platform_owned",
		"delegated_principal_id": "USER-42",
		"delegated_scope": "tickets:create tickets:close",
	}
	path := concat("/", [side, field])
	some what, doc in fixture.broken(fixture.ticket, path, array.concat(fixture.garbage, [other]))
	got := _codes(doc)
	got != {"authorization_changed"}
}

# null equals null, and nothing else does: a field that is absent on one side or on both is no null.
test_none_run_that_nobody_delegated if _codes(_alone) == set()

test_deny_run_that_does_not_say_that_nobody_delegated if _misses_of_silence == set()

_misses_of_silence := {[paths, got] |
	some field in ["authorization_mode", "delegated_principal_id", "delegated_scope"]
	run_side := concat("/", ["/state/run", field])
	identity_side := concat("/", ["/identity", field])
	some paths in [[run_side], [identity_side], [run_side, identity_side]]
	got := _codes(json.remove(_alone, paths))
	got != {"authorization_changed"}
}

_alone := object.union(fixture.ticket, {
	"identity": _nobody,
	"state": {"run": _nobody},
})

_nobody := {"authorization_mode": "platform_owned", "delegated_principal_id": null, "delegated_scope": null}

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

# People vote and reconcile when the run waits, has ended, or was another principal's, and as themselves: tenant, agent
# and run still bind.
test_none_transition_by_another_person_after_the_run if _misses_of_transition == set()

_misses_of_transition := {[doc, got] |
	some sound in [fixture.voting, fixture.reconciling]
	some field in [
		"status", "principal_id", "session_id", "authorization_mode", "delegated_principal_id", "delegated_scope",
	]
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

_codes(doc) := {f.code | some f in run.raised with input as doc}
