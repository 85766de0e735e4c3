package gate.binding_credential_test

import data.gate.binding
import data.gate.fixture_test as fixture
import data.gate.runtime.fixture_test as controls

_bundles := fixture.put(controls.bundles, "/triage/catalog/create_ticket/credential", {
	"owners": ["agent", "user"],
	"types": ["secret", "oauth"],
})

_shared := {
	"effective_principal_ref": "svc-writer",
	"requester_principal_ref": "user-42",
	"owner_principal_ref": null,
	"connection_ref": "connection-1",
	"credential_ref": "credential-1",
	"deployment_ref": "deployment-1",
	"tenant_ref": "tenant-acme",
	"credential_owner": "agent",
	"credential_type": "oauth",
	"status": "active",
	"policy_version": "2026.04.07",
	"authorization_checked_at_ms": 49000,
}

_own := object.union(_shared, {
	"effective_principal_ref": "user-42",
	"owner_principal_ref": "user-42",
	"credential_owner": "user",
})

_sound := _with(_shared)

_with(section) := fixture.put(fixture.ticket, "/evidence/credential_binding", section)

# Owner and type are independent: all four are told apart, none is inferred.
test_none_four_combinations if {[owner, kind, codes] |
	some owner, section in {"agent": _shared, "user": _own}
	some kind in ["secret", "oauth"]
	codes := _codes(_with(object.union(section, {"credential_type": kind})), _bundles)
} == {[owner, kind, set()] | some owner in ["agent", "user"]; some kind in ["secret", "oauth"]}

test_none_platform_owned_call if {
	doc := fixture.put(_sound, "/identity/authorization_mode", "platform_owned")
	_codes(doc, _bundles) == set()
}

test_none_without_contract if _codes(fixture.ticket, controls.bundles) == set()

test_none_empty_document if _codes({}, _bundles) == set()

test_none_no_call if _codes(fixture.put(_with({}), "/operation", "list_tools"), _bundles) == set()

test_none_checked_this_very_moment if {
	_codes(fixture.put(_sound, "/evidence/credential_binding/authorization_checked_at_ms", 50000), _bundles) == set()
}

test_deny_missing if {what: codes |
	some what, doc in fixture.broken(_sound, "/evidence/credential_binding", [null])
	codes := _codes(doc, _bundles)
} == {"absent": {"credential_binding_missing"}, "null": {"credential_binding_missing"}}

_all := {
	"credential_reference_missing", "credential_requester_mismatch", "credential_tenant_mismatch",
	"credential_kind_not_accepted", "credential_owner_mismatch", "credential_not_current", "tool_principal_mismatch",
}

test_deny_unreadable if {codes |
	some section in [true, 17, "garbage", ["garbage"], {}]
	codes := _codes(_with(section), _bundles)
} == {_all}

test_deny_broken if _misses == set()

_misses := {[path, what, got, owed.codes] |
	some path, owed in _owed
	some what, doc in fixture.broken(owed.doc, concat("/", ["/evidence/credential_binding", path]), owed.values)
	got := _codes(doc, _bundles)
	got != owed.codes
}

_owed := {
	"connection_ref": {"doc": _sound, "values": fixture.no_text, "codes": {"credential_reference_missing"}},
	"credential_ref": {"doc": _sound, "values": fixture.no_text, "codes": {"credential_reference_missing"}},
	"deployment_ref": {"doc": _sound, "values": fixture.no_text, "codes": {"credential_reference_missing"}},
	"tenant_ref": {
		"doc": _sound,
		"values": array.concat(fixture.garbage, ["TENANT-ACME", "tenant-acme "]),
		"codes": {"credential_tenant_mismatch"},
	},
	"requester_principal_ref": {
		"doc": _sound,
		"values": array.concat(fixture.garbage, ["user-43", "svc-writer"]),
		"codes": {"credential_requester_mismatch"},
	},
	"effective_principal_ref": {
		"doc": _sound,
		"values": array.concat(fixture.garbage, ["user-42"]),
		"codes": {"tool_principal_mismatch"},
	},
	"credential_type": {"doc": _sound, "values": fixture.garbage, "codes": {"credential_kind_not_accepted"}},
	"credential_owner": {
		"doc": _sound,
		"values": fixture.garbage,
		"codes": {"credential_kind_not_accepted", "credential_owner_mismatch"},
	},
	"status": {
		"doc": _sound,
		"values": array.concat(fixture.garbage, ["revoked", "missing", "unknown", "ACTIVE"]),
		"codes": {"credential_not_current"},
	},
	"policy_version": {
		"doc": _sound,
		"values": array.concat(fixture.garbage, ["2026.04.06"]),
		"codes": {"credential_not_current"},
	},
	"authorization_checked_at_ms": {
		"doc": _sound,
		"values": array.concat(fixture.no_number, [50001]),
		"codes": {"credential_not_current"},
	},
}

# Somebody's own credential serves nobody else, and never as the shared account.
test_deny_own_broken if _misses_of_own == set()

_misses_of_own := {[path, what, got, owed.codes] |
	some path, owed in {
		"owner_principal_ref": {
			"values": array.concat(fixture.garbage, ["user-43"]),
			"codes": {"credential_owner_mismatch"},
		},
		"effective_principal_ref": {
			"values": array.concat(fixture.garbage, ["svc-writer", "user-43"]),
			"codes": {"tool_principal_mismatch"},
		},
	}
	some what, doc in fixture.broken(_with(_own), concat("/", ["/evidence/credential_binding", path]), owed.values)
	got := _codes(doc, _bundles)
	got != owed.codes
}

test_deny_shared_credential_of_somebody if {
	doc := fixture.put(_sound, "/evidence/credential_binding/owner_principal_ref", "user-42")
	_codes(doc, _bundles) == {"credential_owner_mismatch"}
}

# There is no falling back from one kind to another.
test_deny_kind_not_accepted if {[field, accepted, codes] |
	some [field, accepted, doc] in [
		["owners", ["user"], _sound],
		["owners", ["agent"], _with(_own)],
		["types", ["secret"], _sound],
	]
	codes := _codes(doc, fixture.put(_bundles, concat("/", ["/triage/catalog/create_ticket/credential", field]), accepted))
} == {
	["owners", ["user"], {"credential_kind_not_accepted"}],
	["owners", ["agent"], {"credential_kind_not_accepted", "tool_principal_mismatch"}],
	["types", ["secret"], {"credential_kind_not_accepted"}],
}

test_deny_contract_unreadable if {codes |
	some contract in [true, 17, "garbage", [], {}]
	codes := _codes(_sound, fixture.put(_bundles, "/triage/catalog/create_ticket/credential", contract))
} == {{"credential_kind_not_accepted"}}

# The caller changed while the run was paused, or the host does not say who it is.
test_deny_identity if _misses_of_identity == set()

_misses_of_identity := {[path, what, got] |
	some path, codes in {
		"/identity/tenant_id": {"credential_tenant_mismatch"},
		"/identity/delegated_principal_id": {
			"credential_requester_mismatch", "credential_owner_mismatch", "tool_principal_mismatch",
		},
		"/identity/authorization_mode": {
			"credential_requester_mismatch", "credential_owner_mismatch", "tool_principal_mismatch",
		},
	}
	some what, doc in fixture.broken(_with(_own), path, fixture.garbage)
	got := _codes(doc, _bundles)
	got != codes
}

test_deny_identity_and_binding_both_blank if {
	doc := json.patch(_with(_own), [
		{"op": "replace", "path": "/identity/delegated_principal_id", "value": ""},
		{"op": "replace", "path": "/identity/tenant_id", "value": ""},
		{"op": "replace", "path": "/evidence/credential_binding/tenant_ref", "value": ""},
		{"op": "replace", "path": "/evidence/credential_binding/requester_principal_ref", "value": ""},
		{"op": "replace", "path": "/evidence/credential_binding/owner_principal_ref", "value": ""},
	])
	_codes(doc, _bundles) == {
		"credential_requester_mismatch", "credential_tenant_mismatch",
		"credential_owner_mismatch", "tool_principal_mismatch",
	}
}

# No argument of the model's sets anybody.
test_arguments_change_nothing if {
	doc := fixture.put(_with(_own), "/request/arguments", {
		"user_id": "user-43", "requester_principal_ref": "user-43",
		"effective_principal_ref": "svc-admin",
	})
	_codes(doc, _bundles) == set()
	_kept(doc) == _kept(_with(_own))
}

test_kept_for_the_audit if {
	_kept(_sound) == {
		"requester_principal_ref": "user-42",
		"effective_principal_ref": "svc-writer",
		"credential_owner": "agent",
		"credential_type": "oauth",
		"connection_ref": "connection-1",
		"credential_ref": "credential-1",
		"deployment_ref": "deployment-1",
	}
	_kept(_with({"requester_principal_ref": 17})) == {field: null | some field in object.keys(_kept(_sound))}
	_kept(fixture.ticket) == null
	_kept({}) == null
}

_kept(doc) := value if {
	value := binding.kept with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as _bundles
}

_codes(doc, bundles) := {f.code |
	some f in binding.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

# What makes a call a plain one: nothing is wanted, or there is something to look at.
test_settled if {
	_settled(_sound, _bundles)
	_settled(fixture.ticket, controls.bare)
	not _settled(fixture.ticket, _bundles)
}

_settled(doc, bundles) if {
	binding.credential_settled with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
