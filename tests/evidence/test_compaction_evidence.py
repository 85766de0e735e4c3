from __future__ import annotations

import pytest

from gate.documents.compaction import rule_digest
from gate.evidence import Identity, Run
from gate.evidence.compaction import MAX_STATED, CompactionSource, StatedRule, stated_rules
from gate.evidence.source import Question
from gate.pdp import Facts

RUN = Run(
    agent_id="agent",
    session_id="session",
    run_id="run-1",
    trace_id="trace",
    identity=Identity(tenant_id="tenant", principal_id="user"),
)


def question() -> Question:
    facts = Facts(
        revision="r", bundle=None, capabilities={}, contracts={}, show_arguments={}, reviewers={}, evidence={}
    )
    return Question(run=RUN, checkpoint="tool_execution", operation="call_tool", now_ms=1, facts=facts)


def source(text: str | None) -> CompactionSource:
    return CompactionSource(
        model="model-1",
        harness="harness-1",
        compactor="custom",
        compactor_version="typed@1",
        model_input=lambda run: text if run.run_id == "run-1" else None,
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ()),
        ("Refunds above 100.00 belong to a manager.", ()),
        ("[rule-a @ pay] Never.", (StatedRule("rule-a", ("pay",), "Never."),)),
        ("said: [rule-a @ pay] Never.", (StatedRule("rule-a", ("pay",), "Never."),)),
        ("[rule-a @ b,a] Never.\nMore.", (StatedRule("rule-a", ("a", "b"), "Never."),)),
        (
            "[rule-a @ pay] Never. [rule-b @ pay] Always.",
            (StatedRule("rule-a", ("pay",), "Never."), StatedRule("rule-b", ("pay",), "Always.")),
        ),
        ("[rule-a @ ] Never.", (StatedRule("rule-a", (), "Never."),)),
        ("[rule-a] Never.", ()),
        ("[Rule A @ pay] Never.", ()),
        ("[rule-a @ pay Never.", ()),
        ("[规则 @ pay] 不得。", ()),
        ("[rule-a @ pay]", (StatedRule("rule-a", ("pay",), ""),)),
    ],
)
def test_stated_rules_are_what_stands_behind_a_mark(text: str, found: tuple[StatedRule, ...]) -> None:
    assert stated_rules(text) == found


def test_section_holds_digests_and_no_text() -> None:
    section = source("[rule-a @ pay]  Never \t pay. ").collect(question())

    assert section == {
        "model": "model-1",
        "harness": "harness-1",
        "compactor": "custom",
        "compactor_version": "typed@1",
        "rules": [{"rule_id": "rule-a", "scope": ["pay"], "digest": rule_digest("Never pay.")}],
    }


@pytest.mark.parametrize("text", [None, "\n".join(["[rule-a @ pay] Never."] * (MAX_STATED + 1))])
def test_section_states_no_rules_when_the_input_is_unknown_or_flooded(text: str | None) -> None:
    section = source(text).collect(question())

    assert section is not None
    assert section["rules"] is None
