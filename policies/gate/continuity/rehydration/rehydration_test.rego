package gate.continuity.rehydration_test

import data.gate.continuity.fixture_test as fixture
import data.gate.continuity.rehydration
import data.gate.fixture_test as core

test_none_sound if _codes(fixture.resuming) == set()

test_none_at_another_operation if {
	_codes(fixture.puts(fixture.resuming, {"/operation": "compact", "/envelope": null})) == set()
}

test_failed_without_envelope if _misses_of_whole == set()

_misses_of_whole := {[what, got] |
	some what, doc in core.broken(fixture.resuming, "/envelope", core.no_section)
	got := _codes(doc)
	got != {"envelope_missing"}
}

test_failed_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in core.broken(fixture.resuming, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/envelope/envelope_id": {"values": core.no_text, "codes": {"envelope_missing"}},
	"/envelope/schema_version": {"values": array.concat(core.garbage, ["continuity-envelope/v2", "Continuity-Envelope/v1"]), "codes": {"envelope_version_unsupported"}},
	"/envelope/requires_reauthorization": {"values": core.no_true, "codes": {"envelope_malformed"}},
	"/envelope/form_problem": {"values": [true, 17, "", "continuity_field_missing", ["garbage"], {}], "codes": {"envelope_malformed"}},
	"/envelope/reset_reason": {"values": array.concat(core.garbage, ["compact"]), "codes": {"envelope_malformed"}},
	"/envelope/evidence_refs": {"values": [null, true, 17, "garbage", {}], "codes": {"envelope_malformed"}},
	"/envelope/objective_sha256": {"values": [true, 17, "", "sha256:e", fixture.hex("E"), concat("", [fixture.hex("e"), "0"])], "codes": {"envelope_malformed"}},
	"/envelope/summary_sha256": {"values": [null, true, 17, "", "md5:b", fixture.hex("B"), concat("", [fixture.hex("b"), "0"])], "codes": {"envelope_malformed", "summary_digest_mismatch"}},
	"/digests/summary_sha256": {"values": array.concat(core.garbage, [fixture.hex("c"), fixture.hex("B")]), "codes": {"summary_digest_mismatch"}},
	"/digests": {"values": core.no_section, "codes": {"summary_digest_mismatch"}},
	"/envelope/seal": {"values": core.no_section, "codes": {"seal_invalid"}},
	"/envelope/seal/key_id": {"values": core.no_text, "codes": {"seal_invalid"}},
	"/envelope/seal/valid": {"values": core.no_true, "codes": {"seal_invalid"}},
	"/envelope/written_at_ms": {"values": core.no_number, "codes": {"envelope_malformed", "boundary_mismatch", "boundary_from_the_future", "boundary_too_old"}},
	"/envelope/requested": {"values": [null, 1, "true", [true]], "codes": {"envelope_malformed", "boundary_forbidden"}},
	"/envelope/forbidden_states": {"values": [null, true, 17, "garbage", ["incident_open"]], "codes": {"boundary_forbidden"}},
	"/envelope/epoch": {"values": array.concat(core.no_number, [0, -1]), "codes": {"epoch_absent"}},
	"/state/continuity/epoch": {"values": array.concat(core.no_number, [0, -1]), "codes": {"epoch_absent"}},
	"/state/run/epoch": {"values": array.concat(core.no_number, [0]), "codes": {"epoch_absent"}},
	"/state/continuity/host": {"values": [true, 17, "garbage", ["garbage"], {}], "codes": {"epoch_absent"}},
	"/state/continuity/host/epoch": {"values": [true, "2", [2], {}, 0], "codes": {"epoch_absent"}},
	"/state/continuity/boundary/envelope_id": {"values": core.garbage, "codes": {"boundary_mismatch"}},
	"/state/continuity/boundary/written_at_ms": {"values": array.concat(core.no_number, [44999]), "codes": {"boundary_mismatch"}},
	"/state/continuity/boundary/version": {"values": core.no_number, "codes": {"boundary_mismatch"}},
	"/state/continuity/boundary/status": {"values": array.concat(core.garbage, ["SEALED"]), "codes": {"boundary_state_unknown", "boundary_not_sealed", "envelope_already_resumed", "boundary_abandoned"}},
	"/state/continuity/boundary/resumed_by": {"values": [true, 17, "", "worker-1", {}], "codes": {"envelope_already_resumed"}},
	"/state/continuity/boundary/count": {"values": array.concat(core.no_number, [4]), "codes": {"boundary_limit_reached"}},
	"/state/continuity/boundary": {"values": core.no_section, "codes": {"boundary_mismatch", "boundary_limit_reached", "boundary_state_unknown", "boundary_not_sealed", "envelope_already_resumed", "boundary_abandoned"}},
	"/now_ms": {"values": core.no_number, "codes": {"boundary_from_the_future", "boundary_too_old"}},
}

test_failed_each_status if {status: _codes(core.put(fixture.resuming, "/state/continuity/boundary/status", status)) |
	some status in ["open", "sealed", "resumed", "abandoned"]
} == {
	"open": {"boundary_not_sealed"},
	"sealed": set(),
	"resumed": {"envelope_already_resumed"},
	"abandoned": {"boundary_abandoned"},
}

test_none_recovery_without_summary if _codes(_recovered) == set()

test_failed_recovery_with_a_summary_nobody_sealed if {
	_codes(core.put(_recovered, "/digests/summary_sha256", fixture.hex("b"))) == {"summary_digest_mismatch"}
}

# Only what nobody could prepare for may come without a summary.
test_failed_compaction_without_summary if {
	_codes(core.put(_recovered, "/envelope/reset_reason", "context_compaction")) == {
		"envelope_malformed", "boundary_not_sealed",
	}
}

_recovered := fixture.puts(fixture.resuming, {
	"/envelope/reset_reason": "process_recovery",
	"/envelope/summary_sha256": null,
	"/envelope/requested": false,
	"/envelope/forbidden_states": ["approval_pending"],
	"/digests/summary_sha256": null,
	"/state/continuity/boundary/status": "open",
})

test_none_without_objective if _codes(core.put(fixture.resuming, "/envelope/objective_sha256", null)) == set()

test_none_host_that_states_no_epoch if _codes(core.put(fixture.resuming, "/state/continuity/host/epoch", null)) == set()

# envelope, records, run and host
test_failed_each_order_of_epochs if {[e, c, r, h]: _codes(_at([e, c, r, h])) |
	some [e, c, r, h] in [[2, 2, 2, 1], [2, 2, 2, 3], [3, 2, 2, 2], [1, 2, 2, 2], [2, 2, 1, 2], [2, 3, 3, 2]]
} == {
	[2, 2, 2, 1]: {"epoch_backwards"},
	[2, 2, 2, 3]: {"epoch_backwards"},
	[3, 2, 2, 2]: {"epoch_backwards"},
	[1, 2, 2, 2]: {"epoch_reused"},
	[2, 2, 1, 2]: {"epoch_backwards"},
	[2, 3, 3, 2]: {"epoch_backwards", "epoch_reused"},
}

_at(epochs) := fixture.puts(fixture.resuming, {
	"/envelope/epoch": epochs[0],
	"/state/continuity/epoch": epochs[1],
	"/state/run/epoch": epochs[2],
	"/state/continuity/host/epoch": epochs[3],
})

test_age_at_the_bound if {now: _codes(core.put(fixture.resuming, "/now_ms", now)) |
	some now in [44999, 45000, 55000, 55001]
} == {
	44999: {"boundary_from_the_future"},
	45000: set(),
	55000: set(),
	55001: {"boundary_too_old"},
}

test_none_any_age_and_count_in_a_bundle_without_bounds if {
	bundles := core.without(fixture.bundles, "/triage/continuity")
	old := fixture.puts(fixture.resuming, {"/now_ms": 99999999999999, "/state/continuity/boundary/count": 1000})
	_codes_in(old, bundles) == set()
}

test_failed_bounds_broken_in_the_bundle if _misses_of_bounds == set()

_misses_of_bounds := {[field, what, got] |
	some field, code in {"max_age_ms": "boundary_too_old", "max_boundaries": "boundary_limit_reached"}
	some what, bundles in core.broken(
		fixture.bundles,
		concat("/", ["/triage/continuity", field]),
		[true, "10000", [10000], {}],
	)
	got := _codes_in(fixture.puts(fixture.resuming, {"/now_ms": 45000, "/state/continuity/boundary/count": 0}), bundles)
	not got in [{code}]
}

_codes(doc) := _codes_in(doc, fixture.bundles)

_codes_in(doc, bundles) := {f.code | some f in rehydration.findings with input as doc
	with data.gate.agents.bundle_of as core.bundle_of
	with data.gate.bundles as bundles}
