package gate_test

import data.gate.continuity.fixture_test as boundaries
import data.gate.fixture_test as fixture
import data.gate.verdict

# Every field of a sound document, absent, null or of a wrong type: what is still allowed then is a field that no rule
# reads, and the lists below name exactly these. A rule that stops reading a field, or starts, shows here.
test_allow_ticket_without_a_field_that_no_rule_reads if _allowed_without("ticket") == _unread.ticket

test_allow_ticket_whose_approval_mistypes_what_no_rule_reads if {
	pointers := {pointer | some pointer, _ in _fields("ticket"); startswith(pointer, "/state/approval")}
	_allowed_mistyped("ticket", pointers) == {pointer | some pointer in _unread.ticket; pointer in pointers}
}

test_allow_ticket_that_mistypes_what_no_rule_reads if {
	pointers := {pointer | some pointer, _ in _fields("ticket"); not startswith(pointer, "/state/approval")}
	_allowed_mistyped("ticket", pointers) == {pointer | some pointer in _unread.ticket; pointer in pointers}
}

test_allow_reading_without_a_field_that_no_rule_reads if _allowed_without("reading") == _unread.reading

test_allow_reading_that_mistypes_what_no_rule_reads if {
	_allowed_mistyped("reading", object.keys(_fields("reading"))) == _unread.reading
}

test_allow_voting_without_a_field_that_no_rule_reads if _allowed_without("voting") == _unread.voting

test_allow_voting_that_mistypes_what_no_rule_reads if {
	_allowed_mistyped("voting", object.keys(_fields("voting"))) == _unread.voting
}

test_allow_reconciling_without_a_field_that_no_rule_reads if _allowed_without("reconciling") == _unread.reconciling

test_allow_reconciling_that_mistypes_what_no_rule_reads if {
	_allowed_mistyped("reconciling", object.keys(_fields("reconciling"))) == _unread.reconciling
}

test_allow_compacting_without_a_field_that_no_rule_reads if {
	# Records that are not there are records that do not exist.
	_allowed_without("compacting") == _unread.compacting | {"/state/continuity/actions/0", "/state/continuity/actions/1"}
}

test_allow_compacting_that_mistypes_what_no_rule_reads if {
	_allowed_mistyped("compacting", object.keys(_fields("compacting"))) == _unread.compacting
}

test_validated_resuming_without_a_field_that_no_rule_reads if {
	_allowed_without("resuming") == _unread.resuming | {"/envelope/evidence_refs/0", "/envelope/evidence_refs/1"}
}

test_validated_resuming_that_mistypes_what_no_rule_reads if {
	_allowed_mistyped("resuming", object.keys(_fields("resuming"))) == _unread.resuming | _more
}

# Put into a list, garbage stands beside what is sound; and a host may state no epoch.
_more := {
	"/state/continuity/constraints/0", "/state/continuity/evidence_refs/0", "/state/continuity/evidence_refs/1",
	"/state/continuity/host/epoch",
}

_allowed_without(name) := {pointer |
	some pointer, _ in _fields(name)
	_verdict(fixture.without(_sound[name], pointer)) in {"allow", "reauthorization_required"}
}

_allowed_mistyped(name, pointers) := {pointer |
	some pointer, value in _fields(name)
	pointer in pointers
	some wrong in _wrong(value)
	_verdict(fixture.put(_sound[name], pointer, wrong)) in {"allow", "reauthorization_required"}
}

_fields(name) := {pointer: value |
	walk(_sound[name], [path, value])
	count(path) > 0
	pointer := concat("/", array.concat([""], [sprintf("%v", [part]) | some part in path]))
}

test_fields_of_every_sound_document_are_walked if {name: count(_fields(name)) | some name, _ in _sound} == {
	"ticket": 102,
	"reading": 61,
	"voting": 70,
	"reconciling": 45,
	"compacting": 77,
	"resuming": 159,
}

_verdict(doc) := word if {
	word := verdict.verdict with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as boundaries.bundles
}

_sound := {
	"ticket": fixture.put(fixture.ticket, "/state/approval/epoch", 1),
	"reading": fixture.reading,
	"voting": fixture.voting,
	"reconciling": fixture.reconciling,
	"compacting": boundaries.compacting,
	"resuming": boundaries.resuming,
}

test_allow_every_sound_document if {name: _decision(doc).verdict | some name, doc in _sound} == {
	"ticket": "allow",
	"reading": "allow",
	"voting": "allow",
	"reconciling": "allow",
	"compacting": "allow",
	"resuming": "reauthorization_required",
}

_unread := {
	# The digests stand for the arguments; the rest is carried for the records. An approval may serve a later run of
	# its session.
	"ticket": {
		"/request/arguments", "/request/arguments/queue", "/request/arguments/title", "/state/run/version",
		"/state/versions/contract_digest", "/state/approval/contract_id",
		"/state/approval/intent_digest", "/state/side_effect/business_key", "/digests/tool_definition",
		"/state/approval/created_at_ms", "/state/approval/escalated_at_ms", "/state/approval/standing_digest",
		"/state/approval/uses",
	},
	# A reading call neither asks nor claims.
	"reading": {
		"/agent/environment", "/request/idempotency_key", "/request/reason", "/request/arguments",
		"/request/arguments/queue", "/request/arguments/title", "/state/run/version",
		"/state/versions/contract_digest", "/state/approval", "/state/side_effect", "/state/idempotency",
		"/evidence/arguments/identified", "/digests/arguments", "/digests/tool_definition",
	},
	# A vote is bound by the signature over approval, nonce, action and contract; the call it permits by the rest.
	"voting": {
		"/trace/session_id", "/state/run/session_id", "/state/run/version",
		"/state/run/delegated_scope", "/state/approval/contract_id", "/state/approval/intent_digest",
		"/state/approval/session_id", "/state/approval/created_at_ms", "/state/approval/escalated_at_ms",
		"/state/approval/standing_digest", "/state/approval/uses",
		"/state/run/epoch", "/state/run/boundary",
	},
	# An effect is reconciled though its run has ended and its capability has left the catalog.
	"reconciling": {
		"/trace/session_id", "/agent/environment", "/state/run/status", "/state/run/session_id",
		"/state/run/version", "/state/run/epoch", "/state/run/boundary", "/state/run/authorization_mode", "/state/run/delegated_principal_id",
		"/state/run/delegated_scope", "/state/side_effect/lease_expires_at_ms",
	},
	# A boundary asks what is settled; what exactly was pending is compared when it is resumed.
	"compacting": {
		"/agent/environment",
		"/state/continuity/actions/0/action_digest",
		"/state/continuity/actions/0/approval_expires_at_ms",
		"/state/continuity/actions/0/approval_id",
		"/state/continuity/actions/0/business_key_digest",
		"/state/continuity/actions/0/capability_name",
		"/state/continuity/actions/0/capability_version",
		"/state/continuity/actions/0/idempotency_key",
		"/state/continuity/actions/0/lease_expires_at_ms",
		"/state/continuity/actions/1/action_digest",
		"/state/continuity/actions/1/approval_expires_at_ms",
		"/state/continuity/actions/1/approval_id",
		"/state/continuity/actions/1/business_key_digest",
		"/state/continuity/actions/1/capability_name",
		"/state/continuity/actions/1/capability_version",
		"/state/continuity/actions/1/idempotency_key",
		"/state/continuity/actions/1/lease_expires_at_ms",
		"/state/continuity/closed_obligations",
		"/state/continuity/constraints/0/digest",
		"/state/continuity/epoch",
		"/state/continuity/event_range/first_seq",
		"/state/continuity/event_range/head_hash",
		"/state/continuity/event_range/last_seq",
		"/state/run/version",
	},
	# The lease of a claim matters only while it is being carried out.
	"resuming": {
		"/envelope/handoff_to",
		"/state/continuity/actions/0/lease_expires_at_ms",
		"/state/continuity/actions/1/lease_expires_at_ms",
		"/state/run/boundary",
		"/state/run/boundary/envelope_id",
		"/state/run/boundary/status",
		"/state/run/version",
	},
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
