package gate.oauth_test

import data.gate
import data.gate.fixture_test as fixture
import data.gate.oauth
import data.gate.runtime.fixture_test as controls

_bundles := fixture.put(controls.bundles, "/triage/catalog/create_ticket/oauth", {
	"required_scopes": ["tickets.write"],
	"audience": "https://tickets.internal",
	"resource": "https://tickets.internal/support",
})

_grant := {
	"grant_ref": "grant-42",
	"subject_ref": "user-42",
	"status": "active",
	"requested_scopes": ["tickets.read", "tickets.write"],
	"granted_scopes": ["tickets.read", "tickets.write"],
	"audience": ["https://other.internal", "https://tickets.internal"],
	"resource": ["https://tickets.internal/support"],
	"expires_at_ms": 50001,
	"task_ref": "run-1",
	"policy_version": "2026.04.07",
}

_sound := _with(_grant)

_with(section) := fixture.put(fixture.ticket, "/evidence/oauth_scope", section)

_having(fields) := _with(object.union(_grant, fields))

test_none_sound if _codes(_sound, _bundles) == set()

test_none_without_contract if _codes(fixture.ticket, controls.bundles) == set()

test_none_empty_document if _codes({}, _bundles) == set()

test_none_no_call if _codes(fixture.put(_with({}), "/operation", "list_tools"), _bundles) == set()

test_deny_missing if {what: codes |
	some what, doc in fixture.broken(_sound, "/evidence/oauth_scope", [null])
	codes := _codes(doc, _bundles)
} == {"absent": {"oauth_evidence_missing"}, "null": {"oauth_evidence_missing"}}

test_deny_unreadable if {codes |
	some section in [true, 17, "garbage", ["garbage"], {}]
	codes := _codes(_with(section), _bundles)
} == {{
	"insufficient_granted_scope", "grant_not_active", "grant_expired", "grant_subject_mismatch",
	"grant_audience_mismatch", "grant_resource_mismatch", "grant_task_mismatch", "grant_policy_changed",
}}

test_deny_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(_sound, concat("/", ["/evidence/oauth_scope", path]), owed.values)
	got := _codes(doc, _bundles)
	got != {owed.code}
}

_owed := {
	# Sets of exact names: neither case, nor order, nor a prefix, nor one text with two names in it.
	"granted_scopes": {
		"values": array.concat(fixture.garbage, [
			[], ["tickets.read"], ["TICKETS.WRITE"], ["tickets.write "], ["tickets.*"], ["tickets"], ["*"],
			["tickets.read tickets.write"], "tickets.write", {"tickets.write": true}, {"0": "tickets.write"},
			[["tickets.write"]], [17], [null],
		]),
		"code": "insufficient_granted_scope",
	},
	"grant_ref": {"values": fixture.no_text, "code": "grant_not_active"},
	"status": {
		"values": array.concat(fixture.garbage, ["revoked", "refused", "unknown", "expired", "ACTIVE"]),
		"code": "grant_not_active",
	},
	"subject_ref": {"values": array.concat(fixture.garbage, ["user-43"]), "code": "grant_subject_mismatch"},
	"audience": {
		"values": array.concat(fixture.garbage, [
			[], "https://tickets.internal", ["https://tickets.internal/"],
			{"x": "https://tickets.internal"},
		]),
		"code": "grant_audience_mismatch",
	},
	"resource": {
		"values": array.concat(fixture.garbage, [
			[], "https://tickets.internal/support", ["https://tickets.internal"],
			["https://tickets.internal/billing"], {"x": "https://tickets.internal/support"},
		]),
		"code": "grant_resource_mismatch",
	},
	"expires_at_ms": {"values": array.concat(fixture.no_number, [50000, 49999]), "code": "grant_expired"},
	"task_ref": {"values": array.concat(fixture.garbage, ["run-2"]), "code": "grant_task_mismatch"},
	"policy_version": {"values": array.concat(fixture.garbage, ["2026.04.06"]), "code": "grant_policy_changed"},
}

# What was requested is never looked at to permit.
test_deny_requested_is_not_granted if {codes |
	some requested in [["tickets.write"], ["tickets.write", "tickets.read"], [], null]
	codes := _codes(_having({"requested_scopes": requested, "granted_scopes": null}), _bundles)
} == {{"insufficient_granted_scope"}}

test_none_order_and_repetition_do_not_matter if {codes |
	some granted in [["tickets.write"], ["x", "tickets.write", "x"], ["tickets.write", "tickets.write"]]
	codes := _codes(_having({"granted_scopes": granted}), _bundles)
} == {set()}

test_deny_contract_broken if _misses_of_contract == set()

_misses_of_contract := {[path, what, got] |
	some path, owed in {
		"required_scopes": {
			"values": [null, true, 17, "tickets.write", [], {}, [17]],
			"code": "insufficient_granted_scope",
		},
		"audience": {"values": fixture.no_text, "code": "grant_audience_mismatch"},
	}
	place := concat("/", ["/triage/catalog/create_ticket/oauth", path])
	some what, bundles in fixture.broken(_bundles, place, owed.values)
	got := _codes(_sound, bundles)
	got != {owed.code}
}

test_deny_resource_of_the_contract_unreadable if {codes |
	some resource in [true, 17, "", [], {}]
	codes := _codes(_sound, fixture.put(_bundles, "/triage/catalog/create_ticket/oauth/resource", resource))
} == {{"grant_resource_mismatch"}}

test_none_any_resource_and_any_run if {
	bundles := fixture.put(_bundles, "/triage/catalog/create_ticket/oauth", {
		"required_scopes": ["tickets.write"],
		"audience": "https://tickets.internal",
		"task_bound": false,
	})
	_codes(_having({"resource": null, "task_ref": null}), bundles) == set()
}

test_deny_not_known_to_be_free_of_the_run if {codes |
	some bound in [null, true, 0, "false"]
	bundles := fixture.put(_bundles, "/triage/catalog/create_ticket/oauth/task_bound", bound)
	codes := _codes(_having({"task_ref": "run-2"}), bundles)
} == {{"grant_task_mismatch"}}

test_deny_caller_changed if _misses_of_caller == set()

_misses_of_caller := {[path, what, got] |
	some path, values in {
		"/identity/delegated_principal_id": array.concat(fixture.garbage, ["user-43"]),
		"/identity/authorization_mode": fixture.garbage,
	}
	some what, doc in fixture.broken(_sound, path, values)
	got := _codes(doc, _bundles)
	got != {"grant_subject_mismatch"}
}

test_none_platform_owned if {
	_codes(fixture.put(_sound, "/identity/authorization_mode", "platform_owned"), _bundles) == set()
}

test_missing_is_required_less_granted if {
	bundles := fixture.put(_bundles, "/triage/catalog/create_ticket/oauth/required_scopes", ["b", "a", "c"])
	_kept(_having({"granted_scopes": ["c", "x"], "requested_scopes": ["y", "c"]}), bundles) == {
		"grant_ref": "grant-42",
		"requested_scopes": ["c", "y"],
		"granted_scopes": ["c", "x"],
		"required_scopes": ["a", "b", "c"],
		"missing_scopes": ["a", "b"],
	}
}

test_kept_is_total if {
	_kept(_with({"grant_ref": 17, "granted_scopes": "x"}), _bundles) == {
		"grant_ref": null,
		"requested_scopes": [],
		"granted_scopes": [],
		"required_scopes": ["tickets.write"],
		"missing_scopes": ["tickets.write"],
	}
	_kept(fixture.ticket, _bundles) == null
	_kept({}, _bundles) == null
}

# Through the entrypoint: an allowed call under less than what was asked for must mark its result.
test_partial_result_is_marked if {
	bundles := json.patch(fixture.bundles, [{
		"op": "add", "path": "/triage/catalog/create_ticket/oauth",
		"value": _bundles.triage.catalog.create_ticket.oauth,
	}])
	partial := _decision(_having({"requested_scopes": ["tickets.delete", "tickets.write", "admin"]}), bundles)
	partial.verdict == "allow"
	[o | some o in partial.obligations; o.type == "mark_partial"] == [{
		"type": "mark_partial",
		"refused_scopes": ["admin", "tickets.delete"],
	}]
	whole := _decision(_sound, bundles)
	whole.verdict == "allow"
	[o | some o in whole.obligations; o.type == "mark_partial"] == []
	refused := _decision(_having({"granted_scopes": ["tickets.read"]}), bundles)
	refused.verdict == "deny"
	{r.code | some r in refused.reasons; r.verdict == "deny"} == {"insufficient_granted_scope"}
	refused.audit.oauth_scope.missing_scopes == ["tickets.write"]
	[o | some o in refused.obligations; o.type == "mark_partial"] == []
}

_decision(doc, bundles) := value if {
	value := gate.decision with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_kept(doc, bundles) := value if {
	value := oauth.kept with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_codes(doc, bundles) := {f.code |
	some f in oauth.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

# What makes a call a plain one: nothing is wanted, or there is something to look at.
test_settled if {
	_settled(_sound, _bundles)
	_settled(fixture.ticket, controls.bare)
	not _settled(fixture.ticket, _bundles)
}

_settled(doc, bundles) if {
	oauth.settled with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
