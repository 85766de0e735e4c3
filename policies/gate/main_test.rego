package gate_test

import data.gate
import data.gate.finding
import data.gate.fixture_test as fixture

test_allow_sound_call if _decision(fixture.ticket) == {
	"verdict": "allow",
	"reasons": [_permitted],
	"obligations": [
		{"type": "consume_approval", "approval_id": "apr-1", "version": 2},
		{"type": "claim_effect", "lease_seconds": 15},
	],
	"advice": [],
	"audit": {
		"request_id": "req-1",
		"checkpoint": "tool_execution",
		"operation": "call_tool",
		"trace_id": "trace-1",
		"bundle_id": "policy-triage",
		"bundle_version": "2026.04.07",
		"release_identity": "release-triage",
		"contract_version": "capability-contract-v3",
		"capability": "create_ticket",
		"controls": [],
		"approval": null,
		"credential_binding": null,
		"oauth_scope": null,
		"trajectory": null,
		"compound_authorization": null,
	},
}

_permitted := {
	"code": "configured_allow",
	"verdict": "allow",
	"rule": "cap_110",
	"requirement": "capabilities.x",
	"source": "policy.yaml#/policy/capabilities/x",
	"remedy": "",
}

test_deny_empty_document if _decision({}) == {
	"verdict": "deny",
	"reasons": [
		_mismatch("agent_mismatch"), _mismatch("principal_mismatch"), _mismatch("session_mismatch"),
		_mismatch("tenant_mismatch"),
	],
	"obligations": [],
	"advice": [],
	"audit": {
		"request_id": null,
		"checkpoint": null,
		"operation": null,
		"trace_id": null,
		"bundle_id": null,
		"bundle_version": null,
		"release_identity": null,
		"contract_version": null,
		"capability": null,
		"controls": [],
		"approval": null,
		"credential_binding": null,
		"oauth_scope": null,
		"trajectory": null,
		"compound_authorization": null,
	},
}

_mismatch(code) := {
	"code": code,
	"verdict": "deny",
	"rule": "gate.run",
	"requirement": "",
	"source": "",
	"remedy": finding.remedy(code),
}

test_deny_document_is_no_object if _misses_of_whole == set()

_misses_of_whole := {[doc, got] |
	some doc in fixture.no_section
	got := [d | d := _decision(doc)]
	got != [_decision({})]
}

# Garbage where a section should be: one complete decision, and never a permission.
test_deny_section_of_a_write_broken if _misses_of_sections(fixture.ticket) == set()

test_deny_section_of_a_reading_call_broken if _misses_of_sections(fixture.reading) == set()

_misses_of_sections(sound) := {[section, what, got] |
	some section in object.keys(fixture.ticket)
	some what, doc in fixture.broken(sound, concat("", ["/", section]), fixture.no_section)
	not _needless(sound, section, doc)
	got := [d | d := _decision(doc)]
	not _complete_refusal(got)
}

# Texts and the time are no sections: another value of the right type may be as sound as the first.
_needless(_, "request_id", doc) if is_string(doc.request_id)

_needless(sound, "now_ms", doc) if {
	is_number(doc.now_ms)
	sound.request.capability == "search_docs"
}

test_deny_every_section_broken_at_once if _misses_of_everything == set()

_misses_of_everything := {[value, got] |
	some value in fixture.no_section
	got := [d | d := _decision({section: value | some section in object.keys(fixture.ticket)})]
	not _complete_refusal(got)
}

_complete_refusal(decisions) if {
	count(decisions) == 1
	decision := decisions[0]
	decision.verdict in {"deny", "blocked_on_reconciliation", "require_approval"}
	count(decision.reasons) > 0
	object.keys(decision) == {"verdict", "reasons", "obligations", "advice", "audit"}
	object.keys(decision.audit) == {
		"request_id", "checkpoint", "operation", "trace_id", "bundle_id", "bundle_version", "release_identity",
		"contract_version", "capability", "controls", "approval", "credential_binding", "oauth_scope", "trajectory", "compound_authorization",
	}
}

# E6: nothing is allowed by default.
test_deny_nothing_governs_or_permits if _misses_of_default == set()

_misses_of_default := {[bundles, got] |
	some bundles in [
		{},
		null,
		{"triage": {}},
		fixture.put(fixture.bundles, "/triage/findings", set()),
		fixture.without(fixture.bundles, "/triage/findings"),
		fixture.without(fixture.bundles, "/triage/catalog"),
		fixture.without(fixture.bundles, "/triage/bundle"),
	]
	some sound in [fixture.ticket, fixture.reading]
	got := [d.verdict | d := _decision_in(sound, bundles)]
	got != ["deny"]
}

test_deny_unknown_checkpoint_and_operation if _misses_of_words == set()

_misses_of_words := {[path, what, got] |
	some path in ["/checkpoint", "/operation"]
	some what, doc in fixture.broken(fixture.reading, path, fixture.garbage)
	got := _decision(doc).verdict
	got != "deny"
}

# Every pair of verdicts beside the permit, over a whole decision.
test_strictest_wins_every_pair if _misses_of_pairs == set()

_misses_of_pairs := {[a, b, got] |
	some i, a in finding.precedence
	some j, b in finding.precedence
	got := _with_findings([a, b]).verdict
	got != finding.precedence[min([i, j])]
}

test_deny_unknown_verdict_in_the_bundle if _misses_of_unknown == set()

_misses_of_unknown := {[word, got] |
	some word in ["ALLOW", "allow ", "permit", "", null, true, 0, [], {}]
	got := _with_findings([word]).verdict
	got != "deny"
}

_with_findings(verdicts) := _decision_in(fixture.reading, fixture.put(
	fixture.bundles,
	"/triage/findings",
	{fixture.permit} | {finding.new(sprintf("code_%d", [i]), verdict, "r", "q", "s") | some i, verdict in verdicts},
))

# Half a finding in the bundle is a refusal, whatever it says.
test_deny_malformed_finding_in_the_bundle if _misses_of_malformed == set()

_misses_of_malformed := {[f, got] |
	some f in [{"code": "x"}, {}, "deny", null, 5, ["deny"], {"verdict": "allow"}, {"code": "x", "verdict": "allow"}]
	got := [d |
		some findings in [{fixture.permit, f}, {f}]
		d := _decision_in(fixture.reading, fixture.put(fixture.bundles, "/triage/findings", findings)).verdict
	]
	got != ["deny", "deny"]
}

test_require_bundle_value_broken if _misses_of_bundle == set()

_misses_of_bundle := {[path, what, got] |
	some path, values in {
		"/triage/contracts/create_ticket/quorum": [null, true, false, 0, -1, "1", [], {}],
		"/triage/reviewers/mira-manager/keys/mira-key/not_before_ms": fixture.no_number,
		"/triage/reviewers/mira-manager/keys/mira-key/not_after_ms": fixture.no_number,
	}
	some what, bundles in fixture.broken(fixture.bundles, path, values)
	some sound in [fixture.ticket, fixture.put(fixture.ticket, "/state/approval/votes", []), fixture.voting]
	got := _decision_in(sound, bundles).verdict
	got == "allow"
}

# The gate must state the run, and it must be the one the records answer with.
test_deny_another_run if _misses_of_run == set()

_misses_of_run := {[name, path, what, got] |
	some name, sound in _sound
	some path in ["/trace/run_id", "/state/run/run_id"]
	some what, doc in fixture.broken(sound, path, array.concat(fixture.garbage, ["run-9"]))
	got := _decision(doc).verdict
	not got in {"deny", "continuity_validation_failed"}
}

# Two faults at once: both sides of a binding null or of the same wrong type are no match.
test_allow_no_two_fields_alike_but_null if _misses_of_alike == set()

_misses_of_alike := {[name, value, group] |
	some name, sound in _sound
	some group in _bindings
	some value in [null, true, 17, ["garbage"], {}]
	doc := json.patch(sound, [{"op": "add", "path": path, "value": value} |
		some path in group
		_has(sound, path)
	])
	doc != sound
	_verdict(doc) == "allow"
}

# Who calls as nobody in particular is not permitted because the run acts as nobody in particular, too.
test_deny_call_whose_authorization_is_alike_but_none if _misses_of_authorization == set()

_misses_of_authorization := {[name, field, value, got] |
	some name in ["ticket", "reading"]
	some field, values in {
		"authorization_mode": fixture.garbage,
		"delegated_principal_id": fixture.no_text,
		"delegated_scope": fixture.no_text,
	}
	some value in values
	got := _verdict(object.union(_sound[name], {
		"identity": {field: value},
		"state": {"run": {field: value}},
	}))
	got == "allow"
}

_has(doc, path) if object.get(doc, array.slice(split(path, "/"), 1, 9), "absent") != "absent"

_bindings := [
	["/identity/tenant_id", "/state/run/tenant_id", "/state/approval/tenant_id"],
	["/identity/principal_id", "/state/run/principal_id", "/state/approval/principal_id"],
	["/agent/agent_id", "/state/run/agent_id", "/state/approval/agent_id"],
	["/trace/run_id", "/state/run/run_id", "/state/approval/run_id"],
	["/digests/action_digest", "/state/approval/action_digest"],
]

# A name that the bundle does not have is the model's invention and is not repeated.
test_audit_repeats_no_invented_name if {
	_decision(fixture.put(fixture.ticket, "/request/capability", "rm -rf")).audit.capability == null
	_decision(fixture.put(fixture.ticket, "/request/capability", "run_shell")).audit.capability == "run_shell"
}

test_audit_holds_strings_or_null if _misses_of_audit == set()

_misses_of_audit := {[path, what, got] |
	some path, field in {
		"/request_id": "request_id",
		"/checkpoint": "checkpoint",
		"/operation": "operation",
		"/trace/trace_id": "trace_id",
	}
	some what, doc in fixture.broken(fixture.ticket, path, fixture.no_string)
	got := _decision(doc).audit[field]
	got != null
}

_decision(doc) := _decision_in(doc, fixture.bundles)

_decision_in(doc, bundles) := decision if {
	decision := gate.decision with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_controlled := object.union(fixture.bundles.triage, {
	"advice": {{"type": "warn", "code": "b", "source": "s"}, {"type": "warn", "code": "a", "source": "s"}},
	"controls": {
		{"policy_requirement": "second", "predicate_result": "true"},
		{"policy_requirement": "first", "predicate_result": "unknown"},
	},
})

test_advice_and_controls_in_order if {
	got := _decision_in(fixture.ticket, {"triage": _controlled})
	got.advice == [{"type": "warn", "code": "a", "source": "s"}, {"type": "warn", "code": "b", "source": "s"}]
	got.audit.controls == [
		{"policy_requirement": "first", "predicate_result": "unknown"},
		{"policy_requirement": "second", "predicate_result": "true"},
	]
}

test_advice_and_controls_of_no_shape_are_none if _misses_of_shape == set()

_misses_of_shape := {[value, got] |
	some value in [null, true, 5, "garbage", {}, [], ["garbage"], {{}}, {"garbage"}, set()]
	decision := _decision_in(fixture.ticket, {"triage": object.union(
		fixture.bundles.triage,
		{"advice": value, "controls": value},
	)})
	got := [decision.verdict, decision.advice, decision.audit.controls]
	got != ["allow", [], []]
}

# A stranger is told neither what was looked at nor which capability the name he tried is.
test_advice_controls_and_capability_hidden_from_a_stranger if _misses_of_stranger == set()

_misses_of_stranger := {[path, got] |
	some path in [
		"/identity/tenant_id", "/identity/principal_id", "/trace/session_id", "/state/run/agent_id",
	]
	doc := fixture.put(fixture.ticket, path, "somebody-else")
	decision := _decision_in(doc, {"triage": _controlled})
	got := [decision.advice, decision.audit.controls, decision.audit.capability, decision.obligations]
	got != [[], [], null, []]
}
