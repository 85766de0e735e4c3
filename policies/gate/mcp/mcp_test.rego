package gate.mcp_test

import data.gate.fixture_test as fixture
import data.gate.mcp
import data.gate.runtime.fixture_test as controls

_mcp := {
	"server": "docs-mcp",
	"discovery_source": "approved_registry",
	"server_owner": "knowledge",
	"auth_mode": "oauth",
	"shadow": false,
}

_sound := controls.stating(fixture.reading, "mcp", _mcp)

_listing := json.patch(_sound, [
	{"op": "replace", "path": "/operation", "value": "list_tools"},
	{"op": "replace", "path": "/request/capability", "value": null},
])

test_none_sound if _codes(_sound, controls.bundles) == set()

test_none_listing_the_tools_of_a_catalogued_server if _codes(_listing, controls.bundles) == set()

test_none_empty_document if _codes({}, controls.bundles) == set()

test_none_gateway_call_without_evidence if _codes(fixture.ticket, controls.bundles) == set()

test_none_plain_call_without_controls if _codes(fixture.reading, controls.bare) == set()

# Without controls only what the catalog pins passes, over the strongest authentication.
test_none_pinned_without_controls if {
	doc := controls.stating(fixture.reading, "mcp", object.union(_mcp, {
		"discovery_source": "pinned_catalog",
		"auth_mode": "mutual_tls",
	}))
	_codes(doc, controls.bare) == set()
}

test_deny_without_controls if {
	_codes(_sound, controls.bare) == {"mcp_discovery_source_not_allowed", "mcp_auth_mode_not_allowed"}
}

test_deny_evidence_missing if _misses_of_evidence == set()

_misses_of_evidence := {[what, got] |
	some what, doc in fixture.broken(_sound, "/evidence/mcp", [null])
	got := _codes(doc, controls.bundles)
	got != {"mcp_evidence_missing"}
}

test_none_evidence_not_required if _codes(fixture.reading, controls.asking("mcp_evidence_required", false)) == set()

test_deny_evidence_not_known_to_be_optional if _misses_of_option == set()

_misses_of_option := {[value, got] |
	some value in [null, true, 0, "false", []]
	got := _codes(fixture.reading, controls.asking("mcp_evidence_required", value))
	got != {"mcp_evidence_missing"}
}

test_deny_evidence_unreadable if _misses_of_section == set()

_misses_of_section := {[value, got] |
	some value in [true, false, 17, "garbage", [], {}]
	got := _codes(controls.stating(fixture.reading, "mcp", value), controls.bundles)
	got != {
		"mcp_evidence_missing", "mcp_discovery_source_not_allowed", "mcp_server_owner_mismatch",
		"mcp_auth_mode_not_allowed", "mcp_shadow_server",
	}
}

test_deny_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(_sound, path, owed.values)
	got := _codes(doc, controls.bundles)
	got != owed.codes
}

_owed := {
	"/evidence/mcp/discovery_source": {
		"values": array.concat(fixture.garbage, ["runtime_discovery", "APPROVED_REGISTRY"]),
		"codes": {"mcp_discovery_source_not_allowed"},
	},
	"/evidence/mcp/server_owner": {
		"values": array.concat(fixture.garbage, ["support", "platform-safety"]),
		"codes": {"mcp_server_owner_mismatch"},
	},
	"/evidence/mcp/auth_mode": {
		"values": array.concat(fixture.garbage, ["none", "api_key"]),
		"codes": {"mcp_auth_mode_not_allowed"},
	},
	"/evidence/mcp/shadow": {"values": [null, true, 0, "false"], "codes": {"mcp_shadow_server"}},
}

test_deny_another_server if {
	_codes(fixture.put(_sound, "/evidence/mcp/server", "docs-mcp-2"), controls.bundles) == {"mcp_shadow_server"}
	_codes(fixture.put(_listing, "/evidence/mcp/server", "docs-mcp-2"), controls.bundles) == {
		"mcp_shadow_server",
		"mcp_server_owner_mismatch",
	}
}

test_deny_server_of_a_capability_without_one if {
	_codes(controls.stating(fixture.ticket, "mcp", _mcp), controls.bundles) == {
		"mcp_shadow_server",
		"mcp_server_owner_mismatch",
	}
}

test_deny_control_missing if _misses_of_controls == set()

_misses_of_controls := {[name, what, got] |
	some name, codes in {
		"mcp_discovery_source": {"mcp_discovery_source_not_allowed"},
		"mcp_auth_mode": {"mcp_auth_mode_not_allowed"},
	}
	some what, bundles in controls.missing(name)
	got := _codes(_sound, bundles)
	got != codes
}

test_owner_left_out_is_the_capabilitys if {
	bundles := fixture.without(controls.bundles, "/triage/mcp_controls/mcp_server_owner")
	_codes(_sound, bundles) == set()
	_codes(fixture.put(_sound, "/evidence/mcp/server_owner", "platform-safety"), bundles) == {"mcp_server_owner_mismatch"}
}

test_owner_of_the_bundle if {
	bundles := controls.having("mcp_server_owner", "bundle_owner")
	_codes(fixture.put(_sound, "/evidence/mcp/server_owner", "platform-safety"), bundles) == set()
	_codes(_sound, bundles) == {"mcp_server_owner_mismatch"}
}

# Every pair of what the bundle accepts at loosest and what the evidence states.
test_discovery_source_pairs if {[loosest, source] |
	some loosest in _sources
	some source in _sources
	_codes(fixture.put(_sound, "/evidence/mcp/discovery_source", source), controls.having("mcp_discovery_source", loosest)) == set()
} == {[_sources[i], _sources[j]] | some i in [0, 1, 2]; some j in [0, 1, 2]; j <= i}

_sources := ["pinned_catalog", "approved_registry", "runtime_discovery"]

test_auth_mode_pairs if {[weakest, mode] |
	some weakest in _modes
	some mode in _modes
	_codes(fixture.put(_sound, "/evidence/mcp/auth_mode", mode), controls.having("mcp_auth_mode", weakest)) == set()
} == {[_modes[i], _modes[j]] | some i in [0, 1, 2, 3]; some j in [0, 1, 2, 3]; j <= i}

_modes := ["mutual_tls", "oauth", "api_key", "none"]

_shadowed := fixture.put(_sound, "/evidence/mcp/shadow", true)

test_shadow_left_out_is_denied if _misses_of_shadow == set()

_misses_of_shadow := {[what, got] |
	some what, bundles in controls.missing("shadow_mcp_handling")
	got := _verdicts(_shadowed, bundles)
	got != {["mcp_shadow_server", "deny"]}
}

test_shadow_asks_a_person if {
	bundles := controls.having("shadow_mcp_handling", "require_approval")
	_verdicts(_shadowed, bundles) == {["mcp_shadow_server", "require_approval"]}
	approved := controls.stating(fixture.ticket, "mcp", object.union(_mcp, {"server_owner": "support", "shadow": true}))
	_verdicts(approved, bundles) == set()
	_verdicts(controls.unapproved(approved), bundles) == {["mcp_shadow_server", "require_approval"]}
}

_codes(doc, bundles) := {f.code | some f in _findings(doc, bundles)}

_verdicts(doc, bundles) := {[f.code, f.verdict] | some f in _findings(doc, bundles)}

_findings(doc, bundles) := found if {
	found := mcp.raised with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
