from __future__ import annotations

from typing import Any

import pytest

from gate.lab.compaction.compactor import (
    CompactedContext,
    CompactionError,
    ContextItem,
    ContextView,
    estimate_tokens,
    read_reply,
    text_of,
)

RULE = ContextItem(
    item_id="rule-a",
    kind="rule",
    text="Never.",
    lane="exact",
    rule_id="rule-a",
    scope=("pay", "send"),
    authority="policy",
)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("退款", 2), ("ab退款", 3), ("a" * 400, 100)]
)
def test_estimate_counts_a_quarter_of_ascii_and_each_other_character(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_line_of_a_rule_carries_its_id_and_scope_and_that_of_talk_does_not() -> None:
    talk = ContextItem(item_id="t", kind="user", text="Hello.")

    assert text_of((RULE, talk)) == "[rule-a @ pay,send] Never.\nHello."


def test_item_survives_its_json() -> None:
    assert ContextItem.from_json(RULE.as_json()) == RULE


def test_view_is_sent_with_round_and_budget() -> None:
    view = ContextView(items=(RULE,), round=3)

    assert view.as_json(900) == {"round": 3, "budget_tokens": 900, "items": [RULE.as_json()]}
    assert view.tokens == RULE.tokens


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("item_id", None),
        ("item_id", 7),
        ("kind", "law"),
        ("kind", ["rule"]),
        ("text", None),
        ("lane", "golden"),
        ("rule_id", 7),
        ("scope", "pay"),
        ("scope", [7]),
        ("authority", None),
    ],
)
def test_item_with_one_field_of_another_form_is_refused(field: str, value: Any) -> None:
    with pytest.raises(CompactionError, match="not in its form"):
        ContextItem.from_json({**RULE.as_json(), field: value})


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "{",
        "[]",
        "null",
        '{"items": {}}',
        '{"items": [7]}',
        '{"items": [], "opaque": "yes"}',
        '{"items": [], "paused": 1}',
        '{"items": [], "notes": {"a": 1}}',
    ],
)
def test_reply_that_is_no_compacted_context_is_refused(reply: str) -> None:
    with pytest.raises(CompactionError) as found:
        read_reply(reply)

    assert found.value.code == "compaction_malformed"


def test_reply_with_everything_is_read() -> None:
    assert read_reply('{"items": [], "opaque": true, "paused": true, "notes": {"who": "me"}}') == CompactedContext(
        items=(), opaque=True, paused=True, notes={"who": "me"}
    )
