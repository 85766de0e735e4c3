package gate.longtask.items_test

import data.gate.fixture_test as core
import data.gate.longtask.fixture_test as fixture
import data.gate.longtask.items

test_none_sound if _codes(fixture.committing) == set()

test_none_first_generation if _codes(fixture.puts(fixture.committing, {"/parent": null})) == set()

test_none_elsewhere if {
	_codes(fixture.rehydrating) == set()
	_codes({}) == set()
}

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(fixture.committing, path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

test_deny_each_field_broken if _misses == set()

_every := {
	"missing_required_carry_items", "constraint_dropped", "open_issue_closed_without_verification", "authority_raised",
	"item_rewritten", "artifact_provenance_missing", "secret_in_artifact",
}

_no_array := [null, true, 17, "garbage", {}]

_owed := {
	"/artifact/items": {"values": _no_array, "codes": _every},
	"/seed/required_keys": {"values": array.concat(_no_array, [["goal", "other"]]), "codes": {"missing_required_carry_items"}},
	"/parent/items": {"values": _no_array, "codes": {"missing_required_carry_items", "constraint_dropped", "open_issue_closed_without_verification"}},
	"/verifications": {"values": [null, true, 17, "garbage", {}], "codes": {"open_issue_closed_without_verification"}},
	"/drifts": {"values": array.concat(_no_array, [[{"kind": "authority"}], [{"kind": null}], [{}], ["deletion"]]), "codes": {"artifact_drifted"}},
	"/artifact/items/1/authority_rank": {"values": array.concat(core.no_number, [3, 5]), "codes": {"authority_raised"}},
	"/artifact/items/1/trust_rank": {"values": array.concat(core.no_number, [4]), "codes": {"authority_raised"}},
	"/artifact/items/1/kind": {"values": core.garbage, "codes": {"authority_raised"}},
	"/artifact/items/1/content_digest": {"values": core.garbage, "codes": {"item_rewritten"}},
	"/artifact/items/1/sourced": {"values": core.no_true, "codes": {"artifact_provenance_missing"}},
	"/artifact/items/1/secret": {"values": [null, true, 0, "false"], "codes": {"secret_in_artifact"}},
	"/artifact/items/1/group": {"values": core.garbage, "codes": {"constraint_dropped"}},
	"/artifact/items/2/group": {"values": core.garbage, "codes": {"open_issue_closed_without_verification"}},
	"/artifact/items/3/content_digest": {"values": core.no_string, "codes": {"item_rewritten"}},
	"/said/1/highest_authority_rank": {"values": array.concat(core.no_number, [3]), "codes": {"constraint_overridden"}},
	"/said/1/authority_rank": {"values": [null, true, {}, 1], "codes": {"constraint_overridden", "authority_raised"}},
}

test_deny_said_absent if {
	{"open_issue_closed_without_verification", "authority_raised", "item_rewritten", "constraint_overridden"} == _codes(core.without(fixture.committing, "/state/longtask/said"))
}

test_none_drift_that_other_rules_judge if {
	_codes(fixture.puts(fixture.committing, {"/drifts": [{"kind": "deletion"}, {"kind": "rewriting"}]})) == set()
}

test_none_decision_in_other_words if {
	_codes(fixture.puts(fixture.committing, {"/artifact/items/3/content_digest": "other words"})) == set()
}

test_deny_required_decision_in_other_words if {
	_codes(fixture.puts(fixture.committing, {
		"/artifact/items/3/content_digest": "other words",
		"/artifact/items/3/required": true,
	})) == {"item_rewritten"}
}

test_none_next_step_that_nobody_said if {
	said := [i | some i in fixture.committing.state.longtask.said; i.key != "next-intent"]
	_codes(fixture.puts(fixture.committing, {"/said": said})) == set()
	_codes(fixture.puts(fixture.committing, {"/said": said, "/artifact/items/4/authority_rank": 2})) == {"authority_raised"}
	_codes(fixture.puts(fixture.committing, {"/said": said, "/artifact/items/4/kind": "instruction"})) == {"authority_raised"}
}

# An open issue leaves only by its verification.
test_none_issue_closed_by_its_verification if _codes(_closing(fixture.passed)) == set()

test_deny_issue_closed_by_less if _misses_of_closing == set()

_misses_of_closing := {[field, value, got] |
	some field, values in {
		"key": [null, "other", 17],
		"event_id": core.no_string,
		"command": core.no_text,
		"result": array.concat(core.garbage, ["not_run", "failed", "infrastructure_failure", "stale"]),
		"exit_status": [null, 1, -9, "0", true],
		"workspace_digest": core.garbage,
	}
	some value in values
	got := _codes(_closing(object.union(fixture.passed, {field: value})))
	got != {"missing_required_carry_items", "open_issue_closed_without_verification"}
}

_closing(verification) := fixture.puts(fixture.committing, {
	"/artifact/items": [i | some i in fixture.committing.state.longtask.artifact.items; i.key != "legacy"],
	"/verifications": [verification],
})

# A constraint leaves, or is said otherwise, only by its user's own event.
test_constraint_leaves_by_the_user_alone if {
	without := [i | some i in fixture.committing.state.longtask.artifact.items; i.key != "signature"]
	changed := {"/artifact/items": without, "/seed/required_keys": ["goal"]}
	_codes(fixture.puts(fixture.committing, object.union(changed, {"/user_updates": ["signature"]}))) == set()
	_codes(fixture.puts(fixture.committing, changed)) == {"missing_required_carry_items", "constraint_dropped"}
	_codes(fixture.puts(fixture.committing, object.union(changed, {"/user_updates": [17, null]}))) == {"missing_required_carry_items", "constraint_dropped"}
}

test_constraint_said_with_less_authority_by_the_user_alone if {
	less := {"/said/1/highest_authority_rank": 3}
	_codes(fixture.puts(fixture.committing, object.union(less, {"/user_updates": ["signature"]}))) == set()
	_codes(fixture.puts(fixture.committing, less)) == {"constraint_overridden"}
}

test_deny_item_left_out_of_what_was_said if {
	items := array.concat(fixture.committing.state.longtask.artifact.items, [object.union(
		fixture.committing.state.longtask.artifact.items[0],
		{"key": "invented", "group": "decisions"},
	)])
	_codes(fixture.puts(fixture.committing, {"/artifact/items": items})) == {"authority_raised", "item_rewritten"}
}

_codes(doc) := {f.code | some f in items.findings with input as doc}
