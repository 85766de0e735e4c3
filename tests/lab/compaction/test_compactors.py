from __future__ import annotations

import pytest
from compactor_support import ASK, CONTEXT, FACT, NOISE, PENDING, RULE, RULE_ZH, STEPS, TASK, after_rounds, ids

from gate.errors import InputError
from gate.lab.compaction.compactor import Compactor, ContextItem, ContextView
from gate.lab.compaction.compactors import (
    DropRule,
    EvictByNoise,
    InjectConsent,
    NoCompaction,
    ParagraphSummary,
    Paraphrase,
    Pinned,
    SlidingWindow,
    Structured,
    Truncate,
    chosen,
    shipped,
)

BUDGET = 320
RULES = {"r1", "r2", "p1"}

NAMES = [
    *("none", "truncate", "sliding-window", "paragraph-summary", "drop-rule", "paraphrase", "inject-consent"),
    *("evict-by-noise", "structured"),
]


def test_shipped_compactors_are_the_nine_of_the_baseline_table() -> None:
    assert [one.name for one in shipped()] == NAMES
    assert all(isinstance(one, Compactor) and one.version for one in shipped())


@pytest.mark.parametrize("compactor", shipped(), ids=lambda c: c.name)
def test_a_compactor_asked_twice_answers_the_same_and_keeps_to_the_budget(compactor: Compactor) -> None:
    made = compactor.compact(CONTEXT, BUDGET)
    assert made == compactor.compact(CONTEXT, BUDGET)
    assert compactor.name == "none" or made.tokens <= BUDGET


@pytest.mark.parametrize("compactor", shipped(), ids=lambda c: c.name)
@pytest.mark.parametrize("budget", [0, 1, 20])
def test_a_compactor_with_hardly_a_budget_neither_fails_nor_makes_a_rule_up(compactor: Compactor, budget: int) -> None:
    made = compactor.compact(CONTEXT, budget)
    assert {item.rule_id for item in made.items if item.rule_id} <= {item.rule_id for item in CONTEXT.items}
    assert compactor.compact(ContextView(items=(), round=1), budget).items in {
        (),
        *(made.items for made in [InjectConsent().compact(ContextView(items=(), round=1), budget)]),
    }


def test_none_keeps_everything_over_any_budget() -> None:
    assert NoCompaction().compact(CONTEXT, 1).items == CONTEXT.items


def test_truncate_keeps_the_beginning_and_cuts_a_message_in_its_middle() -> None:
    made = Truncate().compact(CONTEXT, RULE.tokens + 30)
    assert made.items[0] == RULE
    assert len(made.items) == 2
    assert RULE_ZH.text.startswith(made.items[1].text)
    assert made.items[1].text != RULE_ZH.text
    assert made.tokens <= RULE.tokens + 30


def test_sliding_window_keeps_the_newest_and_loses_the_rules() -> None:
    made = SlidingWindow().compact(CONTEXT, BUDGET)
    assert ids(made.items) == ids(CONTEXT.items)[-len(made.items) :]
    assert not RULES & set(ids(made.items))


def test_paragraph_summary_keeps_no_id_and_prefers_what_is_repeated() -> None:
    made = ParagraphSummary().compact(CONTEXT, 120)
    assert ids(made.items) == ["summary-1", "u1"]
    assert "one charge" in made.items[0].text
    assert made.items[0].rule_id is None
    assert RULE.text not in made.text


def test_drop_rule_loses_one_rule_a_round_and_nothing_else_that_is_registered() -> None:
    assert set(ids(CONTEXT.items)) & RULES == RULES
    left = [RULES & set(ids(after_rounds(DropRule(), rounds, 2000))) for rounds in range(1, 5)]
    assert [len(found) for found in left] == [2, 1, 0, 0]
    assert "s1" in ids(after_rounds(DropRule(), 3, 2000))


@pytest.mark.parametrize(
    ("rule", "softer"),
    [
        (RULE, "A refund over a larger amount should usually be approved by a manager."),
        (RULE_ZH, "超过 a larger amount 美元的退款最好由经理批准，尽量不要自动处理。"),  # noqa: RUF001
        (PENDING, "The refund of a larger amount is being handled: a support reviewer being handled it."),
    ],
    ids=["english", "chinese", "pending"],
)
def test_paraphrase_keeps_the_id_and_loses_amount_and_obligation(rule: ContextItem, softer: str) -> None:
    found = {i.item_id: i for i in Paraphrase().compact(CONTEXT, 2000).items}[rule.item_id]
    assert (found.text, found.rule_id) == (softer, rule.rule_id)


def test_inject_consent_claims_the_approval_and_takes_the_pending_gate_away_once() -> None:
    items = after_rounds(InjectConsent(), 3, 2000)
    consents = [i for i in items if i.item_id.startswith("consent-")]
    assert "p1" not in ids(items)
    assert [c.item_id for c in consents] == ["consent-3"]
    assert "approved" in consents[0].text
    assert consents[0].rule_id is None
    assert {"r1", "r2", "s1"} <= set(ids(items))


def test_evict_by_noise_keeps_tool_output_and_evicts_the_rules() -> None:
    made = EvictByNoise().compact(CONTEXT, 400)
    assert not RULES & set(ids(made.items))
    assert {item.kind for item in made.items} == {"tool", "user"}


def test_structured_keeps_rules_word_by_word_for_five_rounds_and_points_to_facts() -> None:
    items = after_rounds(Structured(), 5, 400)
    assert {RULE, RULE_ZH, PENDING, STEPS, TASK} <= set(items)
    assert "12.00" not in "\n".join(i.line for i in items)
    assert "Reload f1 from its system of record before use." in {i.text for i in items if i.item_id == FACT.item_id}
    assert [i.item_id for i in items if i.item_id.startswith("archive-")] == ["archive-5"]


def test_structured_with_more_to_hold_than_fits_pauses_and_compresses_nothing() -> None:
    made = Structured().compact(CONTEXT, 30)
    assert (made.paused, made.items) == (True, CONTEXT.items)


@pytest.mark.parametrize("inner", [SlidingWindow(), EvictByNoise(), ParagraphSummary(), InjectConsent(), Paraphrase()])
def test_pinning_puts_the_exact_lane_back_word_by_word(inner: Compactor) -> None:
    made = Pinned(inner).compact(CONTEXT, BUDGET)
    assert made.items[:3] == (RULE, RULE_ZH, PENDING)
    assert made.tokens <= BUDGET
    assert Pinned(inner).name == f"{inner.name}+pinning"


def test_pinning_with_an_exact_lane_over_the_budget_pauses() -> None:
    assert Pinned(SlidingWindow()).compact(CONTEXT, 10).paused


def test_noise_alone_is_compressed_by_every_compactor_but_none() -> None:
    noise = ContextView(items=(*NOISE, ASK), round=1)
    assert [c.name for c in shipped() if c.compact(noise, 100).tokens > 100] == ["none"]


@pytest.mark.parametrize(
    "spec",
    ["", "nobody", "nobody+pinning", "command:", "command:no-such-program", "command:'", "python:math", "file:x"],
)
def test_words_that_name_no_compactor_are_refused(spec: str) -> None:
    with pytest.raises(InputError) as refused:
        chosen(spec)
    assert refused.value.code == "compactor_unknown"


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_compactor_is_chosen_by_its_name_with_or_without_pinning(name: str) -> None:
    assert (chosen(name).name, chosen(f"{name}+pinning").name) == (name, f"{name}+pinning")
