package system.log_test

import data.system.log

_input := {
	"schema_version": "gate-input/v1",
	"checkpoint": "tool_execution",
	"operation": "call_tool",
	"request_id": "r-1",
	"now_ms": 1,
	"trace": {"trace_id": "t-1", "session_id": "s-1", "run_id": "run-1", "step": 2, "note": "secret"},
	"agent": {"agent_id": "agent-a", "role": {"deep": "secret"}},
	"identity": {"tenant_id": "acme", "principal_id": "secret"},
	"digests": {"action_digest": "sha256:aa"},
	"request": {
		"capability": "send",
		"arguments": {"to": "team", "a/b": true, "body": "secret", "list": ["secret"]},
		"text": "secret",
	},
	"evidence": {"arguments": {"valid": true}},
	"envelope": {"facts": ["secret"]},
	"state": {"approval": {"reason": "secret"}},
}

_event := {"path": "gate/decision", "input": _input}

_bundles := {"one": {
	"catalog": {"send": {}},
	"bundle": {"show_arguments": {"send": ["/to", "/a~1b", "/list", "/gone"]}},
}}

_masked(event) := [m.value | some m in masks] if {
	masks := log.mask with input as event
		with data.gate.agents as {"bundle_of": {"agent-a": "one"}}
		with data.gate.bundles as _bundles
}

_kept := {
	"schema_version": "gate-input/v1",
	"checkpoint": "tool_execution",
	"operation": "call_tool",
	"request_id": "r-1",
	"now_ms": 1,
	"trace": {"trace_id": "t-1", "session_id": "s-1", "run_id": "run-1", "step": 2},
	"agent": {"agent_id": "agent-a"},
	"identity": {"tenant_id": "acme"},
	"digests": {"action_digest": "sha256:aa"},
}

test_only_safe_fields_and_shown_arguments_stay if {
	shown := {"/to": "team", "/a~1b": true}
	_masked(_event) == [object.union(_kept, {"request": {"capability": "send", "shown_arguments": shown}})]
}

test_capability_nobody_knows_is_not_logged if {
	strange := json.patch(_event, [{"op": "replace", "path": "/input/request/capability", "value": "secret"}])
	_masked(strange) == [_kept]
}

test_agent_nobody_governs_shows_no_argument if {
	strange := json.patch(_event, [{"op": "replace", "path": "/input/agent/agent_id", "value": "agent-b"}])
	_masked(strange) == [object.union(_kept, {"agent": {"agent_id": "agent-b"}})]
}

test_arguments_of_wrong_type_are_not_logged if {
	strange := json.patch(_event, [{"op": "replace", "path": "/input/request/arguments", "value": "secret"}])
	_masked(strange) == [object.union(_kept, {"request": {"capability": "send", "shown_arguments": {}}})]
}

test_arguments_that_are_not_known_to_be_valid_are_not_logged if {
	every value in [null, false, "true", 1, {}] {
		strange := json.patch(_event, [{"op": "replace", "path": "/input/evidence/arguments/valid", "value": value}])
		_masked(strange) == [object.union(_kept, {"request": {"capability": "send", "shown_arguments": {}}})]
	}
}

test_sections_of_wrong_type_or_absent_leave_nothing if {
	every value in ["secret", ["secret"], null, 1] {
		_masked({"path": "gate/decision", "input": {"trace": value, "agent": value, "request": value}}) == [{"trace": {}, "agent": {}}]
	}
}

test_input_that_is_none_is_erased_whole if {
	every event in [{}, {"input": null}, {"input": "secret"}, {"input": ["secret"]}] {
		_masked(event) == [{}]
	}
}

test_facts_are_dropped_and_decisions_kept if {
	not log.drop with input as _event
	log.drop with input as {"path": "gate/facts/document"}
	log.drop with input as {}
}
