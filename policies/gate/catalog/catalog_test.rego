package gate.catalog_test

import data.gate.catalog
import data.gate.fixture_test as fixture
import data.gate.runtime.fixture_test as controls

_definition := "sha256:definition"

_bundles := fixture.put(controls.bundles, "/triage/catalog/search_docs/tool_definition", _definition)

_snapshot := {
	"target_id": "docs-mcp",
	"protocol_version": "2026-07-28",
	"request_fingerprint": "sha256:list",
	"partition_ref": "sha256:partition",
	"tenant_ref": "tenant-acme",
	"principal_ref": "user-42",
	"access_ref": "sha256:access",
	"current_access_ref": "sha256:access",
	"policy_version": "2026.04.07",
	"server_ttl_ms": 60000,
	"server_cache_scope": "private",
	"local_max_ttl_ms": 40000,
	"fetched_at_ms": 20001,
	"cache_hit": true,
	"catalog_digest_ref": "sha256:snapshot",
	"tool_definition": _definition,
}

_sound := _with(_snapshot)

_with(section) := json.patch(fixture.reading, [
	{"op": "add", "path": "/evidence/catalog_cache", "value": section},
	{"op": "replace", "path": "/digests/tool_definition", "value": _definition},
])

_having(fields) := _with(object.union(_snapshot, fields))

test_none_sound if _codes(_sound, _bundles) == set()

test_none_read_for_this_call if {
	_codes(_having({"cache_hit": false, "server_ttl_ms": null, "fetched_at_ms": 50000}), _bundles) == set()
}

test_none_empty_document if _codes({}, _bundles) == set()

test_none_plain_call_without_controls if _codes(fixture.reading, controls.bare) == set()

test_none_gateway_call if _codes(fixture.ticket, controls.bundles) == set()

test_none_no_call if _codes(fixture.put(_with({}), "/operation", "list_tools"), controls.bundles) == set()

test_none_unknown_capability if {
	_codes(fixture.put(fixture.reading, "/request/capability", "surprise"), _bundles) == set()
}

test_deny_missing if {what: codes |
	some what, doc in fixture.broken(_sound, "/evidence/catalog_cache", [null])
	codes := _codes(doc, _bundles)
} == {"absent": {"catalog_evidence_missing"}, "null": {"catalog_evidence_missing"}}

# A pinned definition cannot be compared without one, whatever else a bundle asks for.
test_deny_pinned_and_nothing_known if {
	bundles := fixture.put(_bundles, "/triage/call_controls/catalog_evidence_required", false)
	_codes(fixture.reading, bundles) == {"catalog_evidence_missing", "tool_definition_changed"}
}

test_none_not_required if {
	_codes(fixture.reading, controls.asking("catalog_evidence_required", false)) == set()
}

test_deny_not_known_to_be_optional if {codes |
	some value in [null, true, 0, "false", []]
	codes := _codes(fixture.reading, controls.asking("catalog_evidence_required", value))
} == {{"catalog_evidence_missing"}}

test_deny_unreadable if {codes |
	some section in [true, 17, "garbage", ["garbage"], {}]
	codes := _codes(_with(section), _bundles)
} == {{
	"catalog_target_mismatch", "catalog_partition_mismatch",
	"catalog_snapshot_expired", "tool_not_offered",
}}

test_deny_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(_sound, concat("/", ["/evidence/catalog_cache", path]), owed.values)
	got := _codes(doc, _bundles)
	got != {owed.code}
}

_owed := {
	"target_id": {"values": array.concat(fixture.garbage, ["DOCS-MCP", "tickets-mcp"]), "code": "catalog_target_mismatch"},
	"tenant_ref": {"values": array.concat(fixture.garbage, ["tenant-other"]), "code": "catalog_partition_mismatch"},
	"principal_ref": {"values": array.concat(fixture.garbage, ["user-43"]), "code": "catalog_partition_mismatch"},
	"access_ref": {"values": array.concat(fixture.garbage, ["sha256:other"]), "code": "catalog_partition_mismatch"},
	"current_access_ref": {"values": array.concat(fixture.garbage, ["sha256:other"]), "code": "catalog_partition_mismatch"},
	"policy_version": {"values": array.concat(fixture.garbage, ["2026.04.06"]), "code": "catalog_partition_mismatch"},
	"server_ttl_ms": {"values": array.concat(fixture.no_number, [0, -1, 29999]), "code": "catalog_snapshot_expired"},
	"local_max_ttl_ms": {"values": array.concat(fixture.no_number, [0, 29999]), "code": "catalog_snapshot_expired"},
	"fetched_at_ms": {"values": array.concat(fixture.no_number, [20000, 50001]), "code": "catalog_snapshot_expired"},
	"cache_hit": {"values": [null, 0, "true", [true]], "code": "catalog_snapshot_expired"},
	"tool_definition": {"values": array.concat(fixture.garbage, ["sha256:other"]), "code": "tool_not_offered"},
}

test_deny_bundle_bounds_reuse if {codes |
	some value in [null, "30000", 0, 29999, {}]
	codes := _codes(_sound, fixture.put(_bundles, "/triage/mcp_controls/catalog_max_ttl_ms", value))
} == {{"catalog_snapshot_expired"}}

# A snapshot is shared when the server called it public and the bundle lets it be.
test_sharing if {[scope, sharing, codes] |
	some scope in ["public", "private", null, "PUBLIC"]
	some sharing in ["public_within_tenant", "private", null]
	bundles := fixture.put(_bundles, "/triage/mcp_controls/catalog_sharing", sharing)
	codes := _codes(_having({"server_cache_scope": scope, "principal_ref": "user-43", "access_ref": "other"}), bundles)
	codes != {"catalog_partition_mismatch"}
} == {["public", "public_within_tenant", set()]}

test_deny_never_shared_across_tenants_or_versions if {[field, codes] |
	some field in ["tenant_ref", "policy_version"]
	bundles := fixture.put(_bundles, "/triage/mcp_controls/catalog_sharing", "public_within_tenant")
	codes := _codes(_having({"server_cache_scope": "public", field: "other"}), bundles)
} == {[field, {"catalog_partition_mismatch"}] | some field in ["tenant_ref", "policy_version"]}

test_deny_definition_is_not_the_reviewed_one if {
	doc := json.patch(_having({"tool_definition": "sha256:new"}), [{
		"op": "replace", "path": "/digests/tool_definition",
		"value": "sha256:new",
	}])
	_codes(doc, _bundles) == {"tool_definition_changed"}
	_codes(doc, controls.bundles) == set()
}

test_deny_digest_of_the_gate_is_not_the_one_stated if {codes |
	some value in [null, true, 17, "garbage", [], {}]
	codes := _codes(fixture.put(_sound, "/digests/tool_definition", value), _bundles)
} == {{"tool_not_offered", "tool_definition_changed"}}

test_deny_pin_unreadable if {codes |
	some value in [true, 17, [], {}]
	codes := _codes(_sound, fixture.put(_bundles, "/triage/catalog/search_docs/tool_definition", value))
} == {{"tool_definition_changed"}}

test_deny_caller_changed if {[path, codes] |
	some path in ["/identity/tenant_id", "/identity/principal_id"]
	some _, doc in fixture.broken(_sound, path, array.concat(fixture.garbage, ["other"]))
	codes := _codes(doc, _bundles)
} == {[path, {"catalog_partition_mismatch"}] | some path in ["/identity/tenant_id", "/identity/principal_id"]}

test_deny_clock_unknown if {codes |
	some _, doc in fixture.broken(_sound, "/now_ms", fixture.no_number)
	codes := _codes(doc, _bundles)
} == {{"catalog_snapshot_expired"}}

_codes(doc, bundles) := {f.code |
	some f in catalog.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

# What makes a call a plain one: nothing is wanted, or there is something to look at.
test_settled if {
	_settled(_sound, _bundles)
	_settled(fixture.reading, controls.bare)
	not _settled(fixture.reading, _bundles)
}

_settled(doc, bundles) if {
	catalog.settled with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
