package gate.controls_test

import data.gate.controls
import data.gate.fixture_test as fixture

_sound := {"agent": {"agent_id": "triage-agent"}, "evidence": {
	"signals": {"memory_provenance_enforced": true, "idempotency_keys_present": true, "direct_access": false},
	"evals": {"duplicate_ticket": ["ticket_duplicate_ticket"]},
	"golden": [
		{
			"id": "ticket_duplicate_ticket",
			"passed": true,
			"trace_id": "trace-1",
			"audit": {"request_id": "req-1", "trace_id": "trace-1"},
			"rules": ["cap_110"],
		},
		{
			"id": "trace_missing",
			"passed": true,
			"trace_id": null,
			"audit": {"request_id": "req-2", "trace_id": null},
			"rules": ["gate.identity", "gate.run"],
		},
	],
	"probes": [
		{"capability": "create_ticket", "lacks": "approval", "codes": ["approval_missing"]},
		{"capability": "create_ticket", "lacks": "idempotency_key", "codes": ["idempotency_key_missing"]},
	],
}}

_names := [
	"memory_provenance_enforced", "policy_traces_present", "golden_cases_passed", "duplicate_ticket_eval_passed",
	"idempotency_keys_present", "create_ticket_approval_required", "create_ticket_idempotency_key_required",
]

test_healthy_sound if _report(_sound, _bundles) == {
	"healthy": true,
	"required_controls": _names,
	"blocked_findings_expected": ["direct_access"],
	"missing_controls": [],
	"failed_run_controls": [],
	"preserved_failed_run_controls": ["memory_provenance_enforced", "policy_traces_present"],
	"failed_run_controls_healthy": true,
	"support_duplicate_controls": [],
	"preserved_support_duplicate_controls": ["duplicate_ticket_eval_passed", "idempotency_keys_present"],
	"support_duplicate_controls_healthy": true,
	"blocking_findings": [],
	"inventory_drift": {"has_drift": false, "missing_from_catalog": [], "missing_from_inventory": []},
}

# Nothing observed: everything required is missing, whatever was not said counts as false.
test_unhealthy_nothing_observed if _misses_of_silence == set()

_misses_of_silence := {[doc, got] |
	some doc in array.concat(
		[{"agent": {"agent_id": "triage-agent"}}],
		[fixture.put(_sound, "/evidence", value) | some value in fixture.no_section],
	)
	report := _report(doc, _bundles)
	got := [
		report.healthy, report.missing_controls, report.failed_run_controls, report.failed_run_controls_healthy,
		report.support_duplicate_controls, report.support_duplicate_controls_healthy, report.blocking_findings,
	]
	got != [
		false, _names, ["memory_provenance_enforced", "policy_traces_present"], false,
		["duplicate_ticket_eval_passed", "idempotency_keys_present"], false, [],
	]
}

test_missing_each_control_by_what_it_rests_on if _misses == set()

_misses := {[path, what, got] |
	some path, owed in {
		"/evidence/signals/memory_provenance_enforced": {
			"values": fixture.no_true,
			"missing": ["memory_provenance_enforced"],
		},
		"/evidence/signals/idempotency_keys_present": {
			"values": fixture.no_true,
			"missing": ["idempotency_keys_present"],
		},
		"/evidence/evals/duplicate_ticket": {
			"values": [null, true, "ticket_duplicate_ticket", [], {}, ["other"], ["ticket_duplicate_ticket", "other"]],
			"missing": ["duplicate_ticket_eval_passed"],
		},
		"/evidence/golden/1/passed": {"values": fixture.no_true, "missing": ["golden_cases_passed"]},
		"/evidence/golden/1/trace_id": {"values": ["garbage"], "missing": ["policy_traces_present"]},
		"/evidence/golden/1/audit": {"values": fixture.no_section, "missing": ["policy_traces_present"]},
		"/evidence/golden/1/audit/request_id": {"values": fixture.no_string, "missing": ["policy_traces_present"]},
		"/evidence/golden/1/rules": {
			"values": [null, [], ["cap_110", " "], ["cap_110", null]],
			"missing": ["policy_traces_present"],
		},
		"/evidence/probes/0/codes": {
			"values": [null, true, [], {}, ["approval_pending"], "approval_missing"],
			"missing": ["create_ticket_approval_required"],
		},
		"/evidence/probes/0/capability": {"values": fixture.garbage, "missing": ["create_ticket_approval_required"]},
		"/evidence/probes/0/lacks": {"values": fixture.garbage, "missing": ["create_ticket_approval_required"]},
		"/evidence/probes/1/codes": {
			"values": [null, true, [], {}, "idempotency_key_missing"],
			"missing": ["create_ticket_idempotency_key_required"],
		},
	}
	some what, doc in fixture.broken(_sound, path, owed.values)
	report := _report(doc, _bundles)
	got := [report.healthy, report.missing_controls]
	got != [false, owed.missing]
}

test_missing_golden_cases_that_are_not_there if {
	report := _report(fixture.put(_sound, "/evidence/golden", []), _bundles)
	report.missing_controls == ["policy_traces_present", "golden_cases_passed", "duplicate_ticket_eval_passed"]
}

# A safeguard that was taken out of the bundle is missing, whatever the policies answered and a signal says.
test_missing_safeguard_removed_from_the_bundle if _misses_of_safeguards == set()

_misses_of_safeguards := {[path, what, got] |
	some path, owed in {
		"/triage/catalog/create_ticket/mode": {"values": ["read"], "missing": _guards},
		"/triage/catalog/create_ticket/approval": {"values": ["none"], "missing": ["create_ticket_approval_required"]},
		"/triage/decisions/create_ticket": {
			"values": ["allow", "deny", null],
			"missing": ["create_ticket_approval_required"],
		},
		"/triage/catalog/create_ticket/idempotency_key_required": {
			"values": fixture.no_true,
			"missing": ["create_ticket_idempotency_key_required"],
		},
	}
	some what, bundles in fixture.broken(_bundles, path, owed.values)
	claimed := {name: true | some name in _names}
	doc := fixture.put(_sound, "/evidence/signals", object.union(_sound.evidence.signals, claimed))
	report := _report(doc, bundles)
	got := [report.healthy, report.missing_controls]
	got != [false, owed.missing]
}

_guards := ["create_ticket_approval_required", "create_ticket_idempotency_key_required"]

test_blocking_finding if {
	report := _report(fixture.put(_sound, "/evidence/signals/direct_access", true), _bundles)
	[report.healthy, report.missing_controls, report.blocking_findings] == [false, [], ["direct_access"]]
}

test_drift_in_both_directions if {
	bundles := fixture.put(_bundles, "/triage/inventory/approved", {"create_ticket": true, "zeta": true, "alpha": true})
	report := _report(_sound, bundles)
	[report.healthy, report.blocking_findings, report.inventory_drift] == [
		false,
		["inventory_drift_present"],
		{"has_drift": true, "missing_from_catalog": ["alpha", "zeta"], "missing_from_inventory": ["search_docs"]},
	]
}

test_none_drift_of_what_the_policy_only_denies if {
	bundles := fixture.put(
		fixture.put(_bundles, "/triage/inventory/approved", {"create_ticket": true}),
		"/triage/decisions/search_docs", "deny",
	)
	_report(_sound, bundles).inventory_drift.has_drift == false
}

test_drift_without_inventory if {
	report := _report(_sound, fixture.without(_bundles, "/triage/inventory"))
	report.inventory_drift == {
		"has_drift": true,
		"missing_from_catalog": [],
		"missing_from_inventory": ["create_ticket", "search_docs"],
	}
}

test_unhealthy_no_controls_at_all if {
	report := _report(_sound, {"triage": object.remove(_bundles.triage, ["required_controls", "blocking_controls"])})
	[report.healthy, report.required_controls, report.blocked_findings_expected] == [false, [], []]
}

test_unhealthy_agent_not_governed if _report({}, _bundles).healthy == false

_bundles := {"triage": object.union(fixture.bundles.triage, {
	"inventory": {"agent_id": "triage-agent", "approved": {"create_ticket": true, "search_docs": true}},
	"required_controls": {
		"policy_traces_present": {"at": 1, "kind": "policy_traces_present", "subject": ""},
		"memory_provenance_enforced": {"at": 0, "kind": "signal", "subject": ""},
		"golden_cases_passed": {"at": 2, "kind": "golden_cases_passed", "subject": ""},
		"duplicate_ticket_eval_passed": {"at": 3, "kind": "eval_passed", "subject": "duplicate_ticket"},
		"idempotency_keys_present": {"at": 4, "kind": "signal", "subject": ""},
		"create_ticket_approval_required": {"at": 5, "kind": "approval_required", "subject": "create_ticket"},
		"create_ticket_idempotency_key_required": {
			"at": 10,
			"kind": "idempotency_key_required",
			"subject": "create_ticket",
		},
	},
	"blocking_controls": {"direct_access": {"at": 0, "kind": "signal", "subject": ""}},
})}

_report(doc, bundles) := report if {
	report := controls.report with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
