package gate.operation_test

import data.gate.fixture_test as fixture
import data.gate.operation

_sound := object.union(fixture.reading, {
	"checkpoint": "state",
	"operation": "memory_write",
	"request": {"memory_kind": "validated_fact"},
})

test_none_kind_listed if _codes(_sound) == set()

test_none_other_operation if _codes(fixture.ticket) == set()

test_none_empty_document if _codes({}) == set()

test_deny_kind_broken if _misses == set()

_misses := {[path, what, got] |
	some path, values in {
		"/request/memory_kind": array.concat(fixture.garbage, ["working_note", "VALIDATED_FACT", ["validated_fact"]]),
		"/request": fixture.no_section,
		"/agent": fixture.no_section,
		"/agent/agent_id": fixture.garbage,
	}
	some what, doc in fixture.broken(_sound, path, values)
	got := _codes(doc)
	got != {"memory_kind_denied"}
}

test_deny_bundle_lists_no_kinds if _misses_of_bundle == set()

_misses_of_bundle := {[what, got] |
	some what, bundles in fixture.broken(fixture.bundles, "/triage/bundle/memory_kinds", fixture.no_section)
	got := _codes_in(_sound, bundles)
	got != {"memory_kind_denied"}
}

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f.code |
	some f in operation.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
