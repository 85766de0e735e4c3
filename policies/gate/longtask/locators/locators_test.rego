package gate.longtask.locators_test

import data.gate.fixture_test as core
import data.gate.longtask.fixture_test as fixture
import data.gate.longtask.locators

test_none_sound if {
	_codes(fixture.rehydrating) == set()
	_codes(fixture.committing) == set()
}

test_none_elsewhere if _codes({}) == set()

test_none_without_locators if _codes(fixture.puts(fixture.rehydrating, {"/locators": []})) == set()

# The four results are never one.
test_refuse_each_result_by_its_own_name if {
	{word: _codes(fixture.puts(fixture.rehydrating, {"/locators/0/result": word})) |
		some word in ["match", "missing", "stale", "denied", "unresolved"]
	} == {
		"match": set(),
		"missing": {"locator_missing"},
		"stale": {"locator_stale"},
		"denied": {"locator_denied"},
		"unresolved": {"locator_unresolved"},
	}
}

test_none_optional_whatever_was_found if {
	{w | some w in ["missing", "stale", "denied"]; _codes(fixture.puts(fixture.committing, {"/locators/1/result": w})) != set()} == set()
}

test_refuse_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some doc in [fixture.rehydrating, fixture.committing]
	some path, owed in _owed
	some what, broken in fixture.broken(doc, path, owed.values)
	got := _codes(broken)
	got != owed.codes
}

_owed := {
	"/locators/0/result": {"values": core.garbage, "codes": {"locator_unresolved"}},
	"/locators/0/content_digest": {"values": core.no_string, "codes": {"locator_unresolved"}},
	"/locators/1/required": {"values": [null, true, 0, "false"], "codes": {"locator_stale"}},
	"/locators": {"values": [null, true, 17, "garbage", {}], "codes": {"locator_missing", "locator_stale", "locator_denied", "locator_unresolved"}},
}

test_none_while_the_pair_is_not_what_it_was if {
	_codes(fixture.puts(fixture.rehydrating, {"/locators/0/result": "stale", "/workspace_digest": "other"})) == set()
}

_codes(doc) := {f.code | some f in locators.findings with input as doc}
