package gate.longtask.live_test

import data.gate.fixture_test as core
import data.gate.longtask.fixture_test as fixture
import data.gate.longtask.live

test_none_sound if _codes(fixture.rehydrating) == set()

test_none_elsewhere if {
	_codes(fixture.committing) == set()
	_codes({}) == set()
}

test_none_identical_items if {
	_codes(_with([fixture.live_of(place, {"origin": "working_set"}) | some place in numbers.range(0, 4)])) == set()
}

test_none_new_item if _codes(_with([fixture.live_of(0, {"key": "new"})])) == set()

test_none_replacing_what_binds_nobody if _codes(_with([fixture.live_of(0, {"content_digest": "other"})])) == set()

test_refuse_less_authority if {
	_codes(_with([fixture.live_of(1, {"authority_rank": 1, "content_digest": "other"})])) == {"live_item_lowers_authority", "live_item_replaces_constraint"}
}

test_constraint_replaced_by_the_users_event_alone if {
	said := {"content_digest": "other"}
	updated := {"/user_updates": ["signature"]}
	_codes(fixture.puts(_with([fixture.live_of(1, said)]), updated)) == set()
	_codes(_with([fixture.live_of(1, said)])) == {"live_item_replaces_constraint"}
	_codes(fixture.puts(_with([fixture.live_of(1, object.union(said, {"origin": "working_set"}))]), updated)) == {"live_item_replaces_constraint"}
}

test_issue_replaced_by_its_verification_alone if {
	said := {"content_digest": "other"}
	_codes(fixture.puts(_with([fixture.live_of(2, said)]), {"/verifications": [fixture.passed]})) == set()
	_codes(_with([fixture.live_of(2, said)])) == {"live_item_replaces_open_issue"}
}

test_refuse_each_field_broken if _misses == set()

_misses := {[path, what, got] |
	some path, owed in _owed
	some what, doc in fixture.broken(_with([fixture.live_of(1, {})]), path, owed.values)
	got := _codes(doc)
	got != owed.codes
}

_owed := {
	"/live/0/authority_rank": {"values": core.no_number, "codes": {"live_item_lowers_authority", "live_item_replaces_constraint"}},
	"/live/0/trust_rank": {"values": core.no_number, "codes": {"live_item_replaces_constraint"}},
	"/live/0/kind": {"values": core.garbage, "codes": {"live_item_replaces_constraint"}},
	"/live/0/content_digest": {"values": core.garbage, "codes": {"live_item_replaces_constraint"}},
	"/live/0/origin": {"values": array.concat(core.garbage, ["artifact"]), "codes": {"live_item_origin_unknown"}},
	"/artifact/items": {"values": [null, true, 17, "garbage", {}], "codes": {"live_item_lowers_authority"}},
	"/live": {"values": [null, true, 17, "garbage", {}], "codes": {"live_item_lowers_authority", "live_item_replaces_constraint", "live_item_replaces_open_issue", "live_item_origin_unknown"}},
}

test_refuse_replacing_what_has_no_group if {
	doc := core.without(_with([fixture.live_of(0, {"content_digest": "other"})]), "/state/longtask/artifact/items/0/group")
	_codes(doc) == {"live_item_replaces_constraint", "live_item_replaces_open_issue"}
}

_with(items) := fixture.puts(fixture.rehydrating, {"/live": items})

_codes(doc) := {f.code | some f in live.findings with input as doc}
