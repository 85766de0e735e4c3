# METADATA
# title: What the tests of continuity share
# description: >-
#   a sound compaction and a sound resumption over the bundle of the core fixture, with one approved action that waits to
#   be carried out and one effect that was committed
package gate.continuity.fixture_test

import data.gate.fixture_test as core

# METADATA
# title: The bundle with what it adds at a boundary
bundles := core.put(core.bundles, "/triage/continuity", added)

# METADATA
# title: All that a bundle can add
added := {
	"compare": {
		"role": true,
		"objective": true,
		"evidence_refs": true,
		"budget_remaining": true,
		"pending_obligations": true,
	},
	"reconfirm_approval": true,
	"max_age_ms": 10000,
	"max_boundaries": 3,
	"forbidden_states": {"obligation_open": true, "sandbox_not_saved": true, "budget_exhausted": true},
	"required_constraints": ["constraint-17"],
}

# METADATA
# title: A digest of one letter
hex(letter) := concat("", ["sha256:", concat("", [letter | some _ in numbers.range(1, 64)])])

_waiting := {
	"capability_name": "create_ticket",
	"capability_version": "sha256:ticket-version",
	"approval_id": "apr-1",
	"action_digest": "sha256:action",
	"approval_expires_at_ms": 60000,
	"idempotency_key": "key-1",
	"side_effect_status": "not_started",
	"business_key_digest": "sha256:business",
}

_done := {
	"capability_name": "create_ticket",
	"capability_version": "sha256:ticket-version",
	"approval_id": "apr-2",
	"action_digest": "sha256:action-2",
	"approval_expires_at_ms": 40000,
	"idempotency_key": "key-2",
	"side_effect_status": "side_effect_committed",
	"business_key_digest": "sha256:business-2",
}

_actions := [
	object.union(_waiting, {"approval_status": "approved", "lease_expires_at_ms": null}),
	object.union(_done, {"approval_status": "consumed", "lease_expires_at_ms": null}),
]

_base := object.union(object.remove(core.ticket, ["request", "evidence", "digests", "state"]), {"checkpoint": "state"})

_run := object.union(core.ticket.state.run, {"epoch": 2})

# METADATA
# title: A compaction that somebody asks for
compacting := object.union(_base, {
	"operation": "compact",
	"trace": {"epoch": 2},
	"state": {"run": _run, "continuity": {
		"boundary": {"count": 1},
		"epoch": 2,
		"event_range": {"first_seq": 1, "last_seq": 142, "head_hash": hex("a"), "intact": true},
		"actions": _actions,
		"checkpoint_ref": "checkpoint:step-6",
		"sandbox_snapshot_ref": "snapshot:6",
		"budget_remaining": 7,
		"pending_obligations": [],
		"closed_obligations": [],
		"constraints": [{"constraint_id": "constraint-17", "resolvable": true, "digest": hex("c")}],
		"in_flight": false,
		"open_work": [],
	}},
})

# METADATA
# title: A resumption after the compaction
resuming := object.union(_base, {
	"operation": "rehydrate",
	"agent": {"role": "triage"},
	"envelope": envelope,
	"digests": {"summary_sha256": hex("b")},
	"state": {
		"run": object.union(_run, {"boundary": {"envelope_id": "ce-1", "status": "sealed"}}),
		"continuity": object.union(compacting.state.continuity, {
			"boundary": {
				"envelope_id": "ce-1",
				"status": "sealed",
				"version": 2,
				"count": 2,
				"resumed_by": null,
				"written_at_ms": 45000,
			},
			"source_trace_id": "trace-0",
			"policy": {"bundle_version": "2026.04.07", "policy_digest": hex("d")},
			"objective_sha256": hex("e"),
			"evidence_refs": ["trace:trace-0", "approval:apr-1"],
			"pending_obligations": ["await:customer"],
			"host": {"epoch": 2},
		}),
	},
})

# METADATA
# title: The envelope it resumes from
envelope := {
	"schema_version": "continuity-envelope/v1",
	"envelope_id": "ce-1",
	"session_id": "session-1",
	"source_trace_id": "trace-0",
	"reset_reason": "context_compaction",
	"objective_sha256": hex("e"),
	"exact_constraint_refs": ["constraint-17"],
	"pending_obligations": ["await:customer"],
	"tenant_id": "tenant-acme",
	"principal_id": "user-42",
	"authorization_mode": "user_delegated",
	"delegated_principal_id": "user-42",
	"delegated_scope": "tickets:create",
	"policy_version": "2026.04.07",
	"policy_digest": hex("d"),
	"actions": [_waiting, _done],
	"checkpoint_ref": "checkpoint:step-6",
	"sandbox_snapshot_ref": "snapshot:6",
	"budget_remaining": 7,
	"source_event_range": {"first_seq": 1, "last_seq": 142, "head_hash": hex("a")},
	"summary_sha256": hex("b"),
	"evidence_refs": ["trace:trace-0", "approval:apr-1"],
	"requires_reauthorization": true,
	"run_id": "run-1",
	"agent_id": "triage-agent",
	"role": "triage",
	"environment": "test",
	"epoch": 2,
	"written_at_ms": 45000,
	"requested": true,
	"forbidden_states": [],
	"handoff_to": null,
	"form_problem": null,
	"seal": {"key_id": "gate-key", "valid": true},
}

# METADATA
# title: A document with several values set
puts(doc, values) := json.patch(doc, [{"op": "add", "path": path, "value": value} | some path, value in values])
