package gate.binding_test

import data.gate.binding
import data.gate.fixture_test as fixture
import data.gate.runtime.fixture_test as controls

_sound := json.patch(fixture.ticket, [
	{"op": "add", "path": "/evidence/destination", "value": {"host": "tickets.internal"}},
	{"op": "add", "path": "/evidence/credential_binding", "value": {"effective_principal_ref": "svc-writer"}},
])

test_none_sound if _codes(_sound) == set()

test_none_nothing_stated if _codes(fixture.ticket) == set()

test_none_empty_document if _codes({}) == set()

test_none_no_call if _codes(fixture.put(_sound, "/operation", "list_tools")) == set()

test_none_section_null if {
	_codes(json.patch(_sound, [
		{"op": "replace", "path": "/evidence/destination", "value": null},
		{"op": "replace", "path": "/evidence/credential_binding", "value": null},
	])) == set()
}

test_deny_broken if _misses == set()

_misses := {[path, value, got] |
	some path, owed in _owed
	some value in owed.values
	got := _codes(fixture.put(_sound, path, value))
	got != owed.codes
}

_elsewhere := {"egress_destination_not_allowed"}

_somebody := {"tool_principal_mismatch"}

_unreadable := [true, false, 17, "garbage", [], {}]

_owed := {
	"/evidence/destination": {"values": _unreadable, "codes": _elsewhere},
	"/evidence/destination/host": {
		"values": array.concat(fixture.garbage, [
			"tickets.internal.example.net", "TICKETS.INTERNAL", "tickets.internal.",
			"docs.internal",
		]),
		"codes": _elsewhere,
	},
	"/evidence/credential_binding": {"values": _unreadable, "codes": _somebody},
	"/evidence/credential_binding/effective_principal_ref": {
		"values": array.concat(fixture.garbage, ["svc-reader", "SVC-WRITER"]),
		"codes": _somebody,
	},
}

test_deny_catalog_names_nothing if _misses_of_catalog == set()

_misses_of_catalog := {[path, what, got] |
	some path, owed in {"allowed_egress": _elsewhere, "tool_principal": _somebody}
	some what, bundles in fixture.broken(
		controls.bundles, concat("/", ["/triage/catalog/create_ticket", path]),
		[null, 17, [], {}],
	)
	got := _codes_in(_sound, bundles)
	got != owed
}

_codes(doc) := _codes_in(doc, controls.bundles)

_codes_in(doc, bundles) := {f.code |
	some f in binding.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
