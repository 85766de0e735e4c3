package gate.transition_test

import data.gate.fixture_test as fixture
import data.gate.transition

test_none_sound_reconciling if _codes(fixture.reconciling) == set()

test_deny_each_field_of_a_reconciliation_broken if _misses_of_reconciling == set()

_misses_of_reconciling := {[path, what, got] |
	some path, owed in _owed_by_reconciling
	some what, doc in fixture.broken(fixture.reconciling, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed_by_reconciling := {
	"/request": {
		"values": fixture.no_section,
		"codes": {"reconciliation_outcome_unknown"},
	},
	"/request/outcome": {
		"values": array.concat(fixture.garbage, ["COMMITTED", "failed_before_effect"]),
		"codes": {"reconciliation_outcome_unknown"},
	},
	"/state/side_effect": {
		"values": fixture.no_section,
		"codes": {"reconciliation_not_needed", "effect_binding_mismatch"},
	},
	"/state/side_effect/status": {
		"values": array.concat(
			fixture.garbage,
			["not_started", "side_effect_committed", "failed_before_effect"],
		),
		"codes": {"reconciliation_not_needed"},
	},
	"/state/side_effect/version": {"values": fixture.no_number, "codes": {"reconciliation_not_needed"}},
	"/identity": {"values": fixture.no_section, "codes": {"transition_not_by_human"}},
	"/identity/authorization_mode": {
		"values": array.concat(fixture.garbage, ["platform_owned", "user_delegated"]),
		"codes": {"transition_not_by_human"},
	},
	"/identity/principal_id": {"values": _nobody, "codes": {"transition_not_by_human"}},
	"/agent/agent_id": {"values": fixture.no_string, "codes": {"transition_not_by_human"}},
	"/state/run/principal_id": {"values": fixture.no_string, "codes": {"transition_not_by_human"}},
	"/state/run": {
		"values": fixture.no_section,
		"codes": {"effect_binding_mismatch", "transition_not_by_human"},
	},
	"/evidence": {
		"values": fixture.no_section,
		"codes": {"reconciliation_evidence_missing", "reconciliation_owner_not_fenced"},
	},
	"/evidence/reconciliation/evidence_ref": {
		"values": fixture.no_text,
		"codes": {"reconciliation_evidence_missing"},
	},
	"/evidence/reconciliation/owner_fenced": {
		"values": fixture.no_true,
		"codes": {"reconciliation_owner_not_fenced"},
	},
}

# Under the key and for the action it was claimed with, in the run that claimed it.
test_deny_effect_that_does_not_say_what_it_is if _misses_of_effect == set()

_misses_of_effect := {[path, what, got] |
	some path, values in {
		"/state/side_effect/capability": fixture.no_text,
		"/state/side_effect/business_key": fixture.no_text,
		"/state/side_effect/idempotency_key": fixture.no_text,
		"/state/side_effect/action_digest": fixture.no_text,
		"/state/side_effect/run_id": array.concat(fixture.garbage, ["run-9", "RUN-1", "run-1 "]),
		"/state/run/run_id": array.concat(fixture.garbage, ["run-9"]),
	}
	some outcome in ["committed", "not_committed", "partial"]
	stated := fixture.put(fixture.reconciling, "/request/outcome", outcome)
	some what, doc in fixture.broken(stated, path, values)
	got := _codes(doc)
	got != {"effect_binding_mismatch"}
}

test_deny_effect_of_a_run_alike_but_no_string if _misses_of_run == set()

_misses_of_run := {[value, got] |
	some value in fixture.no_string
	alike := fixture.put(fixture.reconciling, "/state/side_effect/run_id", value)
	got := _codes(fixture.put(alike, "/state/run/run_id", value))
	got != {"effect_binding_mismatch"}
}

test_none_outcomes_that_need_no_fence if _misses_of_fence == set()

_misses_of_fence := {[outcome, got] |
	some outcome in ["committed", "partial"]
	got := _codes(fixture.put(
		fixture.put(fixture.reconciling, "/evidence/reconciliation/owner_fenced", false),
		"/request/outcome",
		outcome,
	))
	got != set()
}

test_none_partial_effect_is_reconciled if {
	_codes(fixture.put(fixture.reconciling, "/state/side_effect/status", "partial_side_effect")) == set()
}

test_abandoned_claim_is_reconciled_from_its_lease_on if _misses_of_lease == set()

_misses_of_lease := {[lease, got] |
	some lease, codes in {49999: set(), 50000: set(), 50001: {"reconciliation_not_needed"}}
	got := _codes(object.union(
		fixture.reconciling,
		{"state": {"side_effect": {"status": "in_flight", "lease_expires_at_ms": lease}}},
	))
	got != codes
}

test_deny_claim_in_flight_and_lease_broken if _misses_of_broken_lease == set()

_misses_of_broken_lease := {[path, what, got] |
	some path in ["/state/side_effect/lease_expires_at_ms", "/now_ms"]
	claimed := fixture.put(fixture.reconciling, "/state/side_effect/status", "in_flight")
	some what, doc in fixture.broken(claimed, path, fixture.no_number)
	got := _codes(doc)
	got != {"reconciliation_not_needed"}
}

test_next_effect_status_by_outcome if {
	{outcome: status |
		some outcome in ["committed", "not_committed", "partial"]
		some status in _next_effect(fixture.put(fixture.reconciling, "/request/outcome", outcome))
	} == {
		"committed": "side_effect_committed",
		"not_committed": "failed_before_effect",
		"partial": "partial_side_effect",
	}
}

test_next_effect_status_none_for_other_words if _misses_of_outcome == set()

_misses_of_outcome := {[what, got] |
	some what, doc in fixture.broken(fixture.reconciling, "/request/outcome", fixture.garbage)
	got := _next_effect(doc)
	got != set()
}

test_next_effect_status_none_for_other_operations if {
	_next_effect(fixture.put(fixture.voting, "/request/outcome", "committed")) == set()
}

_next_effect(doc) := {status |
	status := transition.next_effect_status with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}

# Whoever the run acts for is a party to it, whatever the spelling.
test_deny_reconciliation_by_the_delegate if {
	delegated := fixture.put(fixture.reconciling, "/state/run/delegated_principal_id", " User-77")
	"transition_not_by_human" in _codes(fixture.put(delegated, "/identity/principal_id", "user-77"))
}

test_deny_reconciliation_in_a_run_of_nobody if {
	"transition_not_by_human" in _codes(fixture.put(fixture.reconciling, "/state/run/principal_id", " "))
}
