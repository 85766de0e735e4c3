package gate.identity_test

import data.gate.fixture_test as fixture
import data.gate.identity

test_none_sound if _codes(fixture.ticket) == set()

test_none_sound_reading if _codes(fixture.reading) == set()

test_none_sound_voting if _codes(fixture.voting) == set()

test_deny_empty_document if _codes({}) == _everything

test_deny_no_document if _misses_of_whole == set()

_misses_of_whole := {[doc, got] |
	some doc in fixture.no_section
	got := _codes(doc)
	got != _everything
}

_everything := {
	"schema_version_unsupported", "request_id_missing", "time_missing", "trace_missing", "checkpoint_unknown",
	"operation_unknown", "agent_identity_missing", "authorization_mode_invalid", "delegation_incomplete",
}

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(fixture.ticket, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/schema_version": {"values": array.concat(fixture.garbage, ["gate-input/v2", "GATE-INPUT/V1"]), "codes": {"schema_version_unsupported"}},
	"/request_id": {"values": array.concat(fixture.no_string, [""]), "codes": {"request_id_missing"}},
	"/now_ms": {"values": array.concat(fixture.no_number, [0, -1]), "codes": {"time_missing"}},
	"/trace": {"values": fixture.no_section, "codes": {"trace_missing"}},
	"/trace/trace_id": {"values": fixture.no_text, "codes": {"trace_missing"}},
	"/operation": {"values": array.concat(fixture.garbage, ["CALL_TOOL", "memory_write"]), "codes": {"operation_unknown"}},
	"/agent": {"values": fixture.no_section, "codes": {"agent_identity_missing"}},
	"/agent/agent_id": {"values": fixture.no_text, "codes": {"agent_identity_missing"}},
	"/identity/tenant_id": {"values": fixture.no_text, "codes": {"tenant_missing"}},
	"/identity/principal_id": {"values": fixture.no_text, "codes": {"principal_missing"}},
	"/identity": {
		"values": fixture.no_section,
		"codes": {"tenant_missing", "principal_missing", "authorization_mode_invalid", "delegation_incomplete"},
	},
	"/identity/authorization_mode": {
		"values": fixture.garbage,
		"codes": {"authorization_mode_invalid", "delegation_incomplete"},
	},
	"/identity/delegated_principal_id": {"values": fixture.no_text, "codes": {"delegation_incomplete"}},
	"/identity/delegated_scope": {"values": fixture.no_text, "codes": {"delegation_incomplete"}},
}

# An unknown checkpoint has no operations, so that both are refused (E6).
test_deny_checkpoint_unknown if _misses_of_checkpoint == set()

_misses_of_checkpoint := {[what, got] |
	some what, doc in fixture.broken(fixture.ticket, "/checkpoint", array.concat(fixture.garbage, ["TOOL_EXECUTION"]))
	got := _codes(doc)
	got != {"checkpoint_unknown", "operation_unknown"}
}

# A trace is owed at every checkpoint, not only where a tool runs.
test_deny_trace_missing_everywhere if _misses_of_trace == set()

_misses_of_trace := {[checkpoint, operation, what, got] |
	some checkpoint, operations in _pairing
	some operation in operations
	sound := object.union(fixture.ticket, {"checkpoint": checkpoint, "operation": operation})
	some what, doc in fixture.broken(sound, "/trace/trace_id", fixture.no_text)
	got := _codes(doc)
	got != {"trace_missing"}
}

# Outside tool calls the bundle's run precheck says whether tenant and principal are needed.
test_none_tenant_missing_outside_tool_execution if {
	_codes(fixture.without(fixture.without(fixture.voting, "/identity/tenant_id"), "/identity/principal_id")) == set()
}

test_none_mode_without_delegation if _misses_of_mode == set()

_misses_of_mode := {[mode, got] |
	some mode in ["platform_owned", "human_approved"]
	got := _codes(fixture.put(fixture.ticket, "/identity", {
		"tenant_id": "tenant-acme",
		"principal_id": "user-42",
		"authorization_mode": mode,
	}))
	got != set()
}

test_deny_operation_of_another_checkpoint if _misses_of_pairing == set()

_misses_of_pairing := {[checkpoint, operation, got] |
	some checkpoint, _ in _pairing
	some _, operations in _pairing
	some operation in operations
	got := _codes(object.union(fixture.ticket, {"checkpoint": checkpoint, "operation": operation}))
	got != {"operation_unknown" | not operation in _pairing[checkpoint]}
}

_pairing := {
	"input": {"run_start", "user_message", "retrieve"},
	"llm": {"model_call"},
	"state": {
		"memory_write", "compact", "reset", "recover", "rehydrate", "handoff", "fork",
		"approval_transition", "effect_transition",
	},
	"tool_execution": {"call_tool", "resume_tool", "list_tools", "elicit", "progress"},
	"output": {"emit", "notify"},
}

_codes(doc) := {f.code | some f in identity.raised with input as doc}
