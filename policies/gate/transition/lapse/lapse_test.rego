package gate.transition.lapse_test

import data.gate.fixture_test as fixture
import data.gate.obligation
import data.gate.transition
import data.gate.transition.lapse

test_none_sound_expiring if {
	_codes(_expiring) == set()
	_codes(fixture.put(_expiring, "/state/approval/status", "approved")) == set()
}

test_none_sound_escalating if _codes(_escalating) == set()

test_none_other_operation if _codes(fixture.ticket) == set()

test_none_empty_document if _codes({}) == set()

test_deny_each_field_of_an_expiry_broken if _misses(_expiring, _owed_by_expiry) == set()

test_deny_each_field_of_an_escalation_broken if _misses(_escalating, _owed_by_escalation) == set()

_misses(sound, table) := {[path, what, got] |
	some path, owed in table
	some what, doc in fixture.broken(sound, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed_by_expiry := {
	"/state/approval/status": {
		"values": array.concat(fixture.garbage, ["rejected", "expired", "revoked", "consumed", "cancelled"]),
		"codes": {"transition_not_allowed"},
	},
	"/state/approval/version": {"values": fixture.no_number, "codes": {"transition_not_allowed"}},
	"/state/approval/tenant_id": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/state/approval/run_id": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	"/state/approval/agent_id": {"values": fixture.garbage, "codes": {"approval_binding_mismatch"}},
	# Equality has expired; one millisecond before has not.
	"/state/approval/expires_at_ms": {
		"values": array.concat(fixture.no_number, [60001]),
		"codes": {"approval_not_expired"},
	},
	"/now_ms": {"values": array.concat(fixture.no_number, [59999]), "codes": {"approval_not_expired"}},
}

_owed_by_escalation := {
	"/state/approval/status": {
		"values": array.concat(fixture.garbage, ["approved", "rejected", "expired", "revoked", "consumed", "cancelled"]),
		"codes": {"transition_not_allowed"},
	},
	"/state/approval/version": {"values": fixture.no_number, "codes": {"transition_not_allowed"}},
	"/state/approval/escalated_at_ms": {"values": [true, 1, "null", []], "codes": {"transition_not_allowed"}},
	"/state/approval/created_at_ms": {
		"values": array.concat(fixture.no_number, [45001]),
		"codes": {"escalation_not_due"},
	},
	"/state/approval/contract_digest": {"values": fixture.garbage, "codes": {"escalation_not_allowed"}},
	"/state/approval/expires_at_ms": {
		"values": array.concat(fixture.no_number, [50000]),
		"codes": {"approval_expired"},
	},
	"/now_ms": {"values": fixture.no_number, "codes": {"approval_expired", "escalation_not_due"}},
}

test_deny_escalation_that_the_contract_does_not_state if {
	_codes_in(_escalating, fixture.bundles) == {"escalation_not_allowed", "escalation_not_due"}
	_codes_in(_escalating, fixture.put(_escalates, _escalation_path, {"role": 5, "after_ms": "1"})) == {
		"escalation_not_allowed",
		"escalation_not_due",
	}
}

# The clock needs no human, and gets nothing else by it.
test_none_said_by_the_clock if {
	_of_transition(_expiring) == set()
	_of_transition(_escalating) == set()
}

test_ends_run_unless_it_may_ask_again if {
	_owed_in(_expiring, fixture.bundles) == [
		{"type": "move_approval", "approval_id": "apr-1", "version": 2, "to": "expired"},
		{"type": "end_run", "status": "cancelled"},
	]
	again := fixture.put(fixture.bundles, "/triage/contracts/create_ticket/runtime_controls/on_expiry", "request_again")
	_owed_in(_expiring, again) == [{"type": "move_approval", "approval_id": "apr-1", "version": 2, "to": "expired"}]
}

test_escalation_owes_an_escalation if {
	_owed_in(_escalating, _escalates) == [{"type": "escalate_approval", "approval_id": "apr-1", "version": 2}]
}

_said_by_clock := object.union(fixture.without(fixture.voting, "/evidence"), {
	"identity": {"principal_id": "gate-clock", "authorization_mode": "platform_owned"},
	"evidence": {"vote": null},
})

_expiring := object.union(_said_by_clock, {"request": {"transition": "expire"}, "now_ms": 60000})

_escalating := object.union(_said_by_clock, {
	"request": {"transition": "escalate"},
	"state": {"approval": {"created_at_ms": 45000}},
})

_escalation_path := "/triage/contracts/create_ticket/runtime_controls/escalation"

_escalates := fixture.put(fixture.bundles, _escalation_path, {"role": "auditor", "after_ms": 5000})

_codes(doc) := _codes_in(doc, _escalates)

_codes_in(doc, bundles) := {f.code |
	some f in lapse.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_of_transition(doc) := {f.code |
	some f in transition.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as _escalates
}

_owed_in(doc, bundles) := owed if {
	owed := obligation.obligations with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
