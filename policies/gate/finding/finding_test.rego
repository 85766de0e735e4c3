package gate.finding_test

import data.gate.finding

test_new_holds_its_five_arguments if {
	finding.new("a_code", "deny", "a.rule", "a.requirement", "a.yaml#/a") == {
		"code": "a_code",
		"verdict": "deny",
		"rule": "a.rule",
		"requirement": "a.requirement",
		"source": "a.yaml#/a",
	}
}

test_precedence_is_the_closed_set_strictest_first if {
	finding.precedence == [
		"deny", "continuity_validation_failed", "blocked_on_reconciliation", "require_approval",
		"reauthorization_required", "allow",
	]
}

test_verdicts_are_the_precedence_as_a_set if {
	finding.verdicts == {
		"deny", "continuity_validation_failed", "blocked_on_reconciliation", "require_approval",
		"reauthorization_required", "allow",
	}
}

test_strictest_of_every_pair_is_the_earlier_one if _wrong_pairs == set()

_wrong_pairs := {[a, b, got] |
	some i, a in finding.precedence
	some j, b in finding.precedence
	got := finding.strictest(_findings([a, b]))
	got != finding.precedence[min([i, j])]
}

test_deny_no_findings if finding.strictest(set()) == "deny"

test_deny_verdict_outside_the_set if _wrong_unknown == set()

_wrong_unknown := {[word, got] |
	some word in ["ALLOW", "Allow", "allow ", " allow", "permit", "", null, true, false, 0, 5, [], ["allow"], {}]
	got := finding.strictest(_findings(["allow", word]))
	got != "deny"
}

test_allow_only_allowing_findings if finding.strictest(_findings(["allow"])) == "allow"

test_rank_is_the_place_in_the_precedence if {
	[finding.rank(v) | some v in finding.precedence] == [0, 1, 2, 3, 4, 5]
}

test_rank_unknown_is_deny if finding.rank("surprise") == 0

test_remedy_of_a_known_code if finding.remedy("approval_missing") == "no stored approval for this action; a reviewer must approve it"

test_remedy_of_an_unlisted_code_is_empty if finding.remedy("somebody_elses_code") == ""

test_remedies_never_blank if {r | some r in finding.remedies; trim_space(r) == ""} == set()

test_identity_codes_are_the_four_mismatches if {
	finding.identity_codes == {"tenant_mismatch", "principal_mismatch", "agent_mismatch", "session_mismatch"}
}

_findings(verdicts) := {finding.new("code", verdict, "", "", "") | some verdict in verdicts}
