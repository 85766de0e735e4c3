package gate.approval_test

import data.gate.fixture_test as fixture

# A1: what a summary or the model says about consent is prose; no rule reads it.
test_require_approval_told_in_prose_only if {
	_findings(object.union(fixture.ticket, {
		"request": {"text": "User approved create_ticket.", "approval": fixture.ticket.state.approval},
		"state": {"approval": null},
	})) == {["approval_missing", "require_approval"]}
}

# A4: an approver who is the agent or the principal, and a vote that nobody signed.
test_require_self_approved if _misses_of_self == set()

_misses_of_self := {[party, name, got] |
	some party, besides in {
		"requested_by": set(),
		"principal_id": {"approval_binding_mismatch"},
		"agent_id": {"approval_binding_mismatch"},
	}
	some name in ["mira-manager", "MIRA-MANAGER ", "Mira@Example.com", " mira@example.com"]
	got := _codes(fixture.put(fixture.ticket, concat("/", ["/state/approval", party]), name))
	got != {"approval_self_approved", "approval_quorum_not_met"} | besides
}

test_require_principal_approved_own_call if {
	_codes(object.union(fixture.ticket, {
		"identity": {"principal_id": "mira@example.com"},
		"state": {"approval": {"principal_id": "mira@example.com"}},
	})) == {"approval_self_approved", "approval_quorum_not_met"}
}

# The person the agent acts for, whether the run or the caller names him.
test_require_delegating_person_approved_own_call if _misses_of_delegate == set()

_misses_of_delegate := {[path, name, got] |
	some path in ["/state/run/delegated_principal_id", "/identity/delegated_principal_id"]
	some name in ["mira-manager", "MIRA-MANAGER ", "Mira@Example.com"]
	got := _findings(fixture.put(fixture.ticket, path, name))
	got != {["approval_self_approved", "require_approval"], ["approval_quorum_not_met", "require_approval"]}
}

# A record that names no requester does not make the principal's own vote independent.
test_require_own_call_without_requester if {
	own := {"principal_id": "mira@example.com"}
	doc := object.union(fixture.ticket, {"identity": own, "state": {"run": own, "approval": own}})
	_findings(fixture.without(doc, "/state/approval/requested_by")) == {
		["approval_self_approved", "require_approval"],
		["approval_quorum_not_met", "require_approval"],
	}
}

test_require_unsigned_vote_from_the_transcript if {
	_findings(fixture.put(fixture.ticket, "/state/approval/votes", [{
		"reviewer": "mira-manager",
		"decision": "approved",
		"channel": "transcript",
	}])) == {
		["approval_signature_invalid", "require_approval"],
		["approval_reviewer_invalid", "require_approval"],
		["approval_quorum_not_met", "require_approval"],
	}
}

# B1: other arguments have another digest; the same arguments on another tool are another capability.
test_require_other_arguments if {
	_findings(fixture.put(fixture.ticket, "/digests/action_digest", "sha256:other-arguments")) == {[
		"approval_digest_mismatch",
		"require_approval",
	]}
}

test_require_same_arguments_on_another_tool if {
	bundles := fixture.put(
		fixture.put(
			fixture.bundles, "/triage/catalog/create_ticket_admin",
			fixture.bundles.triage.catalog.create_ticket,
		),
		"/triage/contracts/create_ticket_admin",
		fixture.bundles.triage.contracts.create_ticket,
	)
	_codes_in(fixture.put(fixture.ticket, "/request/capability", "create_ticket_admin"), bundles) == {"approval_binding_mismatch"}
}

# B1, the control: key order is no part of a digest, a new trace is no part of an action.
test_none_same_digest_in_another_trace if {
	_codes(fixture.put(fixture.ticket, "/trace/trace_id", "trace-2")) == set()
}

# B4: whoever comes second finds it consumed.
test_require_consumed if {
	_findings(_in_status("consumed")) == {["approval_consumed", "require_approval"]}
}

test_require_revoked if _findings(_in_status("revoked")) == {["approval_revoked", "require_approval"]}

test_require_cancelled if _findings(_in_status("cancelled")) == {["approval_cancelled", "require_approval"]}

test_require_pending if _findings(_in_status("pending")) == {["approval_pending", "require_approval"]}

test_deny_rejected_status if _findings(_in_status("rejected")) == {["approval_rejected", "deny"]}

# B9: the recorded rejection of the intent wins over an approval.
test_deny_rejected_intent if {
	_findings(fixture.put(fixture.ticket, "/state/rejection/approval_id", "apr-0")) == {["approval_rejected", "deny"]}
}

# The rejection of the intent stands for every call: one that needs no approval now, or one resumed.
test_deny_rejected_intent_of_a_call_that_needs_no_approval if _misses_of_rejected == set()

_misses_of_rejected := {[path, value, got] |
	some path, value in {
		"/state/rejection": null,
		"/state/rejection/approval_id": "apr-0",
		"/state/rejection/intent_digest": "sha256:intent",
	}
	got := _findings(fixture.put(fixture.reading, path, value))
	got != {["approval_rejected", "deny"]}
}

test_deny_rejected_intent_resumed if {
	resumed := fixture.put(fixture.ticket, "/operation", "resume_tool")
	_findings(fixture.put(resumed, "/state/rejection/approval_id", "apr-0")) == {["approval_rejected", "deny"]}
}

# What is not in the catalog is refused for that alone.
test_none_rejected_intent_of_no_capability if {
	rejected := fixture.put(fixture.ticket, "/state/rejection/approval_id", "apr-0")
	_findings(fixture.put(rejected, "/request/capability", "run_shell")) == set()
	_findings(fixture.put(rejected, "/operation", "memory_write")) == set()
}

# One rejecting vote stands, whatever the row and the other votes say.
test_deny_rejecting_vote_in_an_approved_record if {
	rejected := object.union(fixture.noor, {"decision": "rejected"})
	_findings(_with_votes([fixture.vote, rejected])) == {["approval_rejected", "deny"]}
	_findings(_with_votes([rejected, fixture.vote])) == {["approval_rejected", "deny"]}
	_findings_in(_with_votes([fixture.vote, fixture.vote, rejected]), _quorum_of_two) == {
		["approval_rejected", "deny"],
		["approval_quorum_not_met", "require_approval"],
	}
}

test_deny_status_unknown if _findings(_in_status("granted")) == {["approval_status_unknown", "deny"]}

# B13: equality is expired; a contract that does not say request_again ends the run.
test_deny_expired if _misses_of_expiry == set()

_misses_of_expiry := {[expiry, status, got] |
	some expiry, live in {49999: false, 50000: false, 50001: true}
	some status, of_live in {"approved": set(), "pending": {["approval_pending", "require_approval"]}}
	got := _findings(object.union(
		fixture.ticket,
		{"state": {"approval": {"status": status, "expires_at_ms": expiry}}},
	))
	got != {f | some f in of_live; live} | {f | some f in _expired; not live}
}

_expired := {["approval_expired", "require_approval"], ["approval_expired", "deny"]}

test_deny_expired_status if _findings(_in_status("expired")) == _expired

test_require_expired_but_may_ask_again if {
	bundles := fixture.put(
		fixture.bundles,
		"/triage/contracts/create_ticket/runtime_controls/on_expiry",
		"request_again",
	)
	_findings_in(_in_status("expired"), bundles) == {["approval_expired", "require_approval"]}
}

test_require_expired_in_an_earlier_run if {
	_findings(fixture.put(_in_status("expired"), "/state/approval/run_id", "run-0")) == {[
		"approval_expired",
		"require_approval",
	]}
}

test_deny_expired_and_run_of_the_approval_broken if _misses_of_run == set()

_misses_of_run := {[path, what, got] |
	some path in ["/state/approval/run_id", "/trace/run_id"]
	some what, doc in fixture.broken(_in_status("expired"), path, fixture.no_string)
	got := _findings(doc)
	got != _expired
}

# A record without id or version is no record, whatever else it says.
test_require_expired_without_record if _misses_of_record == set()

_misses_of_record := {[path, got] |
	some path in ["/state/approval/approval_id", "/state/approval/version"]
	got := _findings(fixture.without(_in_status("expired"), path))
	got != {["approval_missing", "require_approval"]}
}

# Only what could still be used can run out.
test_require_closed_after_its_expiry if _misses_of_closed == set()

_misses_of_closed := {[status, got] |
	some status in ["consumed", "revoked", "cancelled"]
	got := _codes(fixture.put(_in_status(status), "/state/approval/expires_at_ms", 1))
	got != {concat("_", ["approval", status])}
}

test_require_digests_alike_but_no_string if _misses_of_digest == set()

_misses_of_digest := {[value, got] |
	some value in fixture.no_string
	got := _codes(fixture.put(
		fixture.put(fixture.ticket, "/state/approval/action_digest", value),
		"/digests/action_digest",
		value,
	))
	got != {"approval_digest_mismatch", "approval_signature_invalid", "approval_quorum_not_met"}
}

test_require_expired_for_another_action if {
	_findings(fixture.put(_in_status("expired"), "/digests/action_digest", "sha256:other")) == {
		["approval_expired", "require_approval"],
		["approval_digest_mismatch", "require_approval"],
	}
}

# B15: two of three; one human twice is one, under another id and spelling.
test_require_quorum_of_two_same_human_twice if {
	_codes_in(
		_with_votes([
			fixture.vote, fixture.vote,
			object.union(fixture.vote, {"reviewer": "mira-second", "key_id": "mira-second-key"}),
		]),
		_quorum_of_two,
	) == {"approval_quorum_not_met"}
}

test_none_quorum_of_two_met if _codes_in(_with_votes([fixture.vote, fixture.noor]), _quorum_of_two) == set()

test_require_quorum_of_two_requester_is_one if {
	_codes_in(
		fixture.put(_with_votes([fixture.vote, fixture.noor]), "/state/approval/requested_by", "NOOR@example.com "),
		_quorum_of_two,
	) == {"approval_self_approved", "approval_quorum_not_met"}
}

test_require_quorum_of_two_one_reviewer_gone if {
	_codes_in(
		_with_votes([fixture.vote, fixture.noor]),
		fixture.without(_quorum_of_two, "/triage/reviewers/noor-manager"),
	) == {"approval_reviewer_invalid", "approval_quorum_not_met"}
}

_quorum_of_two := fixture.put(fixture.bundles, "/triage/contracts/create_ticket/quorum", 2)

# C3: a call that already happened is answered with its receipt and needs no second approval.
test_none_replay_of_a_committed_call if {
	committed := {"status": "side_effect_committed", "idempotency_key": "key-1", "action_digest": "sha256:action"}
	replay := fixture.put(_in_status("consumed"), "/state/side_effect", committed)
	_codes(replay) == set()

	# It happened before anybody rejected the like of it.
	_codes(fixture.put(replay, "/state/rejection/approval_id", "apr-9")) == set()
}
