package gate.approval.cover_test

import data.gate.approval.cover
import data.gate.fixture_test as fixture

test_covered_signed_approval if _covered(fixture.ticket)

test_covered_call_that_already_happened if _covered(json.patch(_unapproved, [
	{"op": "replace", "path": "/state/side_effect/status", "value": "side_effect_committed"},
	{"op": "add", "path": "/state/side_effect/action_digest", "value": "sha256:action"},
	{"op": "add", "path": "/state/side_effect/idempotency_key", "value": "key-1"},
]))

test_uncovered_approval_withdrawn if not _covered(_unapproved)

test_uncovered_call_that_needs_no_approval if not _covered(fixture.reading)

test_uncovered_empty_document if not _covered({})

test_uncovered_broken if _misses == set()

_misses := {[path, what] |
	some path, values in {
		"/state": fixture.no_section,
		"/state/approval": fixture.no_section,
		"/state/approval/action_digest": fixture.garbage,
		"/state/approval/votes": [null, [], {}, "garbage"],
		"/state/approval/expires_at_ms": array.concat(fixture.no_number, [50000]),
	}
	some what, doc in fixture.broken(fixture.ticket, path, values)
	_covered(doc)
}

_unapproved := fixture.put(fixture.ticket, "/state/approval/status", "revoked")

_covered(doc) if {
	cover.covered with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.bundles
}
