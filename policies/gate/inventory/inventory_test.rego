package gate.inventory_test

import data.gate.fixture_test as fixture
import data.gate.inventory

test_none_sound if _codes(fixture.ticket, _bundles) == set()

test_none_bundle_without_inventory if _codes(fixture.ticket, fixture.bundles) == set()

test_none_other_operation if _codes(fixture.voting, _bundles) == set()

test_none_empty_document if _codes({}, _bundles) == set()

# Nothing is known of a capability that is not in the catalog; its own guard refuses it.
test_none_unknown_capability if _codes(fixture.put(fixture.ticket, "/request/capability", "other"), _bundles) == set()

test_deny_capability_not_approved if {
	_codes(fixture.reading, _bundles) == {"capability_not_in_inventory"}
	_codes(fixture.reading, fixture.put(_bundles, "/triage/inventory/approved/search_docs", true)) == set()
}

test_deny_inventory_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in {
		"/triage/inventory/agent_id": {"values": fixture.garbage, "codes": {"capability_not_in_inventory"}},
		"/triage/inventory/approved": {"values": fixture.no_section, "codes": {"capability_not_in_inventory"}},
		"/triage/inventory/approved/create_ticket": {
			"values": fixture.no_true,
			"codes": {"capability_not_in_inventory"},
		},
		"/triage/inventory/runtime_principal": {"values": fixture.no_string, "codes": {"runtime_principal_delegated"}},
	}
	some what, bundles in fixture.broken(_bundles, path, owed.values)
	got := _codes(fixture.ticket, bundles)
	got != owed.codes
}

test_deny_inventory_of_another_agent if {
	bundles := fixture.put(_bundles, "/triage/inventory/agent_id", "other-agent")
	_codes(fixture.ticket, bundles) == {"capability_not_in_inventory"}
}

test_deny_runtime_principal_under_any_spelling if _misses_of_names == set()

_misses_of_names := {[path, name] |
	some path in ["/identity/principal_id", "/identity/delegated_principal_id"]
	some name in ["svc-triage", " SVC-Triage\n"]
	_codes(fixture.put(fixture.ticket, path, name), _bundles) != {"runtime_principal_delegated"}
}

test_deny_nobody_stated if {
	doc := fixture.without(fixture.ticket, "/identity")
	_codes(doc, _bundles) == {"runtime_principal_delegated"}
}

test_none_no_delegated_principal if {
	_codes(fixture.without(fixture.ticket, "/identity/delegated_principal_id"), _bundles) == set()
}

_bundles := fixture.put(fixture.bundles, "/triage/inventory", {
	"agent_id": "triage-agent",
	"runtime_principal": "svc-triage",
	"approved": {"create_ticket": true},
})

_codes(doc, bundles) := {f.code | some f in found} if {
	found := inventory.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
