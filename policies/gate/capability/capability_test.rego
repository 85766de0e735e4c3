package gate.capability_test

import data.gate.capability
import data.gate.fixture_test as fixture

test_none_sound if _codes(fixture.ticket) == set()

test_none_sound_reading if _codes(fixture.reading) == set()

test_none_other_operation if _codes(fixture.voting) == set()

# Not a call: the operation itself is refused by the identity guard.
test_none_empty_document if _codes({}) == set()

test_deny_call_without_anything if {
	_codes({"operation": "call_tool"}) == {"capability_unknown"}
	_codes({"operation": "resume_tool"}) == {"capability_unknown"}
}

test_deny_call_broken if _misses_in(_owed_by_call) == set()

test_deny_facts_broken if _misses_in(_owed_by_facts) == set()

test_deny_evidence_broken if _misses_in(_owed_by_evidence) == set()

_misses_in(table) := {[path, what, got] |
	some path, owed in table
	some what, doc in fixture.broken(fixture.ticket, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed_by_call := {
	"/request/capability": {
		"values": array.concat(fixture.garbage, ["CREATE_TICKET", " create_ticket", "create_ticket\n", ["create_ticket"]]),
		"codes": {"capability_unknown"},
	},
	"/request": {"values": fixture.no_section, "codes": {"capability_unknown"}},
	"/agent/agent_id": {"values": fixture.garbage, "codes": {"capability_unknown"}},
	"/agent": {"values": fixture.no_section, "codes": {"capability_unknown"}},
	"/request/idempotency_key": {"values": fixture.no_text, "codes": {"idempotency_key_missing"}},
}

_owed_by_facts := {
	"/state": {"values": fixture.no_section, "codes": {"facts_stale"}},
	"/state/versions": {"values": fixture.no_section, "codes": {"facts_stale"}},
	"/state/versions/bundle_version": {"values": fixture.garbage, "codes": {"facts_stale"}},
	"/state/versions/release_identity": {"values": fixture.garbage, "codes": {"facts_stale"}},
	"/state/versions/capability_version": {
		"values": array.concat(fixture.garbage, ["sha256:search-version"]),
		"codes": {"facts_stale"},
	},
}

_owed_by_evidence := {
	"/evidence": {"values": fixture.no_section, "codes": {"arguments_invalid", "identifying_argument_missing"}},
	"/evidence/arguments": {
		"values": fixture.no_section,
		"codes": {"arguments_invalid", "identifying_argument_missing"},
	},
	"/evidence/arguments/valid": {"values": fixture.no_true, "codes": {"arguments_invalid"}},
	"/evidence/arguments/schema_digest": {
		"values": array.concat(fixture.garbage, ["sha256:search-arguments"]),
		"codes": {"arguments_invalid"},
	},
	"/evidence/arguments/identified": {"values": fixture.no_true, "codes": {"identifying_argument_missing"}},
	"/digests": {"values": fixture.no_section, "codes": {"arguments_invalid"}},
	"/digests/action_digest": {"values": _no_digest, "codes": {"arguments_invalid"}},
	"/digests/intent_digest": {"values": _no_digest, "codes": {"arguments_invalid"}},
}

_no_digest := array.concat(fixture.garbage, ["sha256", "SHA256:action", " sha256:action", "md5:action"])

test_none_capability_refused_by_name if {
	_codes(fixture.put(fixture.ticket, "/request/capability", "run_shell")) == set()
}

test_deny_catalog_entry_broken if _misses_of_bundle(_owed_by_catalog) == set()

test_deny_freedom_from_approval_broken if _misses_of_bundle(_owed_by_freedom) == set()

_misses_of_bundle(table) := {[path, what, got] |
	some path, owed in table
	some what, bundles in fixture.broken(fixture.bundles, concat("", ["/triage/", path]), owed.values)
	got := _codes_in(fixture.reading, bundles)
	got != owed.codes
}

_owed_by_catalog := {
	"catalog": {"values": fixture.no_section, "codes": {"capability_unknown"}},
	"catalog/search_docs": {"values": fixture.no_section, "codes": {"capability_unknown"}},
	"catalog/search_docs/capability_version": {"values": fixture.no_string, "codes": {"capability_unknown"}},
	"catalog/search_docs/network_access": {
		"values": array.concat(fixture.garbage, ["open"]),
		"codes": {"network_access_not_allowed"},
	},
	"bundle/allow_network_access": {
		"values": [null, true, 5, "restricted", [], ["brokered"], {}],
		"codes": {"network_access_not_allowed"},
	},
	"catalog/search_docs/allowed_egress": {"values": [null, true, 5, "", "garbage", [], {}, {"docs.internal": true}], "codes": {"egress_policy_missing"}},
	"catalog/search_docs/arguments_digest": {"values": fixture.garbage, "codes": {"arguments_invalid"}},
	"catalog/search_docs/idempotency_key_required": {"values": [null, true, 0, "", "false", [], {}], "codes": {"idempotency_key_missing"}},
}

# What is not known to change nothing and to need no approval is claimed like a write.
_owed_by_freedom := {
	"catalog/search_docs/mode": {
		"values": array.concat(fixture.garbage, ["write"]),
		"codes": {"idempotency_key_missing", "identifying_argument_missing"},
	},
	"catalog/search_docs/side_effect": {
		"values": array.concat(fixture.garbage, ["internal_write", "external_write"]),
		"codes": {"idempotency_key_missing", "identifying_argument_missing"},
	},
	"catalog/search_docs/approval": {
		"values": array.concat(fixture.garbage, ["manager"]),
		"codes": {"idempotency_key_missing", "identifying_argument_missing"},
	},
	"catalog/search_docs/risk_tier": {
		"values": array.concat(fixture.garbage, ["critical", "LOW"]),
		"codes": {"idempotency_key_missing", "identifying_argument_missing"},
	},
	"decisions": {
		"values": fixture.no_section,
		"codes": {"idempotency_key_missing", "identifying_argument_missing"},
	},
	"decisions/search_docs": {
		"values": array.concat(fixture.garbage, ["approval_required", "ALLOW"]),
		"codes": {"idempotency_key_missing", "identifying_argument_missing"},
	},
}

test_flags_of_a_reading_call_that_nobody_approves if _misses_of_free == set()

_misses_of_free := {[decision, risk, got] |
	some decision in ["allow", "deny"]
	some risk in ["low", "medium", "high"]
	got := _flags_in(fixture.reading, fixture.put(
		fixture.put(fixture.bundles, "/triage/decisions/search_docs", decision),
		"/triage/catalog/search_docs/risk_tier",
		risk,
	))
	got != {"calling", "unclaimed", "approval_free"}
}

# Not knowing what the controls ask is no freedom; no demand at all is.
test_flags_of_a_reading_call_by_demands if {
	_flags_of_demands(set()) == {"calling", "unclaimed", "approval_free"}
	_flags_of_demands({{"code": "big_read"}}) == {"calling"}
	_flags_of_demands("garbage") == {"calling"}
	_flags_of_demands(null) == {"calling"}
	_flags_of_demands(5) == {"calling"}
}

test_flags_of_calls_and_others if {
	_flags_in(fixture.ticket, fixture.bundles) == {"calling"}
	_flags_in(fixture.put(fixture.ticket, "/operation", "resume_tool"), fixture.bundles) == {"calling"}
	_flags_in(fixture.voting, fixture.bundles) == set()
	_flags_in({}, fixture.bundles) == set()
}

# A write that nobody has to approve is claimed all the same.
test_flags_of_a_write_that_nobody_approves if {
	_flags_in(fixture.ticket, object.union(fixture.bundles, {"triage": {
		"decisions": {"create_ticket": "allow"},
		"catalog": {"create_ticket": {"approval": "none"}},
	}})) == {"calling", "approval_free"}
}

_flags_of_demands(value) := _flags_in(fixture.reading, fixture.put(fixture.bundles, "/triage/demands", value))

_flags_in(doc, bundles) := flags if {
	flags := _all_flags with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_all_flags := union({
	{"calling" | capability.calling},
	{"unclaimed" | capability.unclaimed},
	{"approval_free" | capability.approval_free},
})

# An approval that is needed makes even a reading call one that is claimed, so that it is consumed once.
test_deny_reading_call_that_needs_an_approval if {
	_codes_in(fixture.reading, fixture.put(
		fixture.bundles,
		"/triage/decisions/search_docs",
		"approval_required",
	)) == {"idempotency_key_missing", "identifying_argument_missing"}
}

test_deny_reading_call_that_a_control_demands_an_approval_of if {
	_codes_in(fixture.reading, fixture.put(
		fixture.bundles,
		"/triage/demands",
		{{"code": "big_read"}},
	)) == {"idempotency_key_missing", "identifying_argument_missing"}
}

# A contract alone asks for nothing: a control may use it when it fires.
test_none_contract_on_a_reading_call if {
	_codes_in(fixture.reading, fixture.put(
		fixture.bundles,
		"/triage/contracts/search_docs",
		{"contract_digest": "sha256:contract"},
	)) == set()
}

test_none_egress_not_needed_without_network if {
	bundles := fixture.put(
		fixture.put(fixture.bundles, "/triage/bundle/allow_network_access", ["none"]),
		"/triage/catalog/search_docs",
		object.union(
			object.remove(fixture.bundles.triage.catalog.search_docs, ["allowed_egress"]),
			{"network_access": "none"},
		),
	)
	_codes_in(fixture.reading, bundles) == set()
}

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f.code |
	some f in capability.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
