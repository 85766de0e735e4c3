package gate.facts_test

import data.gate.facts
import data.gate.fixture_test as fixture

test_document_of_the_governing_bundle if _document(fixture.ticket, fixture.bundles) == {
	"bundle": {
		"bundle_id": "policy-triage",
		"version": "2026.04.07",
		"release_identity": "release-triage",
		"contract_version": "capability-contract-v3",
	},
	"capabilities": fixture.bundles.triage.catalog,
	"contracts": fixture.bundles.triage.contracts,
	"reviewers": fixture.bundles.triage.reviewers,
	"show_arguments": {"create_ticket": ["/queue"]},
	"evidence": {},
	"trajectory": {},
	"plans": {},
}

test_document_empty_for_an_ungoverned_agent if _misses == set()

_misses := {[doc, got] |
	some doc in array.concat(fixture.no_section, [
		{"agent": null},
		{"agent": {"agent_id": null}},
		{"agent": {"agent_id": "other"}},
		{"request": {"agent_id": "triage-agent"}},
	])
	got := _document(doc, fixture.bundles)
	got != _empty
}

# Half an envelope is none.
test_document_without_bundle_when_the_envelope_is_incomplete if _misses_of_envelope == set()

_misses_of_envelope := {[field, got] |
	some field in ["bundle_id", "version", "release_identity", "contract_version"]
	bundles := fixture.without(fixture.bundles, concat("/", ["/triage/bundle", field]))
	got := _document(fixture.ticket, bundles).bundle
	got != null
}

test_document_shows_no_arguments_unless_told if {
	_document(fixture.ticket, fixture.without(fixture.bundles, "/triage/bundle/show_arguments")).show_arguments == {}
}

_empty := {"bundle": null, "capabilities": {}, "contracts": {}, "reviewers": {}, "show_arguments": {}, "evidence": {}, "trajectory": {}, "plans": {}}

_document(doc, bundles) := document if {
	document := facts.document with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
