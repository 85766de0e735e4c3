package gate.evidence_test

import data.gate
import data.gate.evidence
import data.gate.fixture_test as fixture

_contract := {
	"max_age_ms": 10000,
	"checked_by": ["svc-broker"],
	"signature_keys": {"broker-1": "bWlyYQ=="},
	"required_for": ["create_ticket"],
}

_bundles := fixture.put(fixture.bundles, "/triage/evidence_controls", {"destination": _contract})

_section := {
	"host": "tickets.internal",
	"checked_by": "svc-broker",
	"checked_at_ms": 45000,
	"check_age_ms": 5000,
	"signed_by": "broker-1",
}

_sound := fixture.put(fixture.ticket, "/evidence/destination", _section)

test_none_sound if _codes(_sound, _bundles) == set()

test_none_without_contract if {
	_codes(fixture.ticket, fixture.bundles) == set()
	_advice(fixture.put(_sound, "/evidence/destination", {}), fixture.bundles) == []
}

test_none_empty_document if {
	_codes({}, _bundles) == set()
	_all_known({}, _bundles)
}

test_none_required_for_another if _codes(fixture.reading, _bundles) == set()

test_none_no_call if _codes(fixture.put(fixture.ticket, "/operation", "list_tools"), _bundles) == set()

test_none_bounds if {[at, codes] |
	some at in [40000, 40001, 49999, 50000]
	codes := _codes(fixture.put(_sound, "/evidence/destination/checked_at_ms", at), _bundles)
} == {[at, set()] | some at in [40000, 40001, 49999, 50000]}

test_none_nothing_asked_but_age if {
	bundles := json.patch(_bundles, [
		{"op": "replace", "path": "/triage/evidence_controls/destination/checked_by", "value": null},
		{"op": "replace", "path": "/triage/evidence_controls/destination/signature_keys", "value": null},
	])
	_codes(fixture.put(_sound, "/evidence/destination", {"checked_at_ms": 45000}), bundles) == set()
}

# A required section that is not there, or does not count, is one that the call cannot do without.
test_deny_required if _misses == set()

_misses := {[path, what, codes] |
	some path, values in {
		"/evidence": fixture.no_section,
		"/evidence/destination": fixture.no_section,
		"/evidence/destination/checked_by": array.concat(fixture.garbage, ["SVC-BROKER", "svc-broker "]),
		"/evidence/destination/checked_at_ms": array.concat(fixture.no_number, [39999, 50001]),
		"/evidence/destination/signed_by": array.concat(fixture.garbage, ["broker-2"]),
		"/now_ms": array.concat(fixture.no_number, [44999, 55001]),
	}
	some what, doc in fixture.broken(_sound, path, values)
	codes := _codes(doc, _bundles)
	codes != {"required_evidence_unknown"}
}

# A contract that lost a field asks for what nothing can give.
test_deny_contract_broken if _misses_of_contract == set()

_misses_of_contract := {[field, what, codes] |
	some field, values in {
		"max_age_ms": fixture.no_number,
		"checked_by": [true, 17, "svc-broker", [], {}],
		"signature_keys": [true, 17, "broker-1", [], {}],
	}
	some what, bundles in fixture.broken(_bundles, concat("/", ["/triage/evidence_controls/destination", field]), values)
	codes := _codes(_sound, bundles)
	codes != {"required_evidence_unknown"}
}

test_none_requirement_unreadable if {what |
	some what, bundles in fixture.broken(
		_bundles, "/triage/evidence_controls/destination/required_for",
		[null, 17, [], {}],
	)
	_codes(fixture.ticket, bundles) != set()
} == set()

# What does not count is empty for everybody else, and people are told why.
test_known_replaces_what_does_not_count if {
	stale := fixture.put(_sound, "/evidence/destination/checked_at_ms", 39999)
	_known(stale, _bundles) == object.union(fixture.ticket.evidence, {"destination": {}})
	not _all_known(stale, _bundles)
}

test_known_keeps_what_counts if {
	_known(_sound, _bundles) == _sound.evidence
	_all_known(_sound, _bundles)
}

test_null_section_is_nothing_stated if {
	doc := fixture.put(fixture.ticket, "/evidence/destination", null)
	_all_known(doc, _bundles)
	_advice(doc, _bundles) == []
}

test_advice_says_why if {[path, value, codes] |
	some [path, value] in _doubtful
	codes := [a.code | some a in _advice(fixture.put(_sound, path, value), _bundles)]
} == {
	["/evidence/destination/checked_at_ms", 39999, ["evidence_stale"]],
	["/evidence/destination/checked_at_ms", 50001, ["evidence_future_dated"]],
	["/evidence/destination/checked_at_ms", null, ["evidence_undated"]],
	["/evidence/destination/checked_by", "svc-other", ["evidence_checker_untrusted"]],
	["/evidence/destination/signed_by", null, ["evidence_unsigned"]],
	["/evidence/destination", {}, ["evidence_checker_untrusted", "evidence_undated", "evidence_unsigned"]],
}

_doubtful := [
	["/evidence/destination/checked_at_ms", 39999],
	["/evidence/destination/checked_at_ms", 50001],
	["/evidence/destination/checked_at_ms", null],
	["/evidence/destination/checked_by", "svc-other"],
	["/evidence/destination/signed_by", null],
	["/evidence/destination", {}],
]

test_advice_names_the_contract if _advice(fixture.put(_sound, "/evidence/destination/signed_by", null), _bundles) == [{
	"type": "warn",
	"code": "evidence_unsigned",
	"source": "policy.yaml#/policy/evidence/destination",
}]

# Through the one entrypoint: a destination that would pass is refused once nobody vouches for it any longer.
test_decision_over_the_evidence_that_counts if {
	bundles := fixture.put(_bundles, "/triage/evidence_controls/destination/required_for", [])
	sound := _decision(_sound, bundles)
	sound.verdict == "allow"
	sound.advice == []
	stale := _decision(fixture.put(_sound, "/evidence/destination/checked_at_ms", 39999), bundles)
	stale.verdict == "deny"
	{r.code | some r in stale.reasons} == {"egress_destination_not_allowed", "configured_allow"}
	[a.code | some a in stale.advice] == ["evidence_stale"]
}

test_decision_tells_a_stranger_nothing_of_evidence if {
	doc := json.patch(_sound, [
		{"op": "replace", "path": "/evidence/destination/checked_at_ms", "value": 39999},
		{"op": "replace", "path": "/identity/tenant_id", "value": "tenant-other"},
	])
	decision := _decision(doc, _bundles)
	{r.code | some r in decision.reasons} == {"tenant_mismatch"}
	decision.advice == []
}

_decision(doc, bundles) := value if {
	value := gate.decision with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_known(doc, bundles) := value if {
	value := evidence.known with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_all_known(doc, bundles) if {
	evidence.all_known with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_advice(doc, bundles) := value if {
	value := evidence.advice with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_codes(doc, bundles) := {f.code |
	some f in evidence.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
