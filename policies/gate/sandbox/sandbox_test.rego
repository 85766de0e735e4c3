package gate.sandbox_test

import data.gate.fixture_test as fixture
import data.gate.runtime.fixture_test as controls
import data.gate.sandbox

_box := {
	"profile_contract": "box-v1",
	"profile_digest": "sha256:profile",
	"reviewed_digest": "sha256:profile",
	"review_ref": "review-17",
	"network": "denied",
	"secrets": "none",
	"shell": "restricted",
	"review_state": "approved",
	"workspace_entries": ["/work:rw"],
	"snapshot_digest": null,
	"resumed_from": null,
}

_sound := controls.stating(fixture.ticket, "sandbox", _box)

_both := {
	"sandbox_profile_mismatch", "sandbox_profile_not_reviewed", "sandbox_workspace_not_allowed",
	"sandbox_resume_not_allowed",
}

_local := fixture.put(controls.bundles, "/triage/catalog/create_ticket/transport", "local")

test_none_sound if _codes(_sound, controls.bundles) == set()

test_none_sound_local if _codes(_sound, _local) == set()

test_none_no_sandbox if _codes(fixture.ticket, controls.bundles) == set()

test_none_empty_document if _codes({}, controls.bundles) == set()

test_none_plain_call_without_controls if {
	_codes(fixture.ticket, fixture.put(controls.bare, "/triage/catalog/create_ticket/transport", "local")) == set()
}

test_none_capability_not_catalogued if {
	_codes(fixture.put(fixture.ticket, "/request/capability", "run_shell"), _local) == set()
}

test_deny_without_controls if {
	_codes(_sound, controls.bare) == {"sandbox_profile_mismatch", "sandbox_workspace_not_allowed"}
}

test_deny_local_call_without_evidence if _misses_of_evidence == set()

_misses_of_evidence := {[what, transport, got] |
	some transport in ["local", null, "LOCAL"]
	some what, doc in fixture.broken(_sound, "/evidence/sandbox", [null])
	got := _codes(doc, fixture.put(controls.bundles, "/triage/catalog/create_ticket/transport", transport))
	got != _both
}

test_deny_unreadable if _misses_of_section == set()

_misses_of_section := {[value, got] |
	some value in [true, false, 17, "garbage", [], {}]
	got := _codes(controls.stating(fixture.ticket, "sandbox", value), controls.bundles)
	got != _both
}

test_deny_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(_sound, path, owed.values)
	got := _codes(doc, controls.bundles)
	got != owed.codes
}

_wrong := {"sandbox_profile_mismatch"}

_workspace := {"sandbox_workspace_not_allowed"}

_resume := {"sandbox_resume_not_allowed"}

test_resume if _misses_of_resume == set()

_misses_of_resume := {[allowed, from, snapshot, got] |
	some row in [
		["own_snapshot", "sha256:own", "sha256:own", set()],
		["own_snapshot", "sha256:other", "sha256:own", _resume],
		["own_snapshot", "sha256:own", null, _resume],
		["fresh", "sha256:own", "sha256:own", _resume],
		[null, "sha256:own", "sha256:own", _resume],
		["fresh", null, "sha256:own", set()],
	]
	[allowed, from, snapshot, codes] := row
	doc := fixture.put(fixture.put(_sound, "/evidence/sandbox/resumed_from", from), "/evidence/sandbox/snapshot_digest", snapshot)
	got := _codes(doc, controls.having("sandbox_profile_contract/resume", allowed))
	got != codes
}

test_none_empty_workspace if {
	doc := fixture.put(_sound, "/evidence/sandbox/workspace_entries", [])
	_codes(doc, controls.having("sandbox_profile_contract/workspace", [])) == set()
}

_unreviewed := {"sandbox_profile_not_reviewed"}

_owed := {
	"/evidence/sandbox/profile_contract": {"values": array.concat(fixture.garbage, ["BOX-V1"]), "codes": _wrong},
	"/evidence/sandbox/network": {"values": array.concat(fixture.garbage, ["restricted", "open"]), "codes": _wrong},
	"/evidence/sandbox/secrets": {"values": array.concat(fixture.garbage, ["brokered", "open"]), "codes": _wrong},
	"/evidence/sandbox/shell": {"values": array.concat(fixture.garbage, ["open"]), "codes": _wrong},
	"/evidence/sandbox/review_ref": {"values": fixture.no_text, "codes": _unreviewed},
	"/evidence/sandbox/profile_digest": {"values": fixture.garbage, "codes": _unreviewed},
	"/evidence/sandbox/reviewed_digest": {"values": fixture.garbage, "codes": _unreviewed},
	"/evidence/sandbox/review_state": {
		"values": array.concat(fixture.garbage, ["pending", "rejected", "withdrawn", "APPROVED"]),
		"codes": _unreviewed,
	},
	"/evidence/sandbox/workspace_entries": {
		"values": [null, true, 17, "/work:rw", {}, [17], ["/work:ro"], ["/work:rw", "/etc:ro"]],
		"codes": _workspace,
	},
	"/evidence/sandbox/resumed_from": {"values": [true, 17, "sha256:own", [], {}], "codes": _resume},
}

test_deny_control_missing if _misses_of_controls == set()

_misses_of_controls := {[name, what, got] |
	some name, codes in {
		"sandbox_profile_contract": (_wrong | _workspace),
		"sandbox_profile_review_required": _unreviewed,
	}
	some what, bundles in controls.missing(name)
	got := _codes(fixture.put(_sound, "/evidence/sandbox/reviewed_digest", _digests[name]), bundles)
	got != codes
}

_digests := {"sandbox_profile_contract": "sha256:profile", "sandbox_profile_review_required": "sha256:other"}

test_none_review_not_required if {
	bundles := controls.having("sandbox_profile_review_required", false)
	_codes(fixture.put(_sound, "/evidence/sandbox/review_ref", null), bundles) == set()
}

# What the contract permits at most, and what the evidence states: no more open than that passes.
test_openness_pairs if _misses_of_pairs == set()

_misses_of_pairs := {[field, most, stated, got] |
	some field, levels in {
		"network": ["denied", "restricted", "open"],
		"secrets": ["none", "brokered", "open"],
		"shell": ["none", "restricted", "open"],
	}
	some i in [0, 1]
	most := levels[i]
	some j, stated in levels
	bundles := controls.having(concat("/", ["sandbox_profile_contract", field]), most)
	doc := fixture.put(fixture.put(_sound, "/evidence/sandbox/shell", "none"), concat("/", ["/evidence/sandbox", field]), stated)
	got := _codes(doc, bundles)
	got != _owed_openness[j <= i]
}

_owed_openness := {true: set(), false: {"sandbox_profile_mismatch"}}

_codes(doc, bundles) := {f.code |
	some f in sandbox.findings with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}
