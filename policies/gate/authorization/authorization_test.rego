package gate.authorization_test

import data.gate.authorization
import data.gate.fixture_test as fixture
import data.gate.runtime.fixture_test as controls

_grant := {
	"status": "active",
	"delegated_principal_id": "user-42",
	"delegated_scope": "tickets:create",
	"token_reused": false,
	"token_run_id": "run-1",
	"token_session_id": "session-1",
	"token_expires_at_ms": 60000,
}

_sound := controls.stating(fixture.ticket, "authorization", _grant)

test_none_sound if _codes(_sound, controls.bundles) == set()

test_none_no_grant_stated if _codes(fixture.ticket, controls.bundles) == set()

test_none_grant_null if _codes(controls.stating(fixture.ticket, "authorization", null), controls.bundles) == set()

test_none_plain_call_without_controls if _codes(fixture.ticket, controls.bare) == set()

test_none_sound_grant_without_controls if _codes(_sound, controls.bare) == set()

test_none_empty_document if _codes({}, controls.bundles) == set()

test_none_people_move_records if _codes(fixture.voting, controls.bundles) == set()

# Which mode each value of the control accepts.
test_mode_pairs if {[accepted, mode] |
	some accepted in ["platform_owned", "user_delegated", "user_delegated_or_platform_owned", "any"]
	some mode in ["platform_owned", "user_delegated", "human_approved"]
	_codes(fixture.put(fixture.ticket, "/identity/authorization_mode", mode), controls.asking("authorization_mode", accepted)) == set()
} == {
	["platform_owned", "platform_owned"],
	["user_delegated", "user_delegated"],
	["user_delegated_or_platform_owned", "platform_owned"],
	["user_delegated_or_platform_owned", "user_delegated"],
	["any", "platform_owned"],
	["any", "user_delegated"],
	["any", "human_approved"],
}

test_deny_mode_broken if _misses_of_mode == set()

_misses_of_mode := {[path, what, got] |
	some path, values in {
		"/identity": fixture.no_section,
		"/identity/authorization_mode": array.concat(fixture.garbage, ["human_approved", "PLATFORM_OWNED"]),
	}
	some what, doc in fixture.broken(fixture.ticket, path, values)
	got := _codes(doc, controls.bundles)
	got != {"authorization_mode_not_allowed"}
}

test_deny_mode_control_broken if _misses_of_control == set()

_misses_of_control := {[what, got] |
	some what, bundles in fixture.broken(
		controls.bundles, "/triage/call_controls/authorization_mode",
		[null, 17, "garbage", []],
	)
	got := _codes(fixture.ticket, bundles)
	got != {"authorization_mode_not_allowed"}
}

test_deny_grant_unreadable if _misses_of_section == set()

_misses_of_section := {[value, got] |
	some value in [true, false, 17, "garbage", [], {}]
	got := _codes(controls.stating(fixture.ticket, "authorization", value), controls.bundles)
	got != {"delegated_principal_not_bound", "token_reuse_not_allowed", "authorization_revoked"}
}

test_deny_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(_sound, path, owed.values)
	got := _codes(doc, controls.bundles)
	got != owed.codes
}

_owed := {
	"/evidence/authorization/status": {
		"values": array.concat(fixture.garbage, ["revoked", "ACTIVE"]),
		"codes": {"authorization_revoked"},
	},
	"/evidence/authorization/delegated_principal_id": {
		"values": array.concat(fixture.garbage, ["USER-42"]),
		"codes": {"delegated_principal_not_bound"},
	},
	"/evidence/authorization/delegated_scope": {
		"values": array.concat(fixture.garbage, ["tickets:*"]),
		"codes": {"delegated_principal_not_bound"},
	},
	"/identity/delegated_principal_id": {"values": fixture.garbage, "codes": {"delegated_principal_not_bound"}},
	"/identity/delegated_scope": {"values": fixture.garbage, "codes": {"delegated_principal_not_bound"}},
}

test_none_grant_of_a_platform_owned_call if {
	doc := fixture.put(
		fixture.without(_sound, "/evidence/authorization/delegated_principal_id"),
		"/identity/authorization_mode", "platform_owned",
	)
	_codes(doc, controls.bundles) == set()
}

_for_another := fixture.put(_sound, "/evidence/authorization/delegated_principal_id", "user-7")

test_none_identity_is_sufficient if {
	_codes(_for_another, controls.having("delegated_principal_policy", "verified_identity_sufficient")) == set()
}

test_deny_binding_policy_missing if _misses_of_binding == set()

_misses_of_binding := {[what, got] |
	some what, bundles in controls.missing("delegated_principal_policy")
	got := _codes(_for_another, bundles)
	got != {"delegated_principal_not_bound"}
}

_reused := fixture.put(_sound, "/evidence/authorization/token_reused", true)

_reused_elsewhere := fixture.put(_reused, "/evidence/authorization/token_run_id", "run-0")

_reused_by_a_stranger := fixture.put(_reused_elsewhere, "/evidence/authorization/token_session_id", "session-0")

# Which reuse each policy accepts: in the run, in the session, in neither.
test_reuse_pairs if _policies == {
	"never_reuse": [_refused, _refused, _refused],
	"reuse_within_valid_paused_run_only": [set(), _refused, _refused],
	"reuse_within_session": [set(), set(), _refused],
}

_refused := {"token_reuse_not_allowed"}

_policies := {policy: [_codes(doc, controls.having("token_reuse_policy", policy)) |
	some doc in [_reused, _reused_elsewhere, _reused_by_a_stranger]
] |
	some policy in ["never_reuse", "reuse_within_valid_paused_run_only", "reuse_within_session"]
}

test_reauthorize_reuse_broken if _misses_of_reuse == set()

_misses_of_reuse := {[path, what, got] |
	some path, values in {
		"/evidence/authorization/token_run_id": fixture.garbage,
		"/evidence/authorization/token_expires_at_ms": array.concat(fixture.no_number, [50000]),
		"/now_ms": array.concat(fixture.no_number, [60000]),
		"/trace/run_id": fixture.garbage,
	}
	some what, doc in fixture.broken(_reused, path, values)
	got := _verdicts(doc, controls.bundles)
	got != {["token_reuse_not_allowed", "reauthorization_required"]}
}

test_reauthorize_reuse_unknown if _misses_of_unknown == set()

_misses_of_unknown := {[value, got] |
	some value in [null, true, 0, "false"]
	got := _codes(
		fixture.put(_sound, "/evidence/authorization/token_reused", value),
		controls.having("token_reuse_policy", "never_reuse"),
	)
	got != {"token_reuse_not_allowed"}
}

test_reauthorize_reuse_policy_missing if _misses_of_policy == set()

_misses_of_policy := {[what, got] |
	some what, bundles in controls.missing("token_reuse_policy")
	got := _codes(_reused, bundles)
	got != {"token_reuse_not_allowed"}
}

_revoked := fixture.put(_sound, "/evidence/authorization/status", "revoked")

test_revoked_is_denied_unless_said_otherwise if _misses_of_revoked == set()

_misses_of_revoked := {[what, got] |
	some what, bundles in controls.missing("on_authorization_revoke")
	got := _verdicts(_revoked, bundles)
	got != {["authorization_revoked", "deny"]}
}

test_revoked_may_be_reauthorized if {
	_verdicts(_revoked, controls.having("on_authorization_revoke", "reauthorize")) == {[
		"authorization_revoked",
		"reauthorization_required",
	]}
}

_codes(doc, bundles) := {f.code | some f in _findings(doc, bundles)}

_verdicts(doc, bundles) := {[f.code, f.verdict] | some f in _findings(doc, bundles)}

_findings(doc, bundles) := found if {
	found := authorization.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
