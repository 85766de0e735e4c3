package gate.evidence.known_test

import data.gate.evidence.known
import data.gate.fixture_test as fixture

_contract := {
	"max_age_ms": 10000,
	"checked_by": ["svc-incident-registry"],
	"signature_keys": {"registry-1": "bWlyYQ=="},
	"required_for": [],
}

_bundles := fixture.put(fixture.bundles, "/triage/evidence_controls", {"ownership": _contract})

_section := {
	"owner": "mira",
	"checked_by": "svc-incident-registry",
	"checked_at_ms": 45000,
	"check_age_ms": 5000,
	"signed_by": "registry-1",
}

_sound := fixture.put(fixture.ticket, "/evidence/ownership", _section)

test_counts_sound if _read(_sound, _bundles) == _section

test_counts_without_contract if {what |
	some what in [_section, {}, {"owner": "mira"}]
	_read(fixture.put(_sound, "/evidence/ownership", what), fixture.bundles) == what
} == {_section, {}, {"owner": "mira"}}

test_counts_other_sections_as_stated if {
	doc := fixture.put(_sound, "/evidence/ownership/checked_at_ms", null)
	all := known.section with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as _bundles
	all == object.filter(doc.evidence, object.keys(doc.evidence) - {"ownership"})
}

test_counts_bounds if {at |
	some at in [40000, 40001, 49999, 50000]
	_read(fixture.put(_sound, "/evidence/ownership/checked_at_ms", at), _bundles).owner == "mira"
} == {40000, 40001, 49999, 50000}

test_unknown_age if {at |
	some at in [39999, 50001, 0, 99999]
	_read(fixture.put(_sound, "/evidence/ownership/checked_at_ms", at), _bundles) == null
} == {39999, 50001, 0, 99999}

test_unknown_each_field if _misses == set()

_misses := {[path, what] |
	some path, values in {
		"/evidence": fixture.no_section,
		"/evidence/ownership": fixture.garbage,
		"/evidence/ownership/checked_by": array.concat(fixture.garbage, ["SVC-INCIDENT-REGISTRY", "svc-incident-registry "]),
		"/evidence/ownership/checked_at_ms": fixture.no_number,
		"/evidence/ownership/signed_by": array.concat(fixture.garbage, ["registry-2"]),
		"/now_ms": fixture.no_number,
	}
	some what, doc in fixture.broken(_sound, path, values)
	_read(doc, _bundles) != null
}

# A contract that lost a field asks for what nothing can give.
test_unknown_contract_broken if {[field, what] |
	some field, values in {
		"max_age_ms": fixture.no_number,
		"checked_by": [true, 17, "svc-incident-registry", [], {}],
		"signature_keys": [true, 17, "registry-1", [], {}],
	}
	some what, bundles in fixture.broken(_bundles, concat("/", ["/triage/evidence_controls/ownership", field]), values)
	_read(_sound, bundles) != null
} == set()

test_nothing_empty_document if _read({}, _bundles) == null

_read(doc, bundles) := object.get(all, "ownership", null) if {
	all := known.section with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
