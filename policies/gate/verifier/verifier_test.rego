package gate.verifier_test

import data.gate.fixture_test as fixture
import data.gate.runtime.fixture_test as controls
import data.gate.verifier

_verdict := {"contract": "verifier-v2", "verdict": "passed", "action_digest": "sha256:action"}

_sound := controls.stating(fixture.ticket, "verifier", _verdict)

test_none_sound if _codes(_sound, controls.bundles) == set()

test_none_low_risk_without_verdict if _codes(fixture.reading, controls.bundles) == set()

test_none_empty_document if _codes({}, controls.bundles) == set()

test_none_plain_call_without_controls if _codes(fixture.ticket, controls.bare) == set()

test_deny_without_controls if _codes(_sound, controls.bare) == {"verifier_contract_untrusted"}

test_deny_high_risk_without_verdict if _misses_of_tier == set()

_misses_of_tier := {[tier, what, got] |
	some tier in ["high", "critical", "HIGH", null]
	some what, doc in fixture.broken(_sound, "/evidence/verifier", [null])
	got := _codes(doc, fixture.put(controls.bundles, "/triage/catalog/create_ticket/risk_tier", tier))
	got != {"verifier_contract_missing"}
}

test_none_verdict_not_required if {
	_codes(fixture.ticket, controls.asking("verifier_contract_required_for_high_risk", false)) == set()
}

test_deny_verdict_not_known_to_be_optional if _misses_of_option == set()

_misses_of_option := {[value, got] |
	some value in [null, true, 0, "false", []]
	got := _codes(fixture.ticket, controls.asking("verifier_contract_required_for_high_risk", value))
	got != {"verifier_contract_missing"}
}

test_deny_unreadable if _misses_of_section == set()

_misses_of_section := {[value, got] |
	some value in [true, false, 17, "garbage", [], {}]
	got := _codes(controls.stating(fixture.ticket, "verifier", value), controls.bundles)
	got != {"verifier_contract_missing", "verifier_contract_untrusted", "verifier_not_passed"}
}

test_deny_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(_sound, path, owed.values)
	got := _codes(doc, controls.bundles)
	got != owed.codes
}

test_deny_contract_not_trusted if _misses_of_name == set()

_misses_of_name := {[name, got] |
	some name in ["", "garbage", "VERIFIER-V2"]
	got := _codes(fixture.put(_sound, "/evidence/verifier/contract", name), controls.bundles)
	got != {"verifier_contract_untrusted"}
}

_owed := {
	"/evidence/verifier/verdict": {
		"values": array.concat(fixture.garbage, ["failed", "PASSED"]),
		"codes": {"verifier_not_passed"},
	},
	"/evidence/verifier/action_digest": {"values": fixture.garbage, "codes": {"verifier_not_passed"}},
	"/digests": {"values": fixture.no_section, "codes": {"verifier_not_passed"}},
	"/digests/action_digest": {"values": fixture.garbage, "codes": {"verifier_not_passed"}},
}

# A verdict under no contract is none.
test_deny_contract_no_string if _misses_of_contract == set()

_misses_of_contract := {[what, got] |
	some what, doc in fixture.broken(_sound, "/evidence/verifier/contract", fixture.no_string)
	got := _codes(doc, controls.bundles)
	got != {"verifier_contract_untrusted", "verifier_contract_missing"}
}

test_deny_control_missing if _misses_of_controls == set()

_misses_of_controls := {[name, what, got] |
	some name, doc in {
		"trusted_verifier_contracts": _sound,
		"on_untrusted_verifier_contract": fixture.put(_sound, "/evidence/verifier/contract", "judge"),
	}
	some what, bundles in controls.missing(name)
	got := _verdicts(doc, bundles)
	got != {["verifier_contract_untrusted", "deny"]}
}

# Once the bundle states which contract a name stands for, the name alone is nothing.
_contracts := {"verifier-v2": {"version": "2", "contract_digest": "sha256:text", "key_id": "verifier-key"}}

_signed := controls.stating(fixture.ticket, "verifier", object.union(_verdict, {
	"contract_version": "2",
	"contract_digest": "sha256:text",
	"signed_by": "verifier-key",
}))

test_none_very_contract if {
	_codes(_signed, controls.having("verifier_contracts", _contracts)) == set()
}

test_deny_other_contract_of_that_name if _misses_of_very == set()

_misses_of_very := {[path, what, got] |
	some field in ["contract_version", "contract_digest", "signed_by"]
	path := concat("/", ["/evidence/verifier", field])
	some what, doc in fixture.broken(_signed, path, fixture.garbage)
	got := _codes(doc, controls.having("verifier_contracts", _contracts))
	got != {"verifier_contract_untrusted"}
}

test_none_bundle_that_states_no_contracts if {
	_codes(_signed, fixture.without(controls.bundles, "/triage/verifiers_controls/verifier_contracts")) == set()
}

test_deny_contract_not_stated if {
	bundles := controls.having("verifier_contracts", {"verifier-v3": _contracts["verifier-v2"]})
	_codes(_signed, bundles) == {"verifier_contract_untrusted"}
}

test_untrusted_asks_a_person if {
	bundles := controls.having("on_untrusted_verifier_contract", "require_approval")
	doc := fixture.put(_sound, "/evidence/verifier/contract", "judge")
	_verdicts(doc, bundles) == set()
	_verdicts(controls.unapproved(doc), bundles) == {["verifier_contract_untrusted", "require_approval"]}
}

_codes(doc, bundles) := {f.code | some f in _findings(doc, bundles)}

_verdicts(doc, bundles) := {[f.code, f.verdict] | some f in _findings(doc, bundles)}

_findings(doc, bundles) := found if {
	found := verifier.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
