package gate.continuity_test

import data.gate.continuity
import data.gate.continuity.fixture_test as fixture
import data.gate.fixture_test as core
import data.gate.verdict

test_none_sound_compaction if _codes(fixture.compacting) == set()

test_none_sound_resumption if _codes(fixture.resuming) == set()

test_none_sound_call if _codes(core.put(core.ticket, "/state/approval/epoch", 1)) == set()

test_allow_sound_compaction if _decided(fixture.compacting) == ["allow", {"configured_allow"}]

test_reauthorization_sound_resumption if {
	_decided(fixture.resuming) == ["reauthorization_required", {"configured_allow", "continuity_validated"}]
}

test_validated_only_when_permitted if {
	bundles := core.put(fixture.bundles, "/triage/findings", set())
	got := {f.code: f.verdict | some f in verdict.shown with input as fixture.resuming
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as bundles}
	got == {"no_rule_permits": "continuity_validation_failed"}
}

# Three verdicts leave a resumption, whatever is wrong with it.
test_three_verdicts_leave_a_resumption if {verdict |
	some path in [
		"/state", "/identity", "/trace", "/agent", "/envelope", "/digests", "/envelope/checkpoint_ref", "/now_ms",
		"/state/continuity", "/state/run", "/state/continuity/in_flight", "/state/continuity/open_work",
	]
	some doc in core.broken(fixture.resuming, path, core.no_section)
	verdict := _decided(doc)[0]
} | {_decided(fixture.resuming)[0]} == {
	"continuity_validation_failed", "blocked_on_reconciliation", "reauthorization_required",
}

# A summary that was tampered with hides no reconciliation.
test_failed_with_unknown_effect_keeps_both_reasons if {
	_decided(fixture.puts(fixture.resuming, {
		"/digests/summary_sha256": fixture.hex("f"),
		"/envelope/actions/0/side_effect_status": "side_effect_unknown",
		"/state/continuity/actions/0/side_effect_status": "side_effect_unknown",
	})) == ["continuity_validation_failed", {"configured_allow", "summary_digest_mismatch", "unknown_side_effect"}]
}

# A stranger learns that he is one, and nothing else.
test_stranger_learns_nothing_else if _misses_of_strangers == set()

_misses_of_strangers := {[path, got] |
	some path, code in {
		"/envelope/tenant_id": "tenant_mismatch",
		"/envelope/principal_id": "principal_mismatch",
		"/envelope/agent_id": "agent_mismatch",
		"/envelope/session_id": "session_mismatch",
	}
	some value in core.garbage
	got := _decided(fixture.puts(fixture.resuming, {
		path: value,
		"/digests/summary_sha256": null,
		"/state/continuity/actions/0/side_effect_status": "side_effect_unknown",
	}))
	got != ["continuity_validation_failed", {code}]
}

test_deny_empty_document if {
	"epoch_absent" in _codes({})
	"boundary_open" in _codes({})
}

test_failed_empty_resumption if {
	_codes({"operation": "rehydrate"}) == {"envelope_missing"}
}

test_deny_empty_boundary if _codes({"operation": "compact"}) == {
	"approval_pending", "tool_outcome_unknown", "multi_step_in_progress", "irreversible_awaiting_confirmation",
	"credential_change_unfinished", "user_correction_not_durable", "incident_open", "obligation_open",
	"sandbox_not_saved", "budget_exhausted", "boundary_limit_reached", "checkpoint_missing", "event_chain_broken",
	"constraint_unresolvable", "required_constraint_missing", "epoch_absent", "boundary_open",
} - _of_the_bundle

# The empty document names no agent, so no bundle adds anything.
_of_the_bundle := {
	"obligation_open", "sandbox_not_saved", "budget_exhausted", "boundary_limit_reached", "required_constraint_missing",
}

_codes(doc) := {f.code | some f in continuity.raised with input as doc
	with data.gate.agents.bundle_of as core.bundle_of
	with data.gate.bundles as fixture.bundles}

_decided(doc) := [word, codes] if {
	word := verdict.verdict with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as fixture.bundles
	codes := {f.code | some f in verdict.shown with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as fixture.bundles}
}
