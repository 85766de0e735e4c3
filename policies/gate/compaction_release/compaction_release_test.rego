package gate.compaction_release_test

import data.gate.compaction_release
import data.gate.compaction_release.fixture_test as fixture
import data.gate.fixture_test as core
import data.gate.verdict

test_none_sound_call if _codes(fixture.calling) == set()

test_none_sound_compaction if _codes(fixture.compacting) == set()

test_allow_sound_call if _decided(fixture.calling) == ["allow", {"configured_allow"}]

test_allow_sound_compaction if _decided(fixture.compacting) == ["allow", {"configured_allow"}]

test_none_first_epoch if _codes(core.put(core.ticket, "/state/run/epoch", 1)) == set()

test_none_without_contract if {
	got := {f.code | some f in compaction_release.raised with input as core.without(fixture.calling, "/evidence/compaction")
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as core.bundles}
	got == set()
}

test_none_other_operation if _codes(core.put(fixture.calling, "/operation", "user_message")) == set()

# Who does not say that the run crossed no boundary is looked at.
test_deny_epoch_absent_or_garbage if {how |
	some how, doc in core.broken(core.without(fixture.calling, "/evidence/compaction"), "/state/run/epoch", [null, true, "1", [1], {}, 0, 2])
	count(_codes(doc)) == 0
} == set()

test_deny_rule_missing if {[path, how] |
	some path in [
		"/evidence", "/evidence/compaction", "/evidence/compaction/rules", "/evidence/compaction/rules/0/rule_id", "/evidence/compaction/rules/0/scope",
		"/evidence/compaction/rules/0/digest", "/evidence/compaction/rules/1/digest", "/now_ms",
	]
	some how, doc in core.broken(fixture.calling, path, array.concat(core.garbage, [[], ["issue_refund"]]))
	not "required_rule_missing" in _codes(doc)
} == {["/now_ms", "17"]}

test_deny_first_rule_no_object if {value |
	some value in core.garbage
	doc := core.put(fixture.calling, "/evidence/compaction/rules", [value, fixture.calling.evidence.compaction.rules[1]])
	_codes(doc) != {"required_rule_missing"}
} == set()

test_deny_rule_missing_alone if {
	_codes(core.put(fixture.calling, "/evidence/compaction/rules", [])) == {"required_rule_missing"}
}

test_resume_tool_is_a_call if {
	doc := core.put(core.put(fixture.calling, "/operation", "resume_tool"), "/evidence/compaction/rules", [])
	_codes(doc) == {"required_rule_missing"}
}

_showing := core.put(core.put(fixture.calling, "/operation", "model_call"), "/checkpoint", "llm")

test_none_model_call_with_every_rule if _codes(_showing) == set()

test_deny_model_call_rule_missing if {
	_codes(core.put(_showing, "/evidence/compaction/rules", [])) == {"required_rule_missing"}
}

test_none_model_call_first_epoch if {
	_codes(core.put(core.without(_showing, "/evidence/compaction"), "/state/run/epoch", 1)) == set()
}

test_none_rule_missing_where_the_bundle_does_not_mind if {
	doc := core.put(fixture.calling, "/evidence/compaction/rules", [])
	_codes_of(doc, fixture.with_contract("/fail_closed", false)) == set()
}

test_deny_required_rules_unreadable if {[path, how] |
	some path in ["/required", "/fail_closed"]
	some how, bundles in core.broken(fixture.bundles, concat("", ["/triage/compaction", path]), [null, true, "x", {}])
	doc := core.put(fixture.calling, "/evidence/compaction/rules", [])
	not "required_rule_missing" in _codes_of(doc, bundles)
} == set()

_without_second := core.put(fixture.calling, "/evidence/compaction/rules", [fixture.calling.evidence.compaction.rules[0]])

test_rule_is_required_within_its_validity if {
	_at(20000) == {"required_rule_missing"}
	_at(59999) == {"required_rule_missing"}
}

test_rule_is_not_required_outside_its_validity if {
	_at(19999) == set()
	_at(60000) == set()
}

_at(now_ms) := _codes(core.put(_without_second, "/now_ms", now_ms))

test_rule_in_two_copies_one_changed_is_kept if {
	changed := {"rule_id": "rule-a", "scope": ["create_ticket"], "digest": "sha256:other"}
	doc := core.put(fixture.calling, "/evidence/compaction/rules", array.concat([changed], fixture.calling.evidence.compaction.rules))
	_codes(doc) == set()
}

test_deny_record_missing if {
	{_codes_of(doc, fixture.with_contract("/record", null)) | some doc in [fixture.calling, fixture.compacting]} == {{"compaction_record_missing"}}
}

# What changed since, by name; a changed digest is no released record either.
test_deny_record_stale if {[name, how, got] |
	some name in object.keys(fixture.digests)
	some how, bundles in core.broken(fixture.bundles, concat("", ["/triage/compaction/digests/", name]), core.garbage)
	got := _codes_of(fixture.compacting, bundles)
	got != {"compaction_record_stale", "compaction_not_released"}
} == set()

test_record_stays_current_where_the_contract_does_not_mind if {
	bundles := core.put(fixture.with_contract("/digests/model", "sha256:other"), "/triage/compaction/expires/model", false)
	_codes_of(fixture.compacting, bundles) == {"compaction_not_released"}
}

test_deny_expiry_unreadable if {how |
	some how, bundles in core.broken(fixture.with_contract("/digests/model", "sha256:other"), "/triage/compaction/expires", core.no_section)
	not "compaction_record_stale" in _codes_of(fixture.compacting, bundles)
} == set()

test_deny_runtime_changed if {[field, how] |
	some field in ["model", "harness", "compactor", "compactor_version"]
	some how, doc in core.broken(fixture.compacting, concat("", ["/evidence/compaction/", field]), core.garbage)
	_codes(doc) != {"compaction_runtime_changed"}
} == set()

test_deny_posture_stated_otherwise if {[how, got] |
	some how, bundles in core.broken(fixture.bundles, "/triage/compaction/record/posture", ["pilot", "hold", "reject", "garbage"])
	how != "absent"
	got := _codes_of(fixture.compacting, bundles)
	got != {"compaction_not_released"}
} == set()

test_deny_held if {
	bundles := core.put(
		fixture.with_contract("/record/measured/effects/unauthorized", 1),
		"/triage/compaction/record/posture", "hold",
	)
	_codes_of(fixture.compacting, bundles) == {"compaction_not_released"}
	_codes_of(fixture.calling, bundles) == {"compaction_not_released"}
	_codes_of(fixture.calling, core.put(bundles, "/triage/decisions/create_ticket", "allow")) == {
		"compaction_not_released", "compaction_write_not_released",
	}
}

_pilot := core.put(
	fixture.with_contract("/record/measured/rounds", 4),
	"/triage/compaction/record/posture", "pilot",
)

test_pilot_permits_what_a_person_lets_through if _codes_of(fixture.calling, _pilot) == set()

test_pilot_permits_reading if {
	doc := object.union(core.reading, {
		"trace": {"epoch": 2},
		"state": {"run": {"epoch": 2}},
		"evidence": {"compaction": fixture.calling.evidence.compaction},
	})
	_codes_of(doc, _pilot) == set()
}

test_deny_pilot_write if {
	bundles := core.put(_pilot, "/triage/decisions/create_ticket", "allow")
	_codes_of(fixture.calling, bundles) == {"compaction_write_not_released"}
}

test_trial_releases_in_its_environment_only if {
	bundles := core.put(
		core.put(fixture.with_contract("/record/measured", {}), "/triage/compaction/record/posture", "reject"),
		"/triage/compaction/record/trial", true,
	)
	doc := core.put(core.put(fixture.calling, "/agent/environment", "compaction-trial"), "/evidence/compaction/model", "other")
	_codes_of(doc, bundles) == set()
	"compaction_not_released" in _codes_of(core.put(doc, "/agent/environment", "prod"), bundles)
	"compaction_not_released" in _codes_of(core.without(doc, "/agent/environment"), bundles)
	"compaction_not_released" in _codes_of(doc, core.put(bundles, "/triage/compaction/record/trial", false))
}

test_deny_empty_input if {
	_codes({}) == set()
	_codes({"operation": "call_tool"}) == set()
	_codes({"operation": "call_tool", "agent": {"agent_id": "triage-agent"}}) == {
		"required_rule_missing", "compaction_runtime_changed",
	}
}

_codes(doc) := _codes_of(doc, fixture.bundles)

_codes_of(doc, bundles) := {f.code | some f in compaction_release.raised with input as doc
	with data.gate.agents.bundle_of as core.bundle_of
	with data.gate.bundles as bundles}

_decided(doc) := [word, codes] if {
	word := verdict.verdict with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as fixture.bundles
	codes := {f.code | some f in verdict.shown with input as doc
		with data.gate.agents.bundle_of as core.bundle_of
		with data.gate.bundles as fixture.bundles}
}
