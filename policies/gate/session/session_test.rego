package gate.session_test

import data.gate.fixture_test as fixture
import data.gate.runtime.fixture_test as controls
import data.gate.session

_session := {
	"session_id": "docs-session-7",
	"capability": "search_docs",
	"tenant_id": "tenant-acme",
	"principal_id": "user-42",
	"trace_session_id": "session-1",
	"status": "active",
	"paused_at_ms": 40000,
	"expires_at_ms": 60000,
	"reinitialized_from": null,
	"elicits_sensitive": false,
}

_sound := controls.stating(fixture.reading, "session", _session)

_doing(operation) := fixture.put(_sound, "/operation", operation)

_new := fixture.put(_sound, "/evidence/session/reinitialized_from", "docs-session-6")

test_none_without_session if _codes(fixture.reading, controls.bundles) == set()

test_none_session_null if _codes(controls.stating(fixture.reading, "session", null), controls.bundles) == set()

test_none_empty_document if _codes({}, controls.bundles) == set()

test_none_sound_for_every_operation if {
	{operation: _codes(_doing(operation), controls.bundles) | some operation in [
		"call_tool", "resume_tool", "elicit", "progress",
	]} == {"call_tool": set(), "resume_tool": set(), "elicit": set(), "progress": set()}
}

test_none_listing_tools_in_a_session if {
	doc := json.patch(_doing("list_tools"), [
		{"op": "replace", "path": "/request/capability", "value": null},
		{"op": "replace", "path": "/evidence/session/capability", "value": null},
	])
	_codes(doc, controls.bundles) == set()
}

# What is paused is there to be resumed, and for nothing else.
test_paused if {operation: codes |
	some operation in ["call_tool", "resume_tool", "elicit", "progress"]
	codes := _codes(fixture.put(_doing(operation), "/evidence/session/status", "paused"), controls.bundles)
} == {
	"call_tool": {"session_not_live"},
	"resume_tool": set(),
	"elicit": {"session_not_live"},
	"progress": {"session_not_live"},
}

# A plain call without any control is not in question; whatever is part of a session is refused.
test_none_plain_call_without_controls if _codes(fixture.reading, controls.bare) == set()

test_deny_without_controls if _refused == {
	"call_tool": {"session_mode_not_allowed"},
	"resume_tool": {"session_mode_not_allowed", "session_resume_not_allowed", "session_authorization_stale"},
	"elicit": {"session_mode_not_allowed", "elicitation_refused"},
	"progress": {"session_mode_not_allowed", "progress_event_refused"},
	"reinitialized": {"session_mode_not_allowed", "session_reinit_not_allowed", "session_reinit_needs_approval"},
}

_refused := object.union(
	{operation: _codes(_doing(operation), controls.bare) |
		some operation in ["call_tool", "resume_tool", "elicit", "progress"]
	},
	{"reinitialized": _codes(_new, controls.bare)},
)

test_deny_operation_without_session if _sessionless == {
	"resume_tool": {"session_binding_mismatch", "session_not_live"},
	"elicit": {"session_binding_mismatch", "session_not_live", "elicitation_refused"},
	"progress": {"session_binding_mismatch", "session_not_live"},
}

_sessionless := {operation: _codes(fixture.put(fixture.reading, "/operation", operation), controls.bundles) |
	some operation in ["resume_tool", "elicit", "progress"]
}

test_deny_session_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(_sound, path, owed.values)
	got := _codes(doc, controls.bundles)
	got != owed.codes
}

_unbound := {"session_binding_mismatch"}

_owed := {
	"/evidence/session/session_id": {"values": fixture.no_text, "codes": _unbound},
	"/evidence/session/capability": {"values": fixture.garbage, "codes": _unbound},
	"/evidence/session/tenant_id": {"values": fixture.garbage, "codes": _unbound},
	"/evidence/session/principal_id": {"values": array.concat(fixture.garbage, ["USER-42"]), "codes": _unbound},
	"/evidence/session/trace_session_id": {"values": fixture.garbage, "codes": _unbound},
	"/identity": {"values": fixture.no_section, "codes": _unbound},
	"/identity/tenant_id": {"values": fixture.garbage, "codes": _unbound},
	"/trace/session_id": {"values": fixture.garbage, "codes": _unbound},
	"/evidence/session/status": {
		"values": array.concat(fixture.garbage, ["expired", "closed", "ACTIVE"]),
		"codes": {"session_not_live"},
	},
	"/evidence/session/expires_at_ms": {
		"values": array.concat(fixture.no_number, [50000]),
		"codes": {"session_not_live"},
	},
	"/now_ms": {"values": array.concat(fixture.no_number, [60000]), "codes": {"session_not_live"}},
}

# What cannot be read as a session is still one, and a bad one.
test_deny_session_unreadable if _misses_of_section == set()

_misses_of_section := {[value, got] |
	some value in [true, false, 17, "garbage", ["garbage"], {}]
	got := _codes(controls.stating(fixture.reading, "session", value), controls.bundles)
	got != {"session_binding_mismatch", "session_not_live"}
}

test_deny_capability_not_permitted if _misses_of_permission == set()

_misses_of_permission := {[operation, decision, got] |
	some operation in ["resume_tool", "elicit", "progress"]
	some decision in ["deny", null, true, "ALLOW"]
	bundles := fixture.put(controls.bundles, "/triage/decisions/search_docs", decision)
	got := _codes(_doing(operation), bundles)
	got != {"session_capability_denied"}
}

test_deny_control_missing if _misses_of_controls == set()

_misses_of_controls := {[name, what, got] |
	some name, owed in {
		"capability_session_mode": [_sound, {"session_mode_not_allowed"}],
		"resume_policy": [
			_doing("resume_tool"),
			{"session_resume_not_allowed", "session_authorization_stale"},
		],
		"on_session_expiry": [_new, {"session_reinit_not_allowed"}],
		"reinit_requires_approval": [_new, {"session_reinit_needs_approval"}],
		"progress_event_policy": [_doing("progress"), {"progress_event_refused"}],
		"elicitation_policy": [_doing("elicit"), {"elicitation_refused"}],
	}
	some what, bundles in controls.missing(name)
	got := _codes(owed[0], bundles)
	got != owed[1]
}

test_deny_control_at_its_strict_value if _misses_of_strict == set()

_misses_of_strict := {[name, got] |
	some name, owed in {
		"capability_session_mode": ["stateless", _sound, {"session_mode_not_allowed"}],
		"resume_policy": [
			"refuse", _doing("resume_tool"),
			{"session_resume_not_allowed", "session_authorization_stale"},
		],
		"on_session_expiry": ["refuse", _new, {"session_reinit_not_allowed"}],
		"reinit_requires_approval": [true, _new, {"session_reinit_needs_approval"}],
		"progress_event_policy": ["refuse", _doing("progress"), {"progress_event_refused"}],
		"elicitation_policy": ["refuse", _doing("elicit"), {"elicitation_refused"}],
	}
	got := _codes(owed[1], controls.having(name, owed[0]))
	got != owed[2]
}

test_none_reinitialized if _codes(_new, controls.bundles) == set()

test_deny_reinitialized_from_no_name if _misses_of_origin == set()

_misses_of_origin := {[value, got] |
	some value in [false, 0, "", [], {}]
	got := _codes(
		fixture.put(_sound, "/evidence/session/reinitialized_from", value),
		controls.having("on_session_expiry", "refuse"),
	)
	got != {"session_reinit_not_allowed"}
}

test_reinitialized_write_under_an_approval if {
	bundles := controls.having("reinit_requires_approval", true)
	doc := controls.stating(fixture.ticket, "session", object.union(_session, {
		"capability": "create_ticket",
		"reinitialized_from": "docs-session-6",
	}))
	_codes(doc, bundles) == set()
	_codes(controls.unapproved(doc), bundles) == {"session_reinit_needs_approval"}
}

_checked := controls.stating(_doing("resume_tool"), "authorization", {"checked_at_ms": 40000})

_reauthorizing := controls.having("resume_policy", "reauthorize_then_resume")

test_none_authorization_checked_since_the_pause if _codes(_checked, _reauthorizing) == set()

test_reauthorize_check_broken if _misses_of_check == set()

_misses_of_check := {[path, what, got] |
	some path, values in {
		"/evidence/authorization": fixture.no_section,
		"/evidence/authorization/checked_at_ms": array.concat(fixture.no_number, [39999, 50001]),
		"/evidence/session/paused_at_ms": array.concat(fixture.no_number, [40001]),
	}
	some what, doc in fixture.broken(_checked, path, values)
	got := {[f.code, f.verdict] | some f in _findings(doc, _reauthorizing)}
	got != {["session_authorization_stale", "reauthorization_required"]}
}

test_elicitation_sensitive_or_unknown if _misses_of_elicitation == set()

_misses_of_elicitation := {[what, got] |
	some what, doc in fixture.broken(
		_doing("elicit"), "/evidence/session/elicits_sensitive",
		[null, true, 0, "false", []],
	)
	got := [_codes(doc, controls.bundles), _codes(doc, controls.having("elicitation_policy", "from_live_session"))]
	got != [{"elicitation_refused"}, set()]
}

_codes(doc, bundles) := {f.code | some f in _findings(doc, bundles)}

_findings(doc, bundles) := found if {
	found := session.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
