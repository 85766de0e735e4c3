package gate.compound_test

import data.gate.compound
import data.gate.compound.audit
import data.gate.fixture_test as core

_bundles := json.patch(core.bundles, [
	{"op": "add", "path": "/triage/compound", "value": {
		"create_ticket": {"role": "step", "plan": "run_plan", "steps": ["create_ticket", "close_ticket"]},
		"run_plan": {"role": "plan", "plan": "run_plan", "steps": ["create_ticket", "close_ticket"]},
	}},
	{"op": "add", "path": "/triage/compound_policy", "value": {
		"adapters": ["adapter"],
		"max_age_ms": 1000,
		"reasons": {"Writer": "missing_writer"},
	}},
	{"op": "add", "path": "/triage/compound_tasks", "value": {"task": {
		"actions": ["ticket.create", "ticket.close"],
		"resources": ["queue-a", "queue-b"],
	}}},
	{"op": "add", "path": "/triage/catalog/run_plan", "value": core.bundles.triage.catalog.create_ticket},
])

_needs := [
	{"step": 0, "action": "ticket.create", "resource_ref": "queue-a", "required_access": "Writer", "decision": "allow"},
	{"step": 1, "action": "ticket.close", "resource_ref": "queue-b", "required_access": "Closer", "decision": "allow"},
]

_section := {
	"principal_ref": "user-42",
	"tenant_ref": "tenant-acme",
	"task_ref": "task",
	"plan_ref": "plan-1",
	"plan_digest": "sha256:plan",
	"adapter": "adapter",
	"checked_at_ms": 49500,
	"steps": [
		{"capability": "create_ticket", "arguments": "sha256:arguments", "resource": "queue-a"},
		{"capability": "close_ticket", "arguments": "sha256:others", "resource": "queue-b"},
	],
	"requirements": _needs,
}

_step := json.patch(core.ticket, [
	{"op": "add", "path": "/request/resource", "value": "queue-a"},
	{"op": "add", "path": "/evidence/compound_authorization", "value": _section},
	{"op": "add", "path": "/state/plan", "value": {
		"plan_ref": "plan-1",
		"plan_digest": "sha256:plan",
		"run_id": "run-1",
		"principal_id": "user-42",
		"task_ref": "task",
		"status": "in_flight",
		"lease_expires_at_ms": 60000,
		"step": 0,
		"completed_steps": 0,
		"touched_steps": 0,
	}},
])

_plan := json.patch(_step, [
	{"op": "add", "path": "/request/capability", "value": "run_plan"},
	{"op": "add", "path": "/request/arguments", "value": {
		"plan_ref": "plan-1", "plan_digest": "sha256:plan", "task_ref": "task",
	}},
	{"op": "add", "path": "/state/plan/status", "value": "not_started"},
	{"op": "add", "path": "/state/plan/step", "value": null},
])

test_none_sound_step if _codes(_step, _bundles) == set()

test_none_sound_plan if _codes(_plan, _bundles) == set()

test_none_bundle_without_plans if _codes(_step, core.bundles) == set()

test_none_capability_outside_plans if _codes(core.reading, _bundles) == set()

test_none_not_a_call if _codes(core.put(_step, "/operation", "list_tools"), _bundles) == set()

test_none_empty_document if _codes({}, _bundles) == set()

_done := {"status": "side_effect_committed", "action_digest": "sha256:action", "idempotency_key": "key-1"}

test_none_replay if {
	doc := core.put(core.without(_step, "/evidence/compound_authorization"), "/state/side_effect", _done)
	_codes(doc, _bundles) == set()
	not _stoppable(core.put(_step, "/state/side_effect", _done), _bundles)
}

_of_both := {
	"plan_adapter_untrusted", "plan_changed", "plan_evidence_missing", "plan_out_of_task",
	"plan_principal_mismatch", "plan_requirement_unknown", "plan_requirements_incomplete",
	"plan_rights_stale", "plan_step_not_allowed",
}

test_deny_section_broken if _misses_of_section == set()

_misses_of_section := {[what, got] |
	some what, doc in core.broken(_step, "/evidence/compound_authorization", [null, true, 17, "garbage", [], {}])
	got := _codes(doc, _bundles)
	got != _of_both | {"plan_step_mismatch"}
}

test_deny_section_of_the_plan_broken if _misses_of_plan_section == set()

_misses_of_plan_section := {[what, got] |
	some what, doc in core.broken(_plan, "/evidence/compound_authorization", [null, true, 17, "garbage", [], {}])
	got := _codes(doc, _bundles)
	got != _of_both | {"plan_arguments_mismatch"}
}

test_deny_each_field_of_a_step_broken if _misses_of_step == set()

_misses_of_step := {[path, what, got] |
	some path, owed in _owed
	some what, doc in core.broken(_step, path, owed.values)
	got := _codes(doc, _bundles)
	got != owed.codes
}

_place(field) := concat("", ["/evidence/compound_authorization", field])

_owed := {
	_place("/principal_ref"): {"values": core.garbage, "codes": {"plan_principal_mismatch"}},
	_place("/tenant_ref"): {"values": core.garbage, "codes": {"plan_principal_mismatch"}},
	"/identity/principal_id": {"values": core.garbage, "codes": {"plan_principal_mismatch"}},
	"/state/plan/principal_id": {"values": core.garbage, "codes": {"plan_principal_mismatch"}},
	"/state/plan/run_id": {"values": core.garbage, "codes": {"plan_principal_mismatch"}},
	_place("/plan_ref"): {"values": core.no_string, "codes": {"plan_evidence_missing", "plan_changed"}},
	_place("/plan_digest"): {"values": core.no_string, "codes": {"plan_evidence_missing", "plan_changed"}},
	_place("/task_ref"): {
		"values": core.no_string,
		"codes": {"plan_evidence_missing", "plan_changed", "plan_out_of_task"},
	},
	"/state/plan/plan_ref": {"values": core.garbage, "codes": {"plan_changed"}},
	"/state/plan/plan_digest": {"values": core.garbage, "codes": {"plan_changed"}},
	"/state/plan/task_ref": {"values": core.garbage, "codes": {"plan_changed"}},
	_place("/adapter"): {"values": core.garbage, "codes": {"plan_adapter_untrusted"}},
	_place("/checked_at_ms"): {"values": array.concat(core.no_number, [50001, 48999]), "codes": {"plan_rights_stale"}},
	"/now_ms": {"values": core.no_number, "codes": {"plan_rights_stale", "plan_not_running"}},
	"/state/plan/status": {"values": array.concat(core.garbage, ["not_started"]), "codes": {"plan_not_running"}},
	"/state/plan/lease_expires_at_ms": {"values": array.concat(core.no_number, [50000]), "codes": {"plan_not_running"}},
	"/state/plan/step": {"values": [null, true, 2, "0"], "codes": {"plan_step_mismatch", "plan_step_out_of_order"}},
	"/state/plan/completed_steps": {"values": [null, true, 1, "0"], "codes": {"plan_step_out_of_order"}},
	"/state/plan/touched_steps": {"values": [null, true, 1, "0"], "codes": {"plan_step_out_of_order"}},
	"/digests/arguments": {"values": core.garbage, "codes": {"plan_step_mismatch"}},
	"/request/resource": {"values": core.garbage, "codes": {"plan_step_mismatch"}},
	_place("/steps/0/arguments"): {"values": core.garbage, "codes": {"plan_step_mismatch"}},
	_place("/requirements/0/action"): {
		"values": core.no_string,
		"codes": {"plan_out_of_task", "plan_requirements_incomplete"},
	},
	_place("/requirements/0/resource_ref"): {
		"values": core.no_string,
		"codes": {"plan_out_of_task", "plan_requirements_incomplete"},
	},
	_place("/requirements/0/required_access"): {"values": core.no_string, "codes": {"plan_requirements_incomplete"}},
	_place("/requirements/1/step"): {"values": [null, true, 0, 2, "1"], "codes": {"plan_requirements_incomplete"}},
	_place("/requirements/1/decision"): {
		"values": core.garbage,
		"codes": {"plan_requirement_denied", "plan_requirement_unknown"},
	},
}

test_deny_capability_of_a_step_broken if _misses_of_capability == set()

_misses_of_capability := {[what, got] |
	some what, doc in core.broken(_step, _place("/steps/0/capability"), core.no_string)
	got := _codes(doc, _bundles)
	got != {"plan_requirements_incomplete", "plan_step_mismatch", "plan_step_not_allowed"}
}

test_deny_capability_of_a_step_not_of_the_plan if {
	_codes(core.put(_step, _place("/steps/0/capability"), "other"), _bundles) == {"plan_step_mismatch", "plan_step_not_allowed"}
	_codes(core.put(_step, _place("/steps/1/capability"), "other"), _bundles) == {"plan_step_not_allowed"}
}

test_decisions if _misses_of_decision == set()

_misses_of_decision := {[word, got] |
	some word, codes in {
		"allow": set(),
		"deny": {"plan_requirement_denied"},
		"unknown": {"plan_requirement_unknown"},
		"unavailable": {"plan_requirement_unknown"},
		"ALLOW": {"plan_requirement_denied", "plan_requirement_unknown"},
	}
	some doc in [_step, _plan]
	got := _codes(core.put(doc, _place("/requirements/1/decision"), word), _bundles)
	got != codes
}

test_task if _misses_of_task == set()

_misses_of_task := {[path, value, got] |
	some path, value in {
		_place("/requirements/0/action"): "ticket.delete",
		_place("/requirements/0/resource_ref"): "queue-z",
	}
	got := _codes(core.put(_plan, path, value), _bundles)
	got != {"plan_out_of_task"}
}

test_deny_arguments_of_the_plan_broken if _misses_of_arguments == set()

_misses_of_arguments := {[path, what, got] |
	some path in ["/request/arguments/plan_ref", "/request/arguments/plan_digest", "/request/arguments/task_ref"]
	some what, doc in core.broken(_plan, path, core.garbage)
	got := _codes(doc, _bundles)
	got != {"plan_arguments_mismatch"}
}

test_deny_policy_of_the_bundle_broken if _misses_of_policy == set()

_misses_of_policy := {[path, what, got] |
	some path, code in {
		"/triage/compound_policy/adapters": "plan_adapter_untrusted",
		"/triage/compound_policy/max_age_ms": "plan_rights_stale",
		"/triage/compound_tasks/task": "plan_out_of_task",
		"/triage/compound/create_ticket/steps": "plan_step_not_allowed",
	}
	some what, bundles in core.broken(_bundles, path, [null, "garbage"])
	got := _codes(_step, bundles)
	got != {code}
}

# A role that nobody knows has the duties of both.
test_role_unknown if {
	bundles := core.put(_bundles, "/triage/compound/create_ticket/role", "helper")
	_codes(_step, bundles) == {"plan_arguments_mismatch"}
}

test_stoppable_running_step_only if {
	_stoppable(_step, _bundles)
	not _stoppable(_plan, _bundles)
	not _stoppable(core.put(_step, "/state/plan/status", "partial_side_effect"), _bundles)
	not _stoppable(_step, core.bundles)
}

test_stopped_as if _misses_of_stopping == set()

_misses_of_stopping := {[touched, got] |
	some row in [
		[0, "failed_before_effect"], [1, "partial_side_effect"], [null, "partial_side_effect"],
		["0", "partial_side_effect"],
	]
	[touched, owed] := row
	got := compound.stopped_as with input as core.put(_step, "/state/plan/touched_steps", touched)
	got != owed
}

test_audit_null_outside_plans if _kept(_step, core.bundles) == null

test_audit_of_an_allowed_plan if _kept(_plan, _bundles) == {
	"principal_ref": "user-42",
	"task_ref": "task",
	"plan_ref": "plan-1",
	"plan_digest": "sha256:plan",
	"policy_version": "2026.04.07",
	"requirements": [object.remove(need, ["step"]) | some need in _needs],
	"decision": "allow",
	"reason": "all_requirements_allowed",
}

test_audit_gives_the_bundles_own_reason if {
	doc := core.put(_plan, _place("/requirements/0/decision"), "deny")
	kept := _kept(doc, _bundles)
	[kept.decision, kept.reason] == ["deny", "missing_writer"]
}

test_audit_gives_the_code_where_the_bundle_has_no_word if {
	doc := core.put(_plan, _place("/requirements/1/decision"), "deny")
	_kept(doc, _bundles).reason == "plan_requirement_denied"
}

test_audit_of_a_bundle_without_version if {
	_kept(_plan, core.without(_bundles, "/triage/bundle/version")).policy_version == null
}

test_audit_complete_without_evidence if {
	kept := _kept(core.put(_plan, "/evidence/compound_authorization", null), _bundles)
	[kept.plan_ref, kept.plan_digest, kept.task_ref, kept.principal_ref, kept.requirements, kept.decision] == [
		null, null, null, null, [],
		"deny",
	]
}

_codes(doc, bundles) := {f.code | some f in raised} if {
	raised := compound.raised with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as bundles
}

_stoppable(doc, bundles) if {
	compound.stoppable with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as bundles
}

_kept(doc, bundles) := kept if {
	kept := audit.kept with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as bundles
}
