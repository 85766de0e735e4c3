package gate_test

import data.gate
import data.gate.finding
import data.gate.fixture_test as fixture
import data.gate.verdict

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
		"contract_version", "capability", "controls",
	}
}

# Every field of a sound document, absent or of a wrong type: what is still allowed is a field that no rule reads.
test_allow_ticket_only_without_fields_that_no_rule_reads if _allowed_without("ticket") == set()

test_allow_ticket_only_without_types_that_no_rule_reads if _allowed_mistyped("ticket") == set()

test_allow_reading_only_without_fields_that_no_rule_reads if _allowed_without("reading") == set()

test_allow_reading_only_without_types_that_no_rule_reads if _allowed_mistyped("reading") == set()

test_allow_voting_only_without_fields_that_no_rule_reads if _allowed_without("voting") == set()

test_allow_voting_only_without_types_that_no_rule_reads if _allowed_mistyped("voting") == set()

test_allow_reconciling_only_without_fields_that_no_rule_reads if _allowed_without("reconciling") == set()

test_allow_reconciling_only_without_types_that_no_rule_reads if _allowed_mistyped("reconciling") == set()

_allowed_without(name) := {pointer |
	some pointer, _ in _fields(name)
	_verdict(fixture.without(_sound[name], pointer)) == "allow"
}

_allowed_mistyped(name) := {[pointer, wrong] |
	some pointer, value in _fields(name)
	some wrong in _wrong(value)
	_verdict(fixture.put(_sound[name], pointer, wrong)) == "allow"
}

_fields(name) := {pointer: value |
	walk(_sound[name], [path, value])
	count(path) > 0
	pointer := concat("/", array.concat([""], [sprintf("%v", [part]) | some part in path]))
	not pointer in _unread[name]
	not pointer in _unnamed_parties[name]
}

test_fields_of_every_sound_document_are_walked if {name: count(_fields(name)) | some name, _ in _sound} == {
	"ticket": 75,
	"reading": 35,
	"voting": 38,
	"reconciling": 22,
}

_verdict(doc) := word if {
	word := verdict.verdict with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}

_sound := {
	"ticket": fixture.ticket,
	"reading": fixture.reading,
	"voting": fixture.voting,
	"reconciling": fixture.reconciling,
}

test_allow_every_sound_document if {name: _decision(doc).verdict | some name, doc in _sound} == {
	"ticket": "allow",
	"reading": "allow",
	"voting": "allow",
	"reconciling": "allow",
}

_unread := {
	# The digests stand for the arguments; the rest is carried for the records.
	"ticket": {
		"/trace/run_id", "/request/arguments", "/request/arguments/queue", "/request/arguments/title",
		"/state/run/run_id", "/state/run/version", "/state/versions/contract_digest", "/state/approval/run_id",
		"/state/approval/contract_id", "/state/approval/intent_digest",
		"/state/rejection/intent_digest", "/state/side_effect/business_key", "/state/idempotency/idempotency_key",
		"/digests/tool_definition",
	},
	# A reading call neither asks nor claims.
	"reading": {
		"/trace/trace_id", "/trace/run_id", "/agent/environment", "/request/idempotency_key", "/request/reason",
		"/request/arguments", "/request/arguments/queue", "/request/arguments/title", "/state/run/run_id",
		"/state/run/version", "/state/versions/contract_digest", "/state/approval", "/state/rejection",
		"/state/rejection/approval_id", "/state/rejection/intent_digest", "/state/side_effect",
		"/state/idempotency", "/evidence/arguments/identified", "/digests/arguments", "/digests/tool_definition",
	},
	# A vote is bound by the signature over approval, nonce, action and contract.
	"voting": {
		"/trace", "/trace/trace_id", "/trace/session_id", "/trace/run_id", "/identity/principal_id",
		"/state/run/run_id", "/state/run/status", "/state/run/principal_id", "/state/run/session_id",
		"/state/run/version", "/state/approval/run_id", "/state/approval/contract_id",
		"/state/approval/intent_digest", "/state/approval/tenant_id", "/state/approval/session_id",
		"/state/approval/bundle_version", "/state/approval/release_identity", "/state/approval/version",
		"/state/approval/votes",
	},
	"reconciling": {
		"/trace", "/trace/trace_id", "/trace/session_id", "/trace/run_id", "/agent/environment",
		"/identity/principal_id", "/state/run/run_id", "/state/run/status", "/state/run/principal_id",
		"/state/run/session_id", "/state/run/version", "/state/side_effect/capability",
		"/state/side_effect/business_key", "/state/side_effect/idempotency_key", "/state/side_effect/action_digest",
		"/state/side_effect/lease_expires_at_ms", "/state/side_effect/version",
	},
}

# A party that the record does not name is no party to a vote: to be refused, not to be relied on.
_unnamed_parties := {
	"ticket": {"/state/approval/requested_by"},
	"reading": set(),
	"voting": {"/state/approval/requested_by", "/state/approval/principal_id", "/state/approval/agent_id"},
	"reconciling": set(),
}

_wrong(value) := [null, _wrong_for[type_name(value)]] if value != null

# null is what is sound there; nothing else is.
else := ["garbage", 0]

_wrong_for := {
	"string": ["garbage"],
	"number": "50000",
	"boolean": "true",
	"object": ["garbage"],
	"array": "garbage",
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
	got := gate.decision with input as fixture.ticket
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as {"triage": _controlled}
	[a.code | some a in got.advice] == ["a", "b"]
	[c.policy_requirement | some c in got.audit.controls] == ["first", "second"]
}

test_advice_and_controls_hidden_from_a_stranger if {
	stranger := fixture.put(fixture.ticket, "/identity/tenant_id", "somebody-else")
	got := gate.decision with input as stranger
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as {"triage": _controlled}
	got.advice == []
	got.audit.controls == []
}
