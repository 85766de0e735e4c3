package gate.verdict_test

import data.gate.finding
import data.gate.fixture_test as fixture
import data.gate.verdict

test_allow_sound if _view(fixture.reading, {fixture.permit}) == {
	"verdict": "allow",
	"codes": ["configured_allow"],
	"flags": set(),
}

test_deny_nothing_permits if _view(fixture.reading, set()) == {
	"verdict": "deny",
	"codes": ["no_rule_permits"],
	"flags": set(),
}

# A refusal already says why.
test_deny_refused_and_nothing_permits if {
	_view(fixture.reading, {finding.new("configured_deny", "deny", "r", "q", "s")}) == {
		"verdict": "deny",
		"codes": ["configured_deny"],
		"flags": set(),
	}
}

test_deny_restricted_and_nothing_permits if _misses_of_unpermitted == set()

_misses_of_unpermitted := {[word, got] |
	some word in array.slice(finding.precedence, 1, 5)
	view := _view(fixture.reading, {finding.new("restricts", word, "r", "q", "s")})
	got := [view.verdict, view.codes]
	got != ["deny", ["no_rule_permits", "restricts"]]
}

# Every pair of verdicts beside a permit: the stricter one wins, and both are told.
test_strictest_wins_every_pair if _misses_of_pairs == set()

_misses_of_pairs := {[a, b, got] |
	some i, a in finding.precedence
	some j, b in finding.precedence
	findings := {
		fixture.permit,
		finding.new("code_a", a, "r", "q", "s"),
		finding.new("code_b", b, "r", "q", "s"),
	}
	view := _view(fixture.reading, findings)
	got := [view.verdict, view.codes]
	got != [finding.precedence[min([i, j])], ["code_a", "code_b", "configured_allow"]]
}

test_deny_unknown_verdict_beside_a_permit if _misses_of_unknown == set()

_misses_of_unknown := {[word, got] |
	some word in ["ALLOW", "Allow", "allow ", "permit", "block", "", null, true, false, 0, 5, [], ["allow"], {}]
	view := _view(fixture.reading, {fixture.permit, finding.new("surprise", word, "r", "q", "s")})
	got := [view.verdict, view.codes]
	got != ["deny", ["configured_allow", "finding_malformed"]]
}

# What the constructor did not make is a refusal, whatever it says: nothing of it is shown, and nothing of it permits.
test_deny_malformed_finding_beside_a_permit if _misses_of_malformed == set()

_misses_of_malformed := {[f, got] |
	some f in _malformed
	view := _view(fixture.reading, {fixture.permit, f})
	got := [view.verdict, view.codes]
	got != ["deny", ["configured_allow", "finding_malformed"]]
}

test_deny_malformed_finding_alone if _misses_of_malformed_alone == set()

_misses_of_malformed_alone := {[f, got] |
	some f in _malformed
	view := _view(fixture.reading, {f})
	got := [view.verdict, view.codes]
	got != ["deny", ["finding_malformed"]]
}

_malformed := ({"a string", null, true, 5, ["deny"], {}, []} | {f |
	some verdict in ["deny", "allow"]
	sound := finding.new("x", verdict, "r", "q", "s")
	some field in ["code", "verdict", "rule", "requirement", "source"]
	some _, f in fixture.broken(sound, concat("/", ["", field]), fixture.no_string)
}) | {f |
	some extra in ["extra", "remedy", "Code", ""]
	f := object.union(fixture.permit, {extra: "1"})
}

test_deny_malformed_findings_are_one_reason if {
	_reasons(fixture.reading, {fixture.permit, {}, "deny", {"verdict": "allow"}}) == [
		object.union(fixture.permit, {"remedy": ""}),
		{
			"code": "finding_malformed",
			"verdict": "deny",
			"rule": "gate.verdict",
			"requirement": "",
			"source": "",
			"remedy": "a rule raised something that is not a finding; compile the bundle again",
		},
	]
}

# A stranger learns nothing of the bundle's faults, and no half a finding makes one.
test_deny_malformed_finding_is_hidden_from_a_stranger if {
	stranger := fixture.put(fixture.reading, "/identity/tenant_id", "tenant-other")
	_view(stranger, {fixture.permit, "deny"}) == {
		"verdict": "deny",
		"codes": ["tenant_mismatch"],
		"flags": {"stranger"},
	}
}

test_deny_malformed_mismatch_makes_no_stranger if {
	_view(fixture.reading, {fixture.permit, {"code": "tenant_mismatch", "verdict": "deny"}}) == {
		"verdict": "deny",
		"codes": ["configured_allow", "finding_malformed"],
		"flags": set(),
	}
}

# Only the run guard says who is a stranger: what the bundle raises under such a name hides nothing.
test_deny_finding_named_like_a_mismatch_hides_nothing if _misses_of_named == set()

_misses_of_named := {[code, word, got] |
	some code in finding.identity_codes
	some word in finding.precedence
	stopped := fixture.put(fixture.reading, "/state/run/status", "stopped")
	got := _view(stopped, {finding.new(code, word, "r", "q", "s"), fixture.permit})
	got != {"verdict": "deny", "codes": sort([code, "configured_allow", "run_not_running"]), "flags": set()}
}

test_deny_demand_named_like_a_mismatch_hides_nothing if _misses_of_demanded == set()

_misses_of_demanded := {[code, got] |
	some code in finding.identity_codes
	refused := finding.new("configured_deny", "deny", "r", "q", "s")
	got := _view_in(
		fixture.put(fixture.ticket, "/state/approval", null),
		object.union(fixture.bundles, {"triage": {
			"demands": {finding.new(code, "require_approval", "control.tool_execution", "c", "s")},
			"findings": {fixture.permit, refused},
		}}),
	)
	got != {
		"verdict": "deny",
		"codes": sort(["approval_missing", code, "configured_allow", "configured_deny"]),
		"flags": set(),
	}
}

# Two rules may find the same and ask for different verdicts: both are told.
test_reasons_differ_by_verdict_alone if {
	pair := {finding.new("x", "deny", "r", "q", "s"), finding.new("x", "require_approval", "r", "q", "s")}
	[reason.verdict | some reason in _reasons(fixture.reading, pair)] == ["deny", "require_approval"]
}

# Any one mismatch hides every other finding, the bundle's included.
test_deny_identity_hides_everything_else if _misses_of_identity == set()

_misses_of_identity := {[path, got] |
	some path, code in {
		"/state/run/tenant_id": "tenant_mismatch",
		"/state/run/principal_id": "principal_mismatch",
		"/state/run/agent_id": "agent_mismatch",
		"/state/run/session_id": "session_mismatch",
	}
	doc := fixture.put(fixture.put(fixture.ticket, "/state/side_effect/status", "side_effect_unknown"), path, "another")
	got := _view(doc, {fixture.permit, finding.new("configured_deny", "deny", "r", "q", "s")})
	got != {"verdict": "deny", "codes": [code], "flags": {"stranger"}}
}

test_deny_empty_document_learns_only_that_it_is_a_stranger if _view({}, {fixture.permit}) == {
	"verdict": "deny",
	"codes": ["agent_mismatch", "principal_mismatch", "session_mismatch", "tenant_mismatch"],
	"flags": {"stranger"},
}

test_reasons_sorted_and_complete if {
	findings := {
		finding.new("b_code", "deny", "r2", "q", "s"),
		finding.new("b_code", "require_approval", "r1", "q", "s"),
		finding.new("approval_missing", "require_approval", "r", "q", "s"),
	}
	_reasons(fixture.reading, findings) == [
		{
			"code": "approval_missing",
			"verdict": "require_approval",
			"rule": "r",
			"requirement": "q",
			"source": "s",
			"remedy": "no stored approval for this action; a reviewer must approve it",
		},
		{"code": "b_code", "verdict": "require_approval", "rule": "r1", "requirement": "q", "source": "s", "remedy": ""},
		{"code": "b_code", "verdict": "deny", "rule": "r2", "requirement": "q", "source": "s", "remedy": ""},
	]
}

# Whatever any guard raises reaches the reasons.
test_every_guard_is_heard if _misses_of_guards == set()

_misses_of_guards := {[name, got] |
	some name, heard in {
		"identity": [fixture.without(fixture.reading, "/request_id"), ["configured_allow", "request_id_missing"]],
		"run": [fixture.put(fixture.reading, "/state/run/status", "paused"), ["configured_allow", "run_not_running"]],
		"router": [
			fixture.put(fixture.put(fixture.reading, "/agent/agent_id", "other"), "/state/run/agent_id", "other"),
			["agent_not_governed", "capability_unknown"],
		],
		"capability": [
			fixture.put(fixture.reading, "/state/versions/bundle_version", "0"),
			["configured_allow", "facts_stale"],
		],
		"operation": [
			object.union(fixture.reading, {"checkpoint": "state", "operation": "memory_write"}),
			["configured_allow", "memory_kind_denied"],
		],
		"effect": [
			fixture.put(fixture.ticket, "/state/side_effect/status", "side_effect_unknown"),
			["configured_allow", "unknown_side_effect"],
		],
		"approval": [
			fixture.put(fixture.ticket, "/state/approval", null),
			["approval_missing", "configured_allow"],
		],
		"transition": [
			fixture.put(fixture.voting, "/state/approval/status", "approved"),
			["configured_allow", "transition_not_allowed"],
		],
	}
	got := _view(heard[0], {fixture.permit}).codes
	got != heard[1]
}

_view(doc, findings) := _view_in(doc, fixture.put(fixture.bundles, "/triage/findings", findings))

_view_in(doc, bundles) := view if {
	view := _whole_view with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as bundles
}

_whole_view := {
	"verdict": verdict.verdict,
	"codes": [r.code | some r in verdict.reasons],
	"flags": {"stranger" | verdict.stranger},
}

_reasons(doc, findings) := reasons if {
	reasons := verdict.reasons with input as doc
		with data.gate.agents.bundle_of as fixture.bundle_of
		with data.gate.bundles as fixture.put(fixture.bundles, "/triage/findings", findings)
}
