package gate.continuity.handoff_test

import data.gate.continuity.carried
import data.gate.continuity.fixture_test as fixture
import data.gate.continuity.handoff
import data.gate.continuity.lineage
import data.gate.fixture_test as core
import data.gate.run

_asking := fixture.puts(fixture.compacting, {
	"/operation": "handoff",
	"/state/continuity/handoff": {"agent_id": "desk-agent", "role": "closer"},
})

_receiving := fixture.puts(fixture.resuming, {
	"/envelope/reset_reason": "handoff",
	"/envelope/handoff_to": {"agent_id": "desk-agent", "role": "closer"},
	"/agent": {"agent_id": "desk-agent", "role": "closer", "environment": "test"},
})

test_none_sound if {
	_codes(_asking) == set()
	_codes(_receiving) == set()
	handoff.receiving with input as _receiving
}

test_none_at_other_boundaries if {
	_codes(fixture.compacting) == set()
	_codes(fixture.resuming) == set()
	_codes({}) == set()
}

test_none_any_role if {
	_codes(core.put(_asking, "/state/continuity/handoff/role", null)) == set()
	_codes(fixture.puts(_receiving, {"/envelope/handoff_to/role": null, "/agent/role": "opener"})) == set()
}

# The same agent may go on in another role.
test_none_same_agent if _codes(core.put(_asking, "/state/continuity/handoff/agent_id", "triage-agent")) == set()

test_deny_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in core.broken(owed.doc, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_unnamed := {"handoff_recipient_missing", "handoff_recipient_not_governed"}

_owed := {
	"/state/continuity/handoff": {"doc": _asking, "values": core.no_section, "codes": _unnamed},
	"/state/continuity/handoff/agent_id": {"doc": _asking, "values": core.no_text, "codes": _unnamed},
	"/state/continuity/handoff/role": {"doc": _asking, "values": [true, 17, "", " ", ["closer"], {}], "codes": {"handoff_recipient_missing"}},
	"/envelope/handoff_to": {"doc": _receiving, "values": core.no_section, "codes": {"handoff_recipient_mismatch"}},
	"/envelope/handoff_to/agent_id": {"doc": _receiving, "values": array.concat(core.no_text, ["triage-agent", "Desk-agent"]), "codes": {"handoff_recipient_mismatch"}},
	"/envelope/handoff_to/role": {"doc": _receiving, "values": [true, 17, "", "opener", ["closer"], {}], "codes": {"handoff_recipient_mismatch"}},
	"/agent/agent_id": {"doc": _receiving, "values": array.concat(core.no_text, ["triage-agent"]), "codes": {"handoff_recipient_mismatch"}},
	"/agent/role": {"doc": _receiving, "values": array.concat(core.no_text, ["opener"]), "codes": {"handoff_recipient_mismatch"}},
}

test_deny_boundary_of_no_known_kind if {
	{kind: _codes(core.put(fixture.resuming, "/envelope/reset_reason", kind)) | some kind in [null, 17, "compact"]} == {
		null: {"handoff_recipient_mismatch"},
		17: {"handoff_recipient_mismatch"},
		"compact": {"handoff_recipient_mismatch"},
	}
}

# An agent of another bundle, or of none, would take the run out of the policies it was started under.
test_deny_recipient_under_another_bundle if {
	{agent: _codes(core.put(_asking, "/state/continuity/handoff/agent_id", agent)) |
		some agent in ["stranger-agent", "other-agent"]
	} == {"stranger-agent": {"handoff_recipient_not_governed"}, "other-agent": {"handoff_recipient_not_governed"}}
}

_codes(doc) := codes if {
	codes := {f.code | some f in handoff.findings} with input as doc
		with data.gate.agents.bundle_of as {"triage-agent": "triage", "desk-agent": "triage", "other-agent": "other"}
		with data.gate.bundles as fixture.bundles
}

test_receiver_is_another_agent_in_another_role_than_before if {
	codes := {f.code | some f in ((lineage.findings | run.raised) | carried.findings)} with input as _receiving
		with data.gate.agents.bundle_of as {"triage-agent": "triage", "desk-agent": "triage"}
		with data.gate.bundles as fixture.bundles
	codes & {"agent_mismatch", "run_mismatch", "role_changed"} == set()
}
