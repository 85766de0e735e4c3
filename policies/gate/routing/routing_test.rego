package gate.routing_test

import data.gate.fixture_test as fixture
import data.gate.routing
import data.gate.runtime.fixture_test as controls

_delegated := controls.stating(fixture.reading, "approval_route", {
	"decided_by": "delegate",
	"delegate_id": "otto-auditor",
})

_classified := controls.stating(fixture.reading, "classifier", {"verdict": "allow", "action_digest": "sha256:action"})

_handed := controls.stating(fixture.reading, "handoff", {
	"from_agent_id": "parent-agent",
	"to_agent_id": "triage-agent",
	"tenant_id": "tenant-acme",
	"principal_id": "user-42",
	"delegated_scope": "tickets:create",
})

_decided_by(who) := controls.stating(fixture.reading, "approval_route", {"decided_by": who, "delegate_id": null})

test_none_sound if {
	{_codes(doc, controls.bundles) | some doc in [fixture.reading, _delegated, _classified, _handed]} == {set()}
}

test_none_section_null if {
	doc := json.patch(fixture.reading, [
		{"op": "add", "path": "/evidence/approval_route", "value": null},
		{"op": "add", "path": "/evidence/classifier", "value": null},
		{"op": "add", "path": "/evidence/handoff", "value": null},
	])
	_codes(doc, controls.bare) == set()
}

test_none_empty_document if _codes({}, controls.bundles) == set()

test_none_no_call if _codes(fixture.put(_delegated, "/operation", "list_tools"), controls.bare) == set()

test_none_plain_call_without_controls if _codes(fixture.reading, controls.bare) == set()

test_without_controls_a_person_is_asked if {
	_codes(_delegated, controls.bare) == {
		"approval_route_not_allowed", "approval_delegate_not_allowed",
		"escalated_to_human",
	}
	_codes(_decided_by("human"), controls.bare) == set()
	_codes(_classified, controls.bare) == set()
	_codes(_handed, controls.bare) == {"handoff_not_allowed", "handoff_needs_approval", "escalated_to_human"}
}

# Every approval mode and every word of the host.
test_approval_mode_pairs if {[mode, who] |
	some mode in ["human_only", "human_or_delegate", "human_or_classifier", "human_delegate_or_classifier"]
	some who in ["human", "delegate", "classifier"]
	not "approval_route_not_allowed" in _codes(_decided_by(who), controls.having("approval_mode", mode))
} == {
	["human_only", "human"],
	["human_or_delegate", "human"],
	["human_or_delegate", "delegate"],
	["human_or_classifier", "human"],
	["human_or_classifier", "classifier"],
	["human_delegate_or_classifier", "human"],
	["human_delegate_or_classifier", "delegate"],
	["human_delegate_or_classifier", "classifier"],
}

test_route_unknown if _misses_of_route == set()

_misses_of_route := {[what, got] |
	some what, doc in fixture.broken(_delegated, "/evidence/approval_route/decided_by", array.concat(fixture.garbage, ["DELEGATE"]))
	got := _codes(doc, controls.bundles)
	got != {"approval_route_not_allowed", "classifier_refused"}
}

test_route_unreadable if _misses_of_section == set()

_misses_of_section := {[value, got] |
	some value in [true, false, 17, "garbage", [], {}]
	got := _codes(controls.stating(fixture.reading, "approval_route", value), controls.bundles)
	got != {"approval_route_not_allowed", "approval_delegate_not_allowed", "classifier_refused"}
}

test_delegate_broken if _misses_of_delegate == set()

_misses_of_delegate := {[path, what, got] |
	some path, values in {
		"/evidence/approval_route/delegate_id": array.concat(fixture.garbage, ["mira-manager", "OTTO-AUDITOR"]),
		"/identity/principal_id": array.concat(fixture.no_string, ["otto-auditor", " Otto-Auditor"]),
	}
	some what, doc in fixture.broken(_delegated, path, values)
	got := _codes(doc, controls.bundles)
	got != {"approval_delegate_not_allowed"}
}

# An agent stands in for nobody, be it a reviewer by name.
test_delegate_is_the_agent if {
	found := _codes_as(
		fixture.put(_delegated, "/agent/agent_id", "otto-auditor"), controls.bundles,
		{"otto-auditor": "triage"},
	)
	found == {"approval_delegate_not_allowed"}
}

test_control_missing if _misses_of_controls == set()

_misses_of_controls := {[name, what, got] |
	some name, owed in {
		"approval_mode": [_delegated, {"approval_route_not_allowed"}],
		"approval_delegate": [_delegated, {"approval_delegate_not_allowed"}],
		"classifier_verdict_policy": [
			fixture.put(_classified, "/evidence/classifier/verdict", "uncertain"),
			{"classifier_refused", "classifier_not_convinced"},
		],
		"escalate_to_human_if": [_delegated, {"escalated_to_human"}],
		"subagent_handoff_policy": [_handed, {"handoff_not_allowed", "handoff_needs_approval"}],
	}
	some what, bundles in controls.missing(name)
	got := _codes(owed[0], bundles)
	got != owed[1]
}

# What each policy does with each verdict about exactly this action.
test_classifier_policy_pairs if _policies == {
	"refuse_unless_allow": {"allow": set(), "uncertain": {"deny"}, "deny": {"deny"}},
	"escalate_unless_allow": {"allow": set(), "uncertain": {"require_approval"}, "deny": {"require_approval"}},
	"refuse_on_deny": {"allow": set(), "uncertain": set(), "deny": {"deny"}},
}

_policies := {policy: {word: verdicts |
	some word in ["allow", "uncertain", "deny"]
	doc := fixture.put(_classified, "/evidence/classifier/verdict", word)
	verdicts := {f.verdict | some f in _findings(doc, controls.having("classifier_verdict_policy", policy), fixture.bundle_of)}
} |
	some policy in ["refuse_unless_allow", "escalate_unless_allow", "refuse_on_deny"]
}

test_classifier_broken if _misses_of_classifier == set()

_misses_of_classifier := {[path, what, got] |
	some path, values in {
		"/evidence/classifier/verdict": array.concat(fixture.garbage, ["ALLOW"]),
		"/evidence/classifier/action_digest": fixture.garbage,
		"/digests": fixture.no_section,
	}
	some what, doc in fixture.broken(_classified, path, values)
	got := _codes(doc, controls.having("classifier_verdict_policy", "refuse_unless_allow"))
	got != {"classifier_refused"}
}

test_classifier_unreadable if _misses_of_verdict == set()

_misses_of_verdict := {[value, got] |
	some value in [true, false, 17, "garbage", [], {}]
	got := _codes(controls.stating(fixture.reading, "classifier", value), controls.bundles)
	got != {"classifier_refused"}
}

test_classifier_said_to_have_decided_without_verdict if {
	_codes(_decided_by("classifier"), controls.bundles) == {"classifier_refused"}
}

_situations := {
	"classifier_uncertain": fixture.put(_classified, "/evidence/classifier/verdict", "uncertain"),
	"delegate_decided": _delegated,
	"handed_off": _handed,
	"session_resumed": fixture.put(fixture.reading, "/operation", "resume_tool"),
	"worker_agent": fixture.put(fixture.reading, "/agent/role", "worker"),
}

test_each_escalation if _misses_of_escalation == set()

_misses_of_escalation := {[name, what, got] |
	some name, doc in _situations
	some what, bundles in fixture.broken(
		controls.bundles,
		concat("/", ["/triage/routing_controls/escalate_to_human_if", name]), [true, null, 0, "false"],
	)
	got := _codes(doc, bundles)
	got != {"escalated_to_human"}
}

test_none_escalated if {_codes(doc, controls.bundles) | some doc in _situations} == {set()}

test_handoff_broken if _misses_of_handoff == set()

_misses_of_handoff := {[path, what, got] |
	some path, values in {
		"/evidence/handoff/from_agent_id": fixture.no_string,
		"/evidence/handoff/to_agent_id": fixture.garbage,
		"/evidence/handoff/tenant_id": fixture.garbage,
		"/evidence/handoff/principal_id": array.concat(fixture.garbage, ["USER-42"]),
		"/evidence/handoff/delegated_scope": array.concat(fixture.garbage, ["tickets:*"]),
		"/identity": fixture.no_section,
	}
	some what, doc in fixture.broken(_handed, path, values)
	got := _codes(doc, controls.bundles)
	got != {"handoff_not_allowed"}
}

test_handoff_unreadable if _misses_of_handover == set()

_misses_of_handover := {[value, got] |
	some value in [true, false, 17, "garbage", [], {}]
	got := _codes(controls.stating(fixture.reading, "handoff", value), controls.bundles)
	got != {"handoff_not_allowed"}
}

test_handoff_policies if {
	_codes(_handed, controls.having("subagent_handoff_policy", "refuse")) == {"handoff_not_allowed"}
	_codes(_handed, controls.having("subagent_handoff_policy", "explicit_binding_and_approval")) == {"handoff_needs_approval"}
}

# A person who approved exactly this action has answered for all of it but what is refused outright.
test_none_approved_by_a_person if {
	doc := json.patch(fixture.ticket, [
		{"op": "add", "path": "/evidence/approval_route", "value": {"decided_by": "delegate", "delegate_id": "otto-auditor"}},
		{"op": "add", "path": "/evidence/handoff", "value": _handed.evidence.handoff},
	])
	bundles := json.patch(controls.bundles, [
		{"op": "remove", "path": "/triage/routing_controls/approval_mode"},
		{"op": "remove", "path": "/triage/routing_controls/approval_delegate"},
		{"op": "remove", "path": "/triage/routing_controls/escalate_to_human_if"},
		{
			"op": "add", "path": "/triage/routing_controls/subagent_handoff_policy",
			"value": "explicit_binding_and_approval",
		},
	])
	_codes(doc, bundles) == set()
	_codes(controls.unapproved(doc), bundles) == {
		"approval_route_not_allowed", "approval_delegate_not_allowed", "escalated_to_human",
		"handoff_needs_approval",
	}
}

_codes(doc, bundles) := _codes_as(doc, bundles, fixture.bundle_of)

_codes_as(doc, bundles, table) := {f.code | some f in _findings(doc, bundles, table)}

_findings(doc, bundles, table) := found if {
	found := routing.findings with input as doc
		with data.gate.agents.bundle_of as table
		with data.gate.bundles as bundles
}
