package gate.continuity.lineage_test

import data.gate.continuity.fixture_test as fixture
import data.gate.continuity.lineage
import data.gate.fixture_test as core

test_none_sound if _codes(fixture.resuming) == set()

test_none_at_another_operation if _codes(core.put(fixture.resuming, "/operation", "compact")) == set()

test_failed_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in core.broken(fixture.resuming, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/envelope/tenant_id": {"values": array.concat(core.garbage, ["Tenant-Acme"]), "codes": {"tenant_mismatch"}},
	"/identity/tenant_id": {"values": core.garbage, "codes": {"tenant_mismatch"}},
	"/envelope/principal_id": {"values": array.concat(core.garbage, ["USER-42"]), "codes": {"principal_mismatch"}},
	"/identity/principal_id": {"values": core.garbage, "codes": {"principal_mismatch"}},
	"/envelope/agent_id": {"values": core.garbage, "codes": {"agent_mismatch"}},
	"/agent/agent_id": {"values": core.garbage, "codes": {"agent_mismatch", "policy_version_changed"}},
	"/envelope/session_id": {"values": core.garbage, "codes": {"session_mismatch"}},
	"/trace/session_id": {"values": core.garbage, "codes": {"session_mismatch"}},
	"/envelope/run_id": {"values": core.garbage, "codes": {"run_mismatch"}},
	"/trace/run_id": {"values": core.garbage, "codes": {"run_mismatch"}},
	"/envelope/environment": {"values": array.concat(core.garbage, ["prod"]), "codes": {"environment_mismatch"}},
	"/agent/environment": {"values": core.garbage, "codes": {"environment_mismatch"}},
	"/envelope/authorization_mode": {"values": array.concat(core.garbage, ["platform_owned"]), "codes": {"authorization_mode_changed"}},
	"/identity/authorization_mode": {"values": core.garbage, "codes": {"authorization_mode_changed"}},
	"/envelope/delegated_principal_id": {"values": core.garbage, "codes": {"delegated_principal_changed"}},
	"/identity/delegated_principal_id": {"values": core.garbage, "codes": {"delegated_principal_changed"}},
	"/envelope/delegated_scope": {"values": array.concat(core.garbage, ["tickets:create tickets:close"]), "codes": {"delegated_scope_changed"}},
	"/identity/delegated_scope": {"values": core.garbage, "codes": {"delegated_scope_changed"}},
	"/envelope/source_trace_id": {"values": core.garbage, "codes": {"trace_lineage_broken"}},
	"/state/continuity/source_trace_id": {"values": core.garbage, "codes": {"trace_lineage_broken"}},
	"/envelope/policy_version": {"values": array.concat(core.garbage, ["2026.04.08"]), "codes": {"policy_version_changed"}},
	"/state/continuity/policy/bundle_version": {"values": array.concat(core.garbage, ["2026.04.08"]), "codes": {"policy_version_changed"}},
	"/envelope/policy_digest": {"values": array.concat(core.garbage, [fixture.hex("e")]), "codes": {"policy_digest_changed"}},
	"/state/continuity/policy/policy_digest": {"values": core.garbage, "codes": {"policy_digest_changed"}},
	"/state/continuity/policy": {"values": core.no_section, "codes": {"policy_version_changed", "policy_digest_changed"}},
	"/envelope/source_event_range": {"values": core.no_section, "codes": {"event_range_mismatch"}},
	"/envelope/source_event_range/first_seq": {"values": array.concat(core.no_number, [0, 2, 143]), "codes": {"event_range_mismatch"}},
	"/envelope/source_event_range/last_seq": {"values": array.concat(core.no_number, [141, 143]), "codes": {"event_range_mismatch"}},
	"/envelope/source_event_range/head_hash": {"values": core.garbage, "codes": {"event_range_mismatch"}},
	"/state/continuity/event_range/first_seq": {"values": array.concat(core.no_number, [0, 2]), "codes": {"event_range_mismatch"}},
	"/state/continuity/event_range/last_seq": {"values": array.concat(core.no_number, [141, 143]), "codes": {"event_range_mismatch"}},
	"/state/continuity/event_range/head_hash": {"values": core.garbage, "codes": {"event_range_mismatch"}},
	"/state/continuity/event_range/intact": {"values": core.no_true, "codes": {"event_chain_broken"}},
	"/state/continuity/event_range": {"values": core.no_section, "codes": {"event_range_mismatch", "event_chain_broken"}},
}

# Two absent or two equally wrong sides are no match.
test_failed_both_sides_alike_but_no_text if _misses_of_both == set()

_misses_of_both := {[paths, value, got] |
	some paths, code in {
		["/envelope/tenant_id", "/identity/tenant_id"]: "tenant_mismatch",
		["/envelope/principal_id", "/identity/principal_id"]: "principal_mismatch",
		["/envelope/agent_id", "/agent/agent_id"]: "agent_mismatch",
		["/envelope/session_id", "/trace/session_id"]: "session_mismatch",
		["/envelope/run_id", "/trace/run_id"]: "run_mismatch",
		["/envelope/environment", "/agent/environment"]: "environment_mismatch",
		["/envelope/authorization_mode", "/identity/authorization_mode"]: "authorization_mode_changed",
		["/envelope/source_trace_id", "/state/continuity/source_trace_id"]: "trace_lineage_broken",
		["/envelope/policy_digest", "/state/continuity/policy/policy_digest"]: "policy_digest_changed",
	}
	some value in core.no_text
	got := _codes(fixture.puts(fixture.resuming, {path: value | some path in paths}))

	# Of an agent that is none, no bundle and so no version is known.
	got - {"policy_version_changed"} != {code}
}

# A range that ends before it begins is none, even when the records say the same.
test_failed_range_upside_down if {
	_codes(fixture.puts(fixture.resuming, {
		"/envelope/source_event_range/first_seq": 143,
		"/state/continuity/event_range/first_seq": 143,
	})) == {"event_range_mismatch"}
}

test_none_that_nobody_delegated if {
	_codes(fixture.puts(fixture.resuming, {path: null |
		some side in ["/envelope", "/identity"]
		some field in ["delegated_principal_id", "delegated_scope"]
		path := concat("/", [side, field])
	})) == set()
}

test_strangers_are_known_by_their_findings if {f.code | some f in lineage.about_identity} == {
	"tenant_mismatch", "principal_mismatch", "agent_mismatch", "session_mismatch",
} with input as {"operation": "rehydrate", "envelope": {"envelope_id": "ce-1"}}

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f.code | some f in lineage.findings with input as doc
	with data.gate.agents.bundle_of as core.bundle_of
	with data.gate.bundles as bundles}
