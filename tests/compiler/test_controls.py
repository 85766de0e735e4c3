"""Control checkpoints and `when`: what linking refuses, and what the compiled rules decide."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import compiler_support as support
import pytest

from gate.compiler import compile_bundle
from gate.errors import BundleError

CONTROL = """\
  - checkpoint: {checkpoint}
    policy_requirement: {name}
    applies_to: {applies_to}
    predicate: {predicate}
    action: {action}
{extra}    control_version: "1.0"
    eval_case_id: some_case
    audit_fields: [checkpoint, predicate_result, unknown_operands]
"""
ARTIFACTS = ("bundle.yaml", "reviewers.yaml]", "reviewers.yaml, checkpoints.yaml]")


def control(
    predicate: str = "timeout_seconds > 1",
    *,
    name: str = "a_requirement",
    checkpoint: str = "tool_execution",
    applies_to: str = "[search_docs]",
    action: str = "deny",
    extra: str = "",
) -> str:
    quoted = json.dumps(predicate)
    return CONTROL.format(
        checkpoint=checkpoint, name=name, applies_to=applies_to, predicate=quoted, action=action, extra=extra
    )


def bundle(folder: Path, *controls: str, edits: tuple[tuple[str, str, str], ...] = ()) -> Path:
    documents = support.edited(ARTIFACTS, *edits)
    documents["checkpoints.yaml"] = "control_checkpoints:\n" + "".join(controls)
    return support.put(folder / "triage", documents)


REFUSED = [
    ((control(), control()), "control_duplicate", 11),
    ((control(applies_to='["*", search_docs]'),), "control_applies_to_mixed", 4),
    ((control(applies_to="[nobody]"),), "control_capability_unknown", 4),
    ((control("exists request.text", checkpoint="llm", applies_to="[search_docs]"),), "control_never_fires", 4),
    ((control(extra="    operations: [emit]\n"),), "control_operation_unknown", 7),
    ((control(action="redact"),), "control_redact_mismatch", 6),
    ((control(extra="    redact: [/query]\n"),), "control_redact_mismatch", 6),
    (
        (
            control(
                "exists request.text",
                checkpoint="input",
                applies_to='["*"]',
                action="redact",
                extra="    redact: [/a]\n",
            ),
        ),
        "control_redact_misplaced",
        6,
    ),
    ((control(action="require_approval", applies_to="[run_read]"),), "control_capability_unknown", 4),
    (
        (control("exists request.text", checkpoint="output", applies_to="[create_ticket]", action="require_approval"),),
        "control_approval_misplaced",
        6,
    ),
    ((control('risk_tier == "x"', checkpoint="output", applies_to='["*"]'),), "predicate_value_undeclared", 5),
    ((control('risk_tier == "low"', checkpoint="output", applies_to='["*"]'),), "predicate_name_unknown", 5),
]


@pytest.mark.parametrize(("controls", "code", "line"), REFUSED, ids=[r[1] for r in REFUSED])
def test_control_is_refused_with_code_and_line(tmp_path: Path, controls: tuple[str, ...], code: str, line: int) -> None:
    folder = bundle(tmp_path, *controls)
    with pytest.raises(BundleError) as caught:
        compile_bundle(folder)
    assert [(p.code, Path(p.file).name, p.line) for p in caught.value.problems] == [(code, "checkpoints.yaml", line)]


def test_predicate_problem_points_into_the_predicate(tmp_path: Path) -> None:
    folder = bundle(tmp_path, control("timeout_seconds > 1 and risk_tier"))
    with pytest.raises(BundleError) as caught:
        compile_bundle(folder)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (5, 16 + len("timeout_seconds > 1 and "))
    assert problem.message.endswith("(character 25 of the predicate)")


def test_when_of_a_denied_capability_is_refused(tmp_path: Path) -> None:
    edit = (
        "policy.yaml",
        "run_shell:\n      decision: deny",
        "run_shell:\n      decision: deny\n      when: exists request.text",
    )
    with pytest.raises(BundleError) as caught:
        compile_bundle(bundle(tmp_path, control(), edits=(edit,)))
    assert [p.code for p in caught.value.problems] == ["when_without_permit"]


def decide(folder: Path, arguments: Any, **request: Any) -> Any:
    compiled = compile_bundle(folder)
    document = support.call(compiled, "search_docs")
    asked = {"capability": "search_docs", "arguments": arguments, **request}
    point = support.point_of(compiled)
    return point.decide(copy.deepcopy({**document, "request": asked})).decision


SEARCH = ("capabilities.yaml", "query: {type: string, description: what to look for}", "{}")


def searching(properties: str) -> tuple[str, str, str]:
    return (*SEARCH[:2], properties)


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        ({"region": "eu"}, "allow"),
        ({"region": "us"}, "deny"),
        ({}, "deny"),
        ({"region": None}, "deny"),
        (None, "deny"),
        ([], "deny"),
        ({"region": ["eu"]}, "deny"),
        ({"region": "EU"}, "deny"),
    ],
)
def test_e2_not_in_fires_when_the_field_or_its_parent_is_missing(tmp_path: Path, arguments: Any, verdict: str) -> None:
    folder = bundle(
        tmp_path,
        control('not (arguments.region in ["eu"])', name="region_not_allowed"),
        edits=(searching("query: {type: string}\n        region: {type: string}"),),
    )
    decision = decide(folder, arguments)
    assert str(decision.verdict) == verdict
    assert decision.codes == (
        ("configured_allow",) if verdict == "allow" else ("configured_allow", "region_not_allowed")
    )


@pytest.mark.parametrize("amount", [None, True, False, "9", [1], {}, 500, 499.99999999999999999])
def test_e3_wrong_types_and_the_bound_do_not_permit(tmp_path: Path, amount: Any) -> None:
    # The last one is 500.0 as a double: it is not below 500.
    assert decide(_cheap(tmp_path), {"amount": amount}).codes == ("no_rule_permits",)


@pytest.mark.parametrize("amount", [-1, 0, 499, 499.9999999999999])
def test_e3_numbers_below_the_bound_permit(tmp_path: Path, amount: float) -> None:
    assert decide(_cheap(tmp_path), {"amount": amount}).codes == ("configured_allow",)


def _cheap(folder: Path) -> Path:
    return bundle(
        folder,
        control("timeout_seconds > 100"),
        edits=(
            searching("query: {type: string}\n        amount: {type: number}"),
            (
                "policy.yaml",
                "search_docs:\n      decision: allow",
                "search_docs:\n      decision: allow\n      when: arguments.amount < 500",
            ),
        ),
    )


@pytest.mark.parametrize(
    ("command", "permitted"),
    [
        ("git log", True),
        ("git log --oneline", True),
        ("git log; rm -rf /", False),
        ("git log\nrm -rf /", False),
        ("git log | sh", False),
        ("git log $(rm x)", False),
        ("git log `rm x`", False),
        ("git log & rm x", False),
        ("git log > ~/.bashrc", False),
        ("git log\n", False),
        ("xgit log", False),
    ],
)
def test_d1_a_permitted_command_does_not_carry_another(tmp_path: Path, command: str, permitted: bool) -> None:
    when = """search_docs:
      decision: allow
      when: arguments.command matches "^git log( [a-z0-9=-]+)*$\""""
    folder = bundle(
        tmp_path,
        control("timeout_seconds > 100"),
        edits=(
            searching("query: {type: string}\n        command: {type: string}"),
            ("policy.yaml", "search_docs:\n      decision: allow", when),
        ),
    )
    assert decide(folder, {"command": command}).allowed is permitted


def test_audit_says_which_operand_was_unknown(tmp_path: Path) -> None:
    folder = bundle(
        tmp_path,
        control('arguments.region != "eu" and timeout_seconds > 1', name="region_not_eu"),
        edits=(searching("query: {type: string}\n        region: {type: string}"),),
    )
    decision = decide(folder, {"region": 7})
    assert decision.audit["controls"] == [
        {
            "checkpoint": "tool_execution",
            "policy_requirement": "region_not_eu",
            "predicate_result": "unknown",
            "unknown_operands": ["arguments.region"],
        }
    ]


def test_warning_is_advice_and_changes_no_verdict(tmp_path: Path) -> None:
    decision = decide(bundle(tmp_path, control(action="warn")), {"query": "x"})
    assert decision.allowed
    assert [a["code"] for a in decision.advice] == ["a_requirement"]


def test_control_of_every_capability_leaves_listing_alone(tmp_path: Path) -> None:
    folder = bundle(tmp_path, control(applies_to='["*"]'), edits=(("policy.yaml", "emit: allow", "list_tools: allow"),))
    compiled = compile_bundle(folder)
    point = support.point_of(compiled)
    document = support.call(compiled, "search_docs")
    listing = {**document, "operation": "list_tools", "request": {}}
    assert point.decide(listing).decision.codes == ("operation_allowed",)
    assert "a_requirement" in point.decide(document).decision.codes


def test_b9_an_approval_asked_for_on_a_condition_is_asked_for_only_then(tmp_path: Path) -> None:
    # The policy allows the ticket; the control wants an approval of long titles alone.
    folder = bundle(
        tmp_path,
        control(
            'arguments.title matches "^.{20,}$"',
            name="long_title",
            applies_to="[create_ticket]",
            action="require_approval",
        ),
        edits=(
            (
                "policy.yaml",
                "create_ticket:\n      decision: approval_required\n      approver: manager",
                "create_ticket:\n      decision: allow",
            ),
            ("capabilities.yaml", "approval: manager", "approval: none"),
        ),
    )
    compiled = compile_bundle(folder)
    point = support.point_of(compiled)
    short, long = (_ticket(compiled, title) for title in ("short", "x" * 20))
    assert point.decide(short).decision.codes == ("configured_allow",)
    assert [o["type"] for o in point.decide(short).decision.obligations] == ["claim_effect"]
    asked = point.decide(long).decision
    assert (str(asked.verdict), asked.codes) == (
        "require_approval",
        ("approval_missing", "configured_allow", "long_title"),
    )
    assert asked.obligation("request_approval") is not None
    rejected = {**long, "state": {**long["state"], "rejection": {"approval_id": "apr-1", "intent_digest": "sha256:x"}}}
    assert "approval_rejected" in point.decide(rejected).decision.codes
    # The title was shortened after the rejection of the same intent: the rejection stands (B9).
    shortened = {**rejected, "request": short["request"]}
    assert str(point.decide(shortened).decision.verdict) == "deny"


def _ticket(compiled: Any, title: str) -> dict[str, Any]:
    document = support.call(compiled, "create_ticket")
    document["request"] |= {"arguments": {"queue": "support", "title": title}, "idempotency_key": "k", "reason": "r"}
    document["evidence"]["arguments"]["identified"] = True
    document["state"] |= {
        "approval": None,
        "side_effect": {"status": "not_started"},
        "idempotency": {"idempotency_key": None, "action_digest": None},
    }
    return document


@pytest.mark.parametrize(
    ("edits", "codes"),
    [
        (
            (("policy.yaml", "decision: approval_required\n      approver: manager", "decision: allow"),),
            ["approval_bypassed"],
        ),
        (
            (
                ("policy.yaml", "decision: approval_required\n      approver: manager", "decision: allow"),
                ("capabilities.yaml", "approval: manager", "approval: none"),
            ),
            ["contract_unused"],
        ),
    ],
)
def test_an_approval_nobody_asks_for_is_refused(tmp_path: Path, edits: Any, codes: list[str]) -> None:
    with pytest.raises(BundleError) as caught:
        compile_bundle(bundle(tmp_path, control(), edits=edits))
    assert [p.code for p in caught.value.problems] == codes


def test_when_holds_for_a_resume_too(tmp_path: Path) -> None:
    when = "search_docs:\n      decision: allow\n      when: arguments.amount < 500"
    folder = bundle(
        tmp_path,
        control("timeout_seconds > 100"),
        edits=(
            searching("query: {type: string}\n        amount: {type: number}"),
            ("policy.yaml", "search_docs:\n      decision: allow", when),
            ("policy.yaml", "    emit: allow\n", "    emit: allow\n    resume_tool: allow\n"),
        ),
    )
    compiled = compile_bundle(folder)
    document = {**support.call(compiled, "search_docs"), "operation": "resume_tool"}
    point = support.point_of(compiled)
    codes = {}
    for amount in (499, 500, None):
        document["request"] = {**document["request"], "arguments": {"amount": amount}}
        codes[amount] = "when_not_met" in point.decide(document).decision.codes
    assert codes == {499: False, 500: True, None: True}


JUDGED = """\
  - checkpoint: tool_execution
    policy_requirement: verified_by_a_judge
    applies_to: [search_docs]
    judge: quality-verifier-v2
    action: deny
    control_version: "1.0"
    eval_case_id: some_case
    audit_fields: [predicate_result, unknown_operands]
"""
TRUSTED = """\
runtime_controls:
  verifiers:
    trusted_verifier_contracts: [quality-verifier-v2]
    verifier_contract_required_for_high_risk: false
    on_untrusted_verifier_contract: deny
"""
WITH_RUNTIME = ("bundle.yaml", "reviewers.yaml]", "reviewers.yaml, checkpoints.yaml, runtime-controls.yaml]")


def judged(folder: Path, text: str = JUDGED, runtime: str = TRUSTED) -> Path:
    documents = {**support.edited(WITH_RUNTIME), "checkpoints.yaml": "control_checkpoints:\n" + text}
    return support.put(folder / "triage", {**documents, "runtime-controls.yaml": runtime})


@pytest.mark.parametrize(
    ("verifier", "fires"),
    [
        ({"contract": "quality-verifier-v2", "verdict": "passed"}, False),
        ({"contract": "quality-verifier-v2", "verdict": "failed"}, True),
        ({"contract": "quality-verifier-v2", "verdict": None}, True),
        ({"contract": "quality-verifier-v2"}, True),
        ({"contract": "another-verifier", "verdict": "passed"}, True),
        ({"contract": None, "verdict": "passed"}, True),
        (None, True),
    ],
)
def test_judge_lets_pass_only_what_its_verifier_passed(tmp_path: Path, verifier: Any, fires: bool) -> None:
    compiled = compile_bundle(judged(tmp_path))
    document = support.call(compiled, "search_docs")
    digest = {"action_digest": document["digests"]["action_digest"]}
    document["evidence"]["verifier"] = None if verifier is None else {**verifier, **digest}
    decision = support.point_of(compiled).decide(document).decision
    assert ("verified_by_a_judge" in decision.codes) is fires


def test_judge_of_another_action_lets_nothing_pass(tmp_path: Path) -> None:
    compiled = compile_bundle(judged(tmp_path))
    document = support.call(compiled, "search_docs")
    passed = {"contract": "quality-verifier-v2", "verdict": "passed", "action_digest": "sha256:" + "9" * 64}
    document["evidence"]["verifier"] = passed
    assert "verified_by_a_judge" in support.point_of(compiled).decide(document).decision.codes


@pytest.mark.parametrize(
    ("text", "runtime", "code"),
    [
        (JUDGED, TRUSTED.replace("quality-verifier-v2", "another-verifier"), "judge_contract_untrusted"),
        (JUDGED.replace("    judge: quality-verifier-v2\n", ""), TRUSTED, "control_predicate_or_judge"),
        (
            JUDGED.replace("    judge:", "    predicate: timeout_seconds > 1\n    judge:"),
            TRUSTED,
            "control_predicate_or_judge",
        ),
        (
            JUDGED.replace("checkpoint: tool_execution", "checkpoint: output"),
            TRUSTED,
            "control_judge_misplaced",
        ),
    ],
)
def test_judge_is_refused_with_its_code(tmp_path: Path, text: str, runtime: str, code: str) -> None:
    with pytest.raises(BundleError) as caught:
        compile_bundle(judged(tmp_path, text, runtime))
    assert [p.code for p in caught.value.problems] == [code]
