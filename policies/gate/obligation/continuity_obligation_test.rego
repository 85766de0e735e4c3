package gate.obligation_test

import data.gate.continuity.fixture_test as boundaries
import data.gate.fixture_test as fixture
import data.gate.longtask.fixture_test as tasks

test_compaction_is_written if _owed_at(boundaries.compacting) == [{
	"type": "write_boundary",
	"requested": true,
	"forbidden_states": [],
}]

test_meaning_is_committed_as_it_was_decided if _owed_at(tasks.committing) == [{
	"type": "commit_artifact",
	"envelope_id": "ce-1",
	"artifact_id": "art-1",
	"artifact_digest": "sha256:art",
	"checkpoint_id": "cp-1",
	"event_cursor": 24,
}]

test_meaning_refused_is_not_committed if {
	_owed_at(fixture.put(tasks.committing, "/state/longtask/frozen_cursor", 25)) == []
}

test_compaction_refused_owes_nothing if {
	_owed_at(fixture.put(boundaries.compacting, "/state/continuity/in_flight", true)) == []
}

# Nobody asked, so what it happened in is recorded, sorted.
test_recovery_is_written_with_the_states_it_happened_in if {
	_owed_at(boundaries.puts(boundaries.compacting, {
		"/operation": "recover",
		"/state/continuity/actions/0/side_effect_status": "side_effect_unknown",
		"/state/continuity/actions/0/approval_status": "pending",
	})) == [{
		"type": "write_boundary",
		"requested": false,
		"forbidden_states": ["approval_pending", "tool_outcome_unknown"],
	}]
}

test_resumption_uses_the_envelope_up if _owed_at(boundaries.resuming) == [{
	"type": "resume_boundary",
	"envelope_id": "ce-1",
	"version": 2,
	"epoch": 2,
}]

test_resumption_of_a_fork_starts_the_child if {
	_owed_at(boundaries.puts(boundaries.resuming, {
		"/envelope/reset_reason": "fork",
		"/state/continuity/child": {"run_id": "run-2", "session_id": "session-2", "known": false},
	})) == [
		{"type": "resume_boundary", "envelope_id": "ce-1", "version": 2, "epoch": 2},
		{"type": "fork_run", "run_id": "run-2", "session_id": "session-2"},
	]
}

test_resumption_of_a_handoff_hands_the_run_over if {
	_owed_at(boundaries.puts(boundaries.resuming, {
		"/envelope/reset_reason": "handoff",
		"/envelope/handoff_to": {"agent_id": "triage-agent", "role": null},
	})) == [
		{"type": "resume_boundary", "envelope_id": "ce-1", "version": 2, "epoch": 2},
		{"type": "hand_over_run", "agent_id": "triage-agent"},
	]
}

# Whatever else fails, each effect of unknown outcome is to be reconciled, under its own key.
test_failed_resumption_reconciles_each_effect if {
	changed := {
		"/state/continuity/actions/0/side_effect_status": "side_effect_unknown",
		"/state/continuity/actions/1/side_effect_status": "partial_side_effect",
		"/digests/summary_sha256": boundaries.hex("f"),
	}
	_owed_at(boundaries.puts(boundaries.resuming, changed)) == [
		{"type": "reconcile", "idempotency_key": "key-1"},
		{"type": "reconcile", "idempotency_key": "key-2"},
	]
	_owed_at(boundaries.puts(boundaries.compacting, object.remove(changed, ["/digests/summary_sha256"]))) == [
		{"type": "reconcile", "idempotency_key": "key-1"},
		{"type": "reconcile", "idempotency_key": "key-2"},
	]
	_owed_at(boundaries.puts(boundaries.resuming, object.union(changed, {"/envelope/tenant_id": "tenant-other"}))) == []
}

test_failed_resumption_of_nothing_owes_nothing if {
	_owed_at({"operation": "rehydrate"}) == []
	_owed_at({"operation": "compact"}) == []
}

# A fresh approval must be of the run's own epoch.
test_require_approval_of_an_earlier_epoch_names_the_epoch if {
	got := _owed_at(boundaries.puts(fixture.ticket, {
		"/trace/epoch": 3,
		"/state/run/epoch": 3,
		"/state/approval/epoch": 2,
	}))
	got == [object.union(_request, {"min_epoch": 3})]
}

_owed_at(doc) := _owed_in(doc, boundaries.bundles)
