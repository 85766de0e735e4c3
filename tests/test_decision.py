from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gate.decision import EXIT_BY_VERDICT, ActionBlocked, Decision, Reason, Verdict
from gate.errors import GateError, PdpError


def result(verdict: str = "allow", **changes: Any) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "reasons": [
            {
                "code": "configured_allow",
                "verdict": verdict,
                "rule": "cap_110",
                "requirement": "capabilities.search_docs",
                "source": "policy.yaml#/policy/capabilities/search_docs",
                "remedy": "",
            }
        ],
        "obligations": [{"type": "claim_effect", "lease_seconds": 15}],
        "advice": [],
        "audit": {"request_id": "r-1"},
        **changes,
    }


def decided(verdict: Verdict) -> Decision:
    return Decision.from_result(result(str(verdict)), revision="b@1+aa")


def test_verdicts_are_the_closed_set_strictest_first() -> None:
    assert [str(v) for v in Verdict] == [
        "deny",
        "continuity_validation_failed",
        "blocked_on_reconciliation",
        "require_approval",
        "reauthorization_required",
        "allow",
    ]


def test_of_the_verdicts_only_allow_exits_zero_and_each_has_an_exit_code() -> None:
    assert {v: decided(v).exit_code for v in Verdict} == {
        Verdict.DENY: 3,
        Verdict.CONTINUITY_VALIDATION_FAILED: 3,
        Verdict.BLOCKED_ON_RECONCILIATION: 3,
        Verdict.REQUIRE_APPROVAL: 4,
        Verdict.REAUTHORIZATION_REQUIRED: 4,
        Verdict.ALLOW: 0,
    }
    assert EXIT_BY_VERDICT.keys() == set(Verdict)


def test_only_a_decided_allow_is_allowed() -> None:
    assert [v for v in Verdict if decided(v).allowed] == [Verdict.ALLOW]


def test_allow_that_was_not_decided_is_not_allowed_and_does_not_exit_zero() -> None:
    forged = dataclasses.replace(decided(Verdict.ALLOW), decided=False)
    assert (forged.allowed, forged.exit_code) == (False, 1)
    with pytest.raises(ActionBlocked):
        forged.enforce()


def test_undecided_is_a_deny_with_the_code_of_the_error() -> None:
    error = PdpError("the decision point did not answer in time", code="pdp_timeout", hint="try again")
    decision = Decision.undecided(error, audit={"request_id": "r-1"})
    assert decision == Decision(
        verdict=Verdict.DENY,
        reasons=(Reason("pdp_timeout", Verdict.DENY, "gate.enforcement", "", "", "try again"),),
        audit={"request_id": "r-1"},
        revision="",
        decided=False,
    )
    assert (decision.allowed, decision.exit_code, decision.codes) == (False, 1, ("pdp_timeout",))


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.ALLOW])
def test_enforce_raises_for_every_verdict_but_allow_and_carries_the_decision(verdict: Verdict) -> None:
    decision = decided(verdict)
    with pytest.raises(ActionBlocked, match=f"^{verdict}: configured_allow$") as caught:
        decision.enforce()
    assert (caught.value.decision, caught.value.exit_code, caught.value.approval_id) == (
        decision,
        decision.exit_code,
        None,
    )


def test_enforce_lets_a_decided_allow_pass() -> None:
    decision = decided(Verdict.ALLOW)
    assert decision.enforce() is decision


def test_blocked_action_without_reasons_says_so() -> None:
    assert str(ActionBlocked(Decision(Verdict.DENY, ()))) == "deny: no reason given"


@pytest.mark.parametrize("word", ["ALLOW", "allowed", "", "permit", "authorized_by_summary", "allow "])
def test_verdict_outside_the_closed_set_becomes_no_decision(word: str) -> None:
    with pytest.raises(ValueError, match="is not a valid Verdict"):
        Decision.from_result(result(word), revision="b@1+aa")
    inner = {**result()["reasons"][0], "verdict": word}
    with pytest.raises(ValueError, match="is not a valid Verdict"):
        Decision.from_result(result(reasons=[inner]), revision="b@1+aa")


def test_decision_writes_out_the_result_it_was_made_of() -> None:
    assert decided(Verdict.ALLOW).as_dict() == result()


def test_obligation_is_the_first_of_its_type_or_none() -> None:
    decision = Decision.from_result(
        result(obligations=[{"type": "redact"}, {"type": "reconcile", "n": 1}, {"type": "reconcile", "n": 2}]),
        revision="b@1+aa",
    )
    assert decision.obligation("reconcile") == {"type": "reconcile", "n": 1}
    assert decision.obligation("claim_effect") is None


def test_blocked_action_is_an_error_of_the_gate() -> None:
    assert issubclass(ActionBlocked, GateError)
