package gate.obligation_test

import data.gate.fixture_test as fixture
import data.gate.obligation

test_allow_reading_owes_nothing if _owed(fixture.reading) == []

test_allow_approved_write_consumes_and_claims if _owed(fixture.ticket) == [
	{"type": "consume_approval", "approval_id": "apr-1", "version": 2},
	{"type": "claim_effect", "lease_seconds": 15},
]

test_allow_counted_write_names_its_counters if {
	use := {"limit_id": "daily", "per": "run", "window": "none", "max": 100, "subject": "run-1", "amount": 60}
	row := {"name": "limit/daily", "limit_id": "daily", "per": "run", "subject": "run-1", "value": 40, "version": 3}
	counter := object.union(row, {"since_ms": null, "until_ms": null})
	doc := fixture.put(fixture.ticket, "/state/counters", [counter])
	{"type": "claim_effect", "lease_seconds": 15, "counters": [
		{"name": "limit/daily", "amount": 60, "limit": 100, "read": 40},
	]} in _owed_in(doc, fixture.put(fixture.bundles, "/triage/limits", {use}))
}

# An answer that goes out over work that is not whole says so, and over whole work does not.
test_answer_over_unfinished_work_is_marked if {
	answer := object.union(fixture.ticket, {
		"checkpoint": "output", "operation": "emit",
		"request": {"text": "done"},
	})
	bundles := fixture.put(fixture.bundles, "/triage/findings", {f |
		f := {
			"code": "operation_allowed", "rule": "op.emit", "requirement": "operations.emit",
			"source": "policy.yaml", "verdict": "allow",
		}
	})
	parts := ["failed", "unknown", "partial", "in_flight", "waiting", "refused", "narrowed"]
	doc := fixture.put(answer, "/state/completion", object.union({"finished": 2}, {part: 0 | some part in parts}))
	_marks(doc, bundles) == []
	_marks(fixture.put(doc, "/state/completion/unknown", 1), bundles) == [{"type": "mark_partial", "refused_scopes": []}]
}

_marks(doc, bundles) := [o | some o in _owed_in(doc, bundles); o.type == "mark_partial"]

# A write that needs no approval still claims.
test_allow_unapproved_write_claims if {
	free := fixture.put(fixture.bundles, "/triage/decisions/create_ticket", "allow")
	bundles := fixture.put(free, "/triage/catalog/create_ticket/approval", "none")
	_owed_in(fixture.put(fixture.ticket, "/state/approval", null), bundles) == [{
		"type": "claim_effect",
		"lease_seconds": 15,
	}]
}

# A step that is refused ends its plan; nobody else's refusal does, and nothing is promised to be undone.
test_refused_step_stops_its_plan if {
	bundles := fixture.put(fixture.bundles, "/triage/compound", {"create_ticket": {
		"role": "step", "plan": "run_plan",
		"steps": [],
	}})
	running := {"plan_ref": "plan-1", "status": "in_flight", "lease_expires_at_ms": 60000, "touched_steps": 1}
	doc := fixture.put(fixture.ticket, "/state/plan", running)
	stop := {"type": "stop_plan", "plan_ref": "plan-1", "to": "partial_side_effect"}
	_owed_in(doc, bundles) == [stop]
	not stop in _owed_in(fixture.put(doc, "/identity/tenant_id", "tenant-other"), bundles)
	not stop in _owed_in(fixture.put(doc, "/state/plan/status", "partial_side_effect"), bundles)
	_owed_in(fixture.without(doc, "/state/plan/plan_ref"), bundles) == [object.union(stop, {"plan_ref": null})]
}

test_redact_once_for_all_controls if {
	bundles := fixture.put(fixture.bundles, "/triage/redactions", {
		{"code": "b", "source": "", "pointers": ["/title", "/body"]},
		{"code": "a", "source": "", "pointers": ["/title"]},
	})
	redact := {"type": "redact", "pointers": ["/body", "/title"]}
	_owed_in(fixture.put(fixture.ticket, "/state/approval", null), bundles) == [_request, redact]
	redact in _owed_in(fixture.ticket, bundles)
	not redact in _owed_in(fixture.put(fixture.ticket, "/state/run/status", "stopped"), bundles)
}

test_redact_nothing_without_pointers if _misses_of_pointers == set()

_misses_of_pointers := {[redactions, got] |
	some redactions in [set(), null, 5, "garbage", {{}}, {{"pointers": []}}, {{"pointers": null}}, {"garbage"}]
	got := [o.type | some o in _owed_in(fixture.ticket, fixture.put(fixture.bundles, "/triage/redactions", redactions))]
	got != ["consume_approval", "claim_effect"]
}

test_redact_on_a_reading_call if {
	bundles := fixture.put(fixture.bundles, "/triage/redactions", {{"pointers": ["/query"]}})
	_owed_in(fixture.reading, bundles) == [{"type": "redact", "pointers": ["/query"]}]
}

# A lease of zero cannot be discharged, so that the gate refuses; the obligation does not vanish.
test_allow_write_without_timeout_owes_a_lease_of_zero if {
	_owed_in(fixture.ticket, fixture.without(fixture.bundles, "/triage/catalog/create_ticket/timeout_seconds")) == [
		{"type": "consume_approval", "approval_id": "apr-1", "version": 2},
		{"type": "claim_effect", "lease_seconds": 0},
	]
}

test_require_approval_asks_for_it if {
	_owed(fixture.put(fixture.ticket, "/state/approval", null)) == [_request]
}

test_require_approval_consumed_asks_for_another if {
	_owed(fixture.put(fixture.ticket, "/state/approval/status", "consumed")) == [_request]
}

_request := {
	"type": "request_approval",
	"capability": "create_ticket",
	"contract_id": "create-ticket-manager",
	"contract_digest": "sha256:contract",
	"max_wait_seconds": 1800,
	"min_epoch": null,
}

test_blocked_reconciles_under_the_original_key if {
	_owed(object.union(fixture.ticket, {
		"request": {"idempotency_key": "key-2"},
		"state": {"side_effect": {"status": "side_effect_unknown", "idempotency_key": "key-1"}},
	})) == [{"type": "reconcile", "idempotency_key": "key-1"}]
}

test_blocked_reconciles_though_the_key_is_lost if {
	_owed(fixture.put(fixture.ticket, "/state/side_effect", {"status": "partial_side_effect"})) == [{
		"type": "reconcile",
		"idempotency_key": null,
	}]
}

# Whatever else refuses the call, the effect must be reconciled.
test_deny_or_require_beside_a_blocked_effect_reconciles if _misses_of_blocked == set()

_misses_of_blocked := {[status, path, got] |
	some status in ["in_flight", "side_effect_unknown", "partial_side_effect"]
	some path, value in {
		"/state/run/status": "stopped",
		"/evidence/arguments/valid": false,
		"/state/idempotency/action_digest": "sha256:other",
		"/request_id": null,
		"/state/approval/status": "revoked",
	}
	doc := fixture.put(fixture.ticket, "/state/side_effect", {
		"status": status,
		"idempotency_key": "key-1",
		"lease_expires_at_ms": 60000,
	})
	got := _owed(fixture.put(doc, path, value))
	got != [{"type": "reconcile", "idempotency_key": "key-1"}]
}

# A stranger is not told that there is something to reconcile.
test_deny_blocked_stranger_reconciles_nothing if {
	doc := fixture.put(fixture.ticket, "/state/side_effect/status", "side_effect_unknown")
	_owed(fixture.put(doc, "/identity/tenant_id", "tenant-other")) == []
}

# C3: the second call gets the first one's receipt.
test_deny_replay_returns_the_receipt if {
	_owed(_replay) == [{"type": "return_receipt", "idempotency_key": "key-1"}]
}

test_deny_replay_refused_for_anything_else_returns_none if _misses_of_replay == set()

_misses_of_replay := {[path, got] |
	some path, value in {
		"/state/run/status": "stopped",
		"/state/run/tenant_id": "tenant-other",
		"/state/versions/bundle_version": "0",
		"/evidence/arguments/valid": false,
		"/state/idempotency/action_digest": "sha256:other",
		"/request_id": null,
	}
	got := _owed(fixture.put(_replay, path, value))
	got != []
}

# Same business key, another call: it happened, and whose receipt it is would be a guess.
test_deny_committed_under_another_key_returns_none if {
	_owed(fixture.put(_replay, "/request/idempotency_key", "key-2")) == []
	_owed(object.union(_replay, {
		"request": {"idempotency_key": "key-2"},
		"state": {"approval": {"status": "approved"}},
	})) == []
}

test_deny_expired_ends_the_run if {
	_owed(fixture.put(fixture.ticket, "/state/approval/status", "expired")) == [_cancel]
}

test_deny_expired_stranger_ends_nothing if {
	_owed(fixture.put(
		fixture.put(fixture.ticket, "/state/approval/status", "expired"),
		"/state/run/principal_id",
		"another",
	)) == []
}

_cancel := {"type": "end_run", "status": "cancelled"}

test_deny_owes_nothing if _owed(fixture.put(fixture.ticket, "/state/run/status", "stopped")) == []

test_deny_empty_document_owes_nothing if _owed({}) == []

test_allow_vote_moves_the_approval if _owed(fixture.voting) == [{
	"type": "move_approval",
	"approval_id": "apr-1",
	"version": 2,
	"to": "approved",
}]

# Nothing moves that cannot be compared.
test_deny_vote_without_version_moves_nothing if _misses_of_version == set()

_misses_of_version := {[path, what, got] |
	some path, sound in {
		"/state/approval/version": fixture.voting,
		"/state/side_effect/version": fixture.reconciling,
	}
	some what, doc in fixture.broken(sound, path, fixture.no_number)
	got := _owed(doc)
	got != []
}

# An obligation is total in its fields: one whose fields are lost does not vanish, it cannot be discharged.
test_require_approval_asks_though_the_contract_lacks_anything if _misses_of_request == set()

_misses_of_request := {[path, got] |
	some path, lost in {
		"contract_id": {"contract_id": null},
		"contract_digest": {"contract_digest": null},
		"runtime_controls/max_wait_seconds": {"max_wait_seconds": 0},
	}
	doc := fixture.put(fixture.ticket, "/state/approval", null)
	bundles := fixture.without(fixture.bundles, concat("/", ["/triage/contracts/create_ticket", path]))
	got := _all_obligations_in("require_approval", doc, bundles)
	got != [object.union(_request, lost)]
}

test_require_approval_waits_no_time_that_is_no_number if _misses_of_wait == set()

_misses_of_wait := {[what, got] |
	some what, bundles in fixture.broken(
		fixture.bundles,
		"/triage/contracts/create_ticket/runtime_controls/max_wait_seconds",
		fixture.no_number,
	)
	got := _owed_in(fixture.put(fixture.ticket, "/state/approval", null), bundles)
	got != [object.union(_request, {"max_wait_seconds": 0})]
}

test_allow_write_claims_no_lease_that_is_no_number if _misses_of_lease == set()

_misses_of_lease := {[what, got] |
	some what, bundles in fixture.broken(
		fixture.bundles,
		"/triage/catalog/create_ticket/timeout_seconds",
		fixture.no_number,
	)
	got := [o | some o in _owed_in(fixture.ticket, bundles); o.type == "claim_effect"]
	got != [{"type": "claim_effect", "lease_seconds": 0}]
}

# The verdict and whether something is needed are the guards' word; the fields are the record's.
test_obligations_never_vanish_with_their_fields if {
	_all_obligations_in("allow", _bare, fixture.bundles) == [
		{"type": "consume_approval", "approval_id": null, "version": null},
		{"type": "claim_effect", "lease_seconds": 15},
	]
	_all_obligations_in("allow", fixture.without(fixture.voting, "/state/approval/version"), fixture.bundles) == [{
		"type": "move_approval",
		"approval_id": "apr-1",
		"version": null,
		"to": "approved",
	}]
	_all_obligations_in("allow", fixture.without(fixture.voting, "/state/approval/approval_id"), fixture.bundles) == [{
		"type": "move_approval",
		"approval_id": null,
		"version": 2,
		"to": "approved",
	}]
	_all_obligations_in("allow", fixture.without(fixture.reconciling, "/state/side_effect/version"), fixture.bundles) == [{
		"type": "move_effect",
		"version": null,
		"to": "failed_before_effect",
	}]
}

_bare := fixture.put(fixture.ticket, "/state/approval", null)

_all_obligations_in(word, doc, bundles) := owed if {
	owed := obligation.obligations with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
		with data.gate.verdict.verdict as word
}

test_allow_vote_short_of_the_quorum_stays_pending if {
	_owed_in(fixture.voting, fixture.put(fixture.bundles, "/triage/contracts/create_ticket/quorum", 2)) == [{
		"type": "move_approval",
		"approval_id": "apr-1",
		"version": 2,
		"to": "pending",
	}]
}

test_allow_rejection_moves_the_approval_and_ends_the_run if _owed(_rejecting) == [
	{"type": "move_approval", "approval_id": "apr-1", "version": 2, "to": "rejected"},
	{"type": "end_run", "status": "stopped"},
]

test_allow_rejection_where_the_run_goes_on if {
	_owed_in(
		_rejecting,
		fixture.put(fixture.bundles, "/triage/contracts/create_ticket/on_reject", "continue_without"),
	) == [{"type": "move_approval", "approval_id": "apr-1", "version": 2, "to": "rejected"}]
}

test_deny_rejection_moves_nothing if {
	_owed(fixture.put(_rejecting, "/evidence/vote/verified", false)) == []
}

test_allow_reconciliation_moves_the_effect if _owed(fixture.reconciling) == [{
	"type": "move_effect",
	"version": 3,
	"to": "failed_before_effect",
}]

test_deny_reconciliation_moves_nothing if {
	_owed(fixture.put(fixture.reconciling, "/evidence/reconciliation/owner_fenced", false)) == []
}

_replay := fixture.put(
	fixture.put(fixture.ticket, "/state/approval/status", "consumed"),
	"/state/side_effect",
	{"status": "side_effect_committed", "idempotency_key": "key-1", "action_digest": "sha256:action"},
)

_rejecting := object.union(fixture.voting, {
	"request": {"transition": "reject"},
	"evidence": {"vote": {"decision": "rejected"}},
})

_owed(doc) := _owed_in(doc, fixture.bundles)

_owed_in(doc, bundles) := owed if {
	owed := obligation.obligations with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
