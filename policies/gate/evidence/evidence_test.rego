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
	_advice({}, _bundles) == []
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
	some path, owed in {
		"/evidence": {"values": fixture.no_section, "codes": set()},
		"/evidence/destination/checked_by": {
			"values": array.concat(fixture.garbage, ["SVC-BROKER", "svc-broker "]),
			"codes": {"evidence_checker_untrusted"},
		},
		"/evidence/destination/checked_at_ms": {"values": fixture.no_number, "codes": {"evidence_undated"}},
		"/evidence/destination/signed_by": {
			"values": array.concat(fixture.garbage, ["broker-2"]),
			"codes": {"evidence_unsigned"},
		},
		"/now_ms": {"values": fixture.no_number, "codes": {"evidence_undated"}},
	}
	some what, doc in fixture.broken(_sound, path, owed.values)
	codes := _codes(doc, _bundles)
	codes != owed.codes | {"required_evidence_unknown"}
}

test_deny_section_missing if {what: codes |
	some what, doc in fixture.broken(_sound, "/evidence/destination", [null])
	codes := _codes(doc, _bundles)
} == {"absent": {"required_evidence_unknown"}, "null": {"required_evidence_unknown"}}

test_deny_section_unreadable if {codes |
	some section in [true, 17, "garbage", ["garbage"], {}]
	codes := _codes(fixture.put(_sound, "/evidence/destination", section), _bundles)
} == {{
	"required_evidence_unknown", "evidence_undated", "evidence_checker_untrusted",
	"evidence_unsigned",
}}

test_deny_age if {[at, codes] |
	some at in [39999, 50001, 0, 99999]
	codes := _codes(fixture.put(_sound, "/evidence/destination/checked_at_ms", at), _bundles)
} == {
	[39999, {"required_evidence_unknown", "evidence_stale"}],
	[0, {"required_evidence_unknown", "evidence_stale"}],
	[50001, {"required_evidence_unknown", "evidence_future_dated"}],
	[99999, {"required_evidence_unknown", "evidence_future_dated"}],
}

# What a guard reads and does not count is refused wherever it is stated, required or not, called or not.
test_deny_stated_for_another if {[operation, codes] |
	some operation in ["call_tool", "list_tools", "emit"]
	doc := json.patch(fixture.reading, [
		{"op": "add", "path": "/evidence/destination", "value": object.union(_section, {"checked_at_ms": 39999})},
		{"op": "replace", "path": "/operation", "value": operation},
	])
	codes := _codes(doc, _bundles)
} == {[operation, {"evidence_stale"}] | some operation in ["call_tool", "list_tools", "emit"]}

# What only controls read is unknown to them and refuses nothing of itself; people are told all the same.
test_none_section_of_controls if {at |
	some at in [39999, 50001, null]
	doc := fixture.put(_owned, "/evidence/ownership/checked_at_ms", at)
	_codes(doc, _ownership([])) == set()
	count(_advice(doc, _ownership([]))) == 1
} == {39999, 50001, null}

test_deny_section_of_controls_required if {[at, codes] |
	some at in [39999, 50001, null]
	codes := _codes(fixture.put(_owned, "/evidence/ownership/checked_at_ms", at), _ownership(["create_ticket"]))
} == {
	[39999, {"required_evidence_unknown", "evidence_stale"}],
	[50001, {"required_evidence_unknown", "evidence_future_dated"}],
	[null, {"required_evidence_unknown", "evidence_undated"}],
}

_owned := fixture.put(fixture.ticket, "/evidence/ownership", _section)

_ownership(required_for) := fixture.put(fixture.bundles, "/triage/evidence_controls", {"ownership": object.union(
	_contract,
	{"required_for": required_for},
)})

# A contract that lost a field asks for what nothing can give.
test_deny_contract_broken if _misses_of_contract == set()

_misses_of_contract := {[field, what, codes] |
	some field, owed in {
		"max_age_ms": {"values": fixture.no_number, "code": "evidence_stale"},
		"checked_by": {"values": [true, 17, "svc-broker", [], {}], "code": "evidence_checker_untrusted"},
		"signature_keys": {"values": [true, 17, "broker-1", [], {}], "code": "evidence_unsigned"},
	}
	place := concat("/", ["/triage/evidence_controls/destination", field])
	some what, bundles in fixture.broken(_bundles, place, owed.values)
	codes := _codes(_sound, bundles)
	codes != {"required_evidence_unknown", owed.code}
}

test_none_requirement_unreadable if {what |
	some what, bundles in fixture.broken(
		_bundles, "/triage/evidence_controls/destination/required_for",
		[null, 17, [], {}],
	)
	_codes(fixture.ticket, bundles) != set()
} == set()

test_null_section_is_nothing_stated if {
	doc := fixture.put(fixture.ticket, "/evidence/destination", null)
	_codes(doc, _bundles) == {"required_evidence_unknown"}
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
test_decision_on_what_does_not_count if {
	bundles := fixture.put(_bundles, "/triage/evidence_controls/destination/required_for", [])
	sound := _decision(_sound, bundles)
	sound.verdict == "allow"
	sound.advice == []
	stale := _decision(fixture.put(_sound, "/evidence/destination/checked_at_ms", 39999), bundles)
	stale.verdict == "deny"
	{r.code | some r in stale.reasons} == {"evidence_stale", "configured_allow"}
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

_advice(doc, bundles) := value if {
	value := evidence.advice with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_codes(doc, bundles) := {f.code |
	some f in evidence.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
