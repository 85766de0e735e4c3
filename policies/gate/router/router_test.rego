package gate.router_test

import data.gate.fixture_test as fixture
import data.gate.router

test_bundle_finding_of_the_governing_bundle if _codes(fixture.ticket) == {"configured_allow"}

test_deny_empty_document if _codes({}) == {"agent_not_governed"}

test_deny_agent_broken if _misses == set()

_misses := {[path, what, got] |
	some path, values in {
		"/agent": fixture.no_section,
		"/agent/agent_id": array.concat(fixture.garbage, ["triage", "TRIAGE-AGENT", "triage-agent "]),
	}
	some what, doc in fixture.broken(fixture.ticket, path, values)
	got := _codes(doc)
	got != {"agent_not_governed"}
}

test_deny_no_bundles_at_all if _misses_of_bundles == set()

_misses_of_bundles := {[bundles, got] |
	some bundles in [{}, null, "garbage", [], {"other": fixture.bundles.triage}, {"triage": null}, {"triage": {}}]
	got := _codes_in(fixture.ticket, fixture.bundle_of, bundles)
	got != {"agent_not_governed"}
}

test_deny_no_agent_table if _misses_of_table == set()

_misses_of_table := {[table, got] |
	some table in [{}, null, "triage", [], {"triage-agent": null}, {"triage-agent": "other"}, {"triage-agent": 1}]
	got := _codes_in(fixture.ticket, table, fixture.bundles)
	got != {"agent_not_governed"}
}

test_deny_bundle_without_version if _misses_of_version == set()

_misses_of_version := {[what, got] |
	some what, bundles in fixture.broken(fixture.bundles, "/triage/bundle/version", fixture.no_string)
	got := _codes_in(fixture.ticket, fixture.bundle_of, bundles)
	got != {"agent_not_governed", "configured_allow"}
}

# The model never chooses a bundle, whatever it says about itself.
test_deny_agent_named_by_the_request_only if {
	_codes(fixture.without(
		fixture.put(fixture.ticket, "/request/agent_id", "triage-agent"),
		"/agent/agent_id",
	)) == {"agent_not_governed"}
}

test_facts_of_the_call if _facts(fixture.ticket) == {
	"flags": {"governed", "catalogued", "named"},
	"capability": fixture.bundles.triage.catalog.create_ticket,
	"contract": fixture.bundles.triage.contracts.create_ticket,
	"capability_name": "create_ticket",
}

test_facts_of_a_call_without_contract if _facts(fixture.reading) == {
	"flags": {"governed", "catalogued", "named"},
	"capability": fixture.bundles.triage.catalog.search_docs,
	"contract": {},
	"capability_name": "search_docs",
}

test_facts_of_a_capability_refused_by_name if {
	_facts(fixture.put(fixture.ticket, "/request/capability", "run_shell")) == {
		"flags": {"governed", "named"},
		"capability": {},
		"contract": {},
		"capability_name": "run_shell",
	}
}

# In a transition the record says which capability it is about; the request cannot.
test_facts_of_transitions if _misses_of_transition == set()

_misses_of_transition := {[doc.operation, got] |
	some sound in [fixture.voting, fixture.reconciling]
	doc := fixture.put(sound, "/request/capability", "search_docs")
	got := _facts(doc)
	got != {
		"flags": {"governed", "catalogued", "named", "transition"},
		"capability": fixture.bundles.triage.catalog.create_ticket,
		"contract": fixture.bundles.triage.contracts.create_ticket,
		"capability_name": "create_ticket",
	}
}

test_facts_of_the_empty_document if _facts({}) == {
	"flags": set(),
	"capability": {},
	"contract": {},
	"capability_name": null,
}

test_facts_of_a_name_nobody_catalogued if _misses_of_name == set()

_misses_of_name := {[what, got] |
	some what, doc in fixture.broken(fixture.ticket, "/request/capability", array.concat(
		fixture.garbage,
		["CREATE_TICKET", " create_ticket", "create_ticket\n", ["create_ticket"]],
	))
	facts := _facts(doc)
	got := [facts.flags, facts.capability, facts.contract]
	got != [{"governed"}, {}, {}]
}

test_whole_tables_of_the_bundle if {
	_tables(fixture.ticket, fixture.bundles) == object.union(_no_controls, {
		"bundle": fixture.bundles.triage.bundle,
		"catalog": fixture.bundles.triage.catalog,
		"contracts": fixture.bundles.triage.contracts,
		"reviewers": fixture.bundles.triage.reviewers,
		"decisions": fixture.bundles.triage.decisions,
	})
}

test_whole_tables_without_bundle_are_empty if {
	_tables({}, _controlled) == object.union(
		_no_controls,
		{"bundle": {}, "catalog": {}, "contracts": {}, "reviewers": {}, "decisions": {}},
	)
}

test_whole_tables_of_controls if {
	quiet := object.remove(_tables(fixture.ticket, fixture.bundles), ["call_controls"])
	_tables(fixture.ticket, _controlled) == object.union(quiet, {
		"demands": {{"code": "a demand"}},
		"redactions": {{"code": "a redaction"}},
		"advice": {{"code": "a warning"}},
		"controls": {{"policy_requirement": "a control"}},
		"inventory": {"agent_id": "triage-agent"},
		"approval_policy": {"delegation_reviewer": "manager"},
		"required_controls": {"egress": "proxy"},
		"blocking_controls": {"secrets": "open"},
		# Whole or not at all: the bundle's word is not mixed with what holds without it.
		"call_controls": {"mcp_evidence_required": true},
		"routing_controls": {"approval_mode": "human"},
	})
}

test_tables_of_plans_and_history if {
	stated := {"create_ticket": {"some": "entry"}}
	tables := _tables(fixture.ticket, json.patch(fixture.bundles, [
		{"op": "add", "path": "/triage/trajectory", "value": stated},
		{"op": "add", "path": "/triage/trajectory_rules", "value": stated},
		{"op": "add", "path": "/triage/compound", "value": stated},
		{"op": "add", "path": "/triage/compound_policy", "value": stated},
		{"op": "add", "path": "/triage/compound_tasks", "value": stated},
		{"op": "add", "path": "/triage/evidence_controls", "value": stated},
	]))
	[tables.trajectory, tables.compound] == [{"some": "entry"}, {"some": "entry"}]
	[tables.trajectories, tables.plans, tables.trajectory_rules, tables.compound_policy] == [stated, stated, stated, stated]
	[tables.compound_tasks, tables.evidence_controls] == [stated, stated]
}

test_decision_of_the_policy if {
	_decision(fixture.ticket) == "approval_required"
	_decision(fixture.reading) == "allow"
	_decision(fixture.voting) == "approval_required"
	_decision(fixture.put(fixture.ticket, "/request/capability", "run_shell")) == null
	_decision({}) == null
}

_controlled := {"triage": object.union(fixture.bundles.triage, {
	"demands": {{"code": "a demand"}},
	"redactions": {{"code": "a redaction"}},
	"advice": {{"code": "a warning"}},
	"controls": {{"policy_requirement": "a control"}},
	"inventory": {"agent_id": "triage-agent"},
	"approval_policy": {"delegation_reviewer": "manager"},
	"required_controls": {"egress": "proxy"},
	"blocking_controls": {"secrets": "open"},
	"call_controls": {"mcp_evidence_required": true},
	"routing_controls": {"approval_mode": "human"},
})}

_no_controls := {
	"demands": set(),
	"redactions": set(),
	"advice": set(),
	"controls": set(),
	"inventory": {},
	"approval_policy": {},
	"required_controls": {},
	"blocking_controls": {},
	"routing_controls": {},
	"evidence_controls": {},
	"trajectory": {},
	"trajectories": {},
	"trajectory_rules": {},
	"compound": {},
	"plans": {},
	"compound_policy": {},
	"compound_tasks": {},
	"call_controls": {
		"authorization_mode": "user_delegated_or_platform_owned",
		"catalog_evidence_required": false,
		"mcp_evidence_required": false,
		"sandbox_evidence_required": false,
		"verifier_contract_required_for_high_risk": false,
	},
}

_decision(doc) := decision if {
	decision := router.policy_decision with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}

_tables(doc, bundles) := tables if {
	tables := _all_tables with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_all_tables := {
	"bundle": router.bundle,
	"catalog": router.catalog,
	"contracts": router.contracts,
	"reviewers": router.reviewers,
	"demands": router.demands,
	"redactions": router.redactions,
	"advice": router.advice,
	"controls": router.controls,
	"inventory": router.inventory,
	"approval_policy": router.approval_policy,
	"required_controls": router.required_controls,
	"blocking_controls": router.blocking_controls,
	"decisions": router.decisions,
	"call_controls": router.call_controls,
	"routing_controls": router.routing_controls,
	"evidence_controls": router.evidence_controls,
	"trajectory": router.trajectory,
	"trajectories": router.trajectories,
	"trajectory_rules": router.trajectory_rules,
	"compound": router.compound,
	"plans": router.plans,
	"compound_policy": router.compound_policy,
	"compound_tasks": router.compound_tasks,
}

_facts(doc) := facts if {
	facts := _all_facts with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}

_all_facts := {
	"flags": union({
		{"governed" | router.governed},
		{"catalogued" | router.catalogued},
		{"named" | router.named},
		{"transition" | router.transition},
	}),
	"capability": router.capability,
	"contract": router.contract,
	"capability_name": router.capability_name,
}

_codes(doc) := _codes_in(doc, fixture.bundle_of, fixture.bundles)

_codes_in(doc, table, bundles) := {f.code |
	some f in router.findings with input as doc
		with data.gate.agents.bundle_of as table
		with data.gate.bundles as bundles
}
