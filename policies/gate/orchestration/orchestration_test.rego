package gate.orchestration_test

import data.gate.fixture_test as fixture
import data.gate.orchestration
import data.gate.runtime.fixture_test as controls

_worker := json.patch(fixture.ticket, [
	{"op": "add", "path": "/agent/role", "value": "worker"},
	{"op": "add", "path": "/agent/parent_agent_id", "value": "parent-agent"},
	{"op": "add", "path": "/agent/orchestration_pattern", "value": "orchestrator_workers"},
	{"op": "add", "path": "/evidence/handoff", "value": {
		"from_agent_id": "parent-agent",
		"to_agent_id": "triage-agent",
		"tenant_id": "tenant-acme",
		"principal_id": "user-42",
		"delegated_scope": "tickets:create",
	}},
	{"op": "add", "path": "/evidence/worker_review", "value": {
		"verdict": "passed",
		"reviewer_id": "parent-agent",
		"action_digest": "sha256:action",
	}},
])

_searching := json.patch(fixture.reading, [
	{"op": "add", "path": "/agent/role", "value": "worker"},
	{"op": "add", "path": "/identity/authorization_mode", "value": "platform_owned"},
])

_in_pattern(doc, pattern) := fixture.put(doc, "/agent/orchestration_pattern", pattern)

test_none_sound if {_codes(doc, controls.bundles) | some doc in [fixture.ticket, _worker, _searching]} == {set()}

test_none_agent_fields_null if {
	doc := json.patch(fixture.ticket, [
		{"op": "add", "path": "/agent/role", "value": null},
		{"op": "add", "path": "/agent/parent_agent_id", "value": null},
		{"op": "add", "path": "/agent/orchestration_pattern", "value": null},
	])
	_codes(doc, controls.bare) == set()
}

test_none_empty_document if _codes({}, controls.bundles) == set()

test_none_plain_call_without_controls if _codes(fixture.ticket, controls.bare) == set()

test_deny_without_controls if {
	_codes(_worker, controls.bare) == {
		"orchestration_pattern_not_allowed", "worker_authority_not_inherited",
		"worker_capability_not_allowed",
	}
	_codes(_searching, controls.bare) == {"worker_capability_not_allowed"}
	_codes(fixture.put(_searching, "/evidence/handoff", null), controls.bare) == {"worker_capability_not_allowed"}
}

# The patterns of the bundle, and one closed to a capability.
test_pattern_pairs if {[name, pattern, codes] |
	some name, doc in {"reading": fixture.reading, "ticket": fixture.ticket}
	some pattern in ["single_agent", "prompt_chaining", "routing", "parallelization", "evaluator_optimizer"]
	codes := _codes(_in_pattern(doc, pattern), controls.bundles)
	codes != set()
} == {
	["reading", "prompt_chaining", {"orchestration_pattern_not_allowed"}],
	["reading", "evaluator_optimizer", {"orchestration_pattern_not_allowed"}],
	["ticket", "prompt_chaining", {"orchestration_pattern_not_allowed"}],
	["ticket", "evaluator_optimizer", {"orchestration_pattern_not_allowed"}],
	["ticket", "parallelization", {"orchestration_pattern_disallowed"}],
}

test_none_nothing_disallowed if {
	bundles := fixture.without(controls.bundles, "/triage/orchestration_controls/disallowed_orchestration_patterns")
	_codes(_in_pattern(fixture.ticket, "parallelization"), bundles) == set()
}

# A pattern nobody knows is not allowed, and may be one with workers.
test_deny_pattern_unknown if _misses_of_pattern == set()

_misses_of_pattern := {[value, got] |
	some value in ["garbage", "", "ROUTING"]
	got := _codes(_in_pattern(_searching, value), controls.bundles)
	got != {"orchestration_pattern_not_allowed"}
}

test_deny_pattern_no_string if _misses_of_type == set()

_misses_of_type := {[value, got] |
	some value in [true, false, 17, ["routing"], {}]
	got := _codes(_in_pattern(_searching, value), controls.bundles)
	got != {"orchestration_pattern_not_allowed", "orchestration_pattern_disallowed"}
}

test_independent_agents if {[role, parent, pattern] |
	some role in [null, "agent", "orchestrator", "worker", "Agent", "", 17]
	some parent in [null, "parent-agent", "", false]
	some pattern in [null, "single_agent", "routing", "orchestrator_workers", "garbage", 17]
	_independent(json.patch(fixture.ticket, [
		{"op": "add", "path": "/agent/role", "value": role},
		{"op": "add", "path": "/agent/parent_agent_id", "value": parent},
		{"op": "add", "path": "/agent/orchestration_pattern", "value": pattern},
	]))
} == {[role, null, pattern] |
	some role in ["agent", "orchestrator"]
	some pattern in [null, "single_agent", "routing", "orchestrator_workers", "garbage", 17]
} | {[null, null, pattern] | some pattern in [null, "single_agent", "routing"]}

_independent(doc) if orchestration.independent with input as doc

test_deny_worker_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(_worker, path, owed.values)
	got := _codes(doc, controls.bundles)
	got != owed.codes
}

_disinherited := {"worker_authority_not_inherited"}

_unreviewed := {"worker_write_not_reviewed"}

_owed := {
	"/agent/parent_agent_id": {"values": fixture.garbage, "codes": _disinherited},
	"/evidence/handoff": {"values": fixture.no_section, "codes": _disinherited},
	"/evidence/handoff/from_agent_id": {"values": fixture.garbage, "codes": _disinherited},
	"/evidence/handoff/to_agent_id": {"values": fixture.garbage, "codes": _disinherited},
	"/evidence/handoff/principal_id": {"values": fixture.garbage, "codes": _disinherited},
	"/evidence/handoff/delegated_scope": {"values": array.concat(fixture.garbage, ["tickets:*"]), "codes": _disinherited},
	"/identity": {"values": fixture.no_section, "codes": _disinherited},
	"/evidence/worker_review": {"values": fixture.no_section, "codes": _unreviewed},
	"/evidence/worker_review/verdict": {"values": array.concat(fixture.garbage, ["failed", "PASSED"]), "codes": _unreviewed},
	"/evidence/worker_review/action_digest": {"values": fixture.garbage, "codes": _unreviewed},
	"/evidence/worker_review/reviewer_id": {"values": array.concat(fixture.no_text, ["triage-agent"]), "codes": _unreviewed},
	"/digests": {"values": fixture.no_section, "codes": _unreviewed},
}

test_deny_control_missing if _misses_of_controls == set()

_misses_of_controls := {[name, what, got] |
	some name, owed in {
		"allowed_orchestration_patterns": [_worker, {"orchestration_pattern_not_allowed"}],
		"worker_inheritance_policy": [_worker, _disinherited],
		"worker_capability_subset": [_worker, {"worker_capability_not_allowed"}],
		"review_required_before_worker_write": [
			fixture.put(_worker, "/evidence/worker_review", null),
			_unreviewed,
		],
	}
	some what, bundles in controls.missing(name)
	got := _codes(owed[0], bundles)
	got != owed[1]
}

test_deny_capability_not_in_the_subset if {
	_codes(_worker, controls.having("worker_capability_subset", ["search_docs"])) == {"worker_capability_not_allowed"}
}

test_none_review_not_required if {
	bundles := controls.having("review_required_before_worker_write", false)
	_codes(fixture.put(_worker, "/evidence/worker_review", null), bundles) == set()
}

test_inheritance_policies if {
	_codes(_worker, controls.having("worker_inheritance_policy", "denied")) == _disinherited
	_codes(_searching, controls.having("worker_inheritance_policy", "denied")) == set()
	doc := fixture.put(_worker, "/evidence/handoff", null)
	_codes(doc, controls.having("worker_inheritance_policy", "same_run")) == set()
	_codes(doc, controls.bundles) == _disinherited
}

test_deny_same_run_broken if _misses_of_run == set()

_misses_of_run := {[path, what, got] |
	some path in ["/trace/run_id", "/state/run/run_id", "/agent/parent_agent_id"]
	some what, doc in fixture.broken(fixture.put(_worker, "/evidence/handoff", null), path, fixture.no_string)
	got := _codes(doc, controls.having("worker_inheritance_policy", "same_run"))
	got != _disinherited
}

# A call in a user's name, or one that somebody has to approve, is made in another's authority.
test_deny_authority_of_another if {
	_codes(fixture.put(_searching, "/identity/authorization_mode", "user_delegated"), controls.bundles) == _disinherited
	bundles := fixture.put(controls.bundles, "/triage/catalog/search_docs/approval", "manager")
	_codes(_searching, bundles) == {"worker_authority_not_inherited", "worker_write_not_reviewed"}
}

_codes(doc, bundles) := {f.code |
	some f in orchestration.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
