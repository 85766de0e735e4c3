from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from longtask_support import event, item, seed, trajectory

from gate.longtask.artifact import CompactionSeed
from gate.longtask.canonical_form import digest, serialized_bytes
from gate.longtask.events import EventRecord, LongTaskError
from gate.longtask.strategies import (
    AppendAll,
    ParagraphSummary,
    SlidingWindow,
    Strategy,
    StrategyOutput,
    Structured,
    structured_artifact,
)

EVERY: list[Strategy] = [AppendAll(), SlidingWindow(2), ParagraphSummary(), Structured()]


@pytest.mark.parametrize("strategy", EVERY, ids=lambda one: one.strategy)
def test_events_of_another_run_are_refused(strategy: Strategy) -> None:
    with pytest.raises(LongTaskError) as caught:
        strategy.prepare(trajectory(), seed(run_id="another"))
    assert caught.value.code == "compaction_run_mismatch"


@pytest.mark.parametrize("strategy", EVERY, ids=lambda one: one.strategy)
@pytest.mark.parametrize("order", [(0, 2, 1, 3, 4), (0, 1, 1, 2, 3)])
def test_events_out_of_order_or_twice_are_refused(strategy: Strategy, order: tuple[int, ...]) -> None:
    events = trajectory()
    with pytest.raises(LongTaskError) as caught:
        strategy.prepare([events[index] for index in order], seed())
    assert caught.value.code == "unordered_compaction_events"


@pytest.mark.parametrize("strategy", EVERY, ids=lambda one: one.strategy)
def test_the_same_events_give_the_same_output(strategy: Strategy) -> None:
    assert strategy.prepare(trajectory(), seed()) == strategy.prepare(list(trajectory()), seed())


def test_append_all_keeps_everything_and_says_when_it_is_too_much() -> None:
    events = trajectory()
    output = AppendAll().prepare(events, seed())
    size = serialized_bytes(events)
    assert size > 1024
    assert output == StrategyOutput(
        strategy="append-all-v1",
        visible_keys=frozenset({"goal", "no-push", "plan", "guess", "aside", "broken", "test-fails", "next-intent"}),
        context_items=tuple(one for each in events for one in each.carry_items),
        artifact=None,
        serialized_bytes_before=size,
        serialized_bytes_after=size,
        overflowed=True,
        dropped_event_ids=(),
    )


def test_window_of_two_loses_the_early_constraint_without_a_word() -> None:
    output = SlidingWindow(2).prepare(trajectory(), seed())
    assert output.visible_keys == {"broken", "test-fails", "next-intent"}
    assert output.dropped_event_ids == ("e1", "e2", "e3")
    assert output.overflowed is False


@pytest.mark.parametrize(("size", "kept"), [(0, 0), (5, 5), (99, 5)])
def test_window_keeps_what_there_is(size: int, kept: int) -> None:
    output = SlidingWindow(size).prepare(trajectory(), seed())
    assert len(output.dropped_event_ids) == 5 - kept
    assert output.serialized_bytes_after == serialized_bytes(trajectory()[5 - kept :])


@pytest.mark.parametrize("size", [-1, True, "8", None])
def test_window_of_no_sensible_size_is_refused(size: object) -> None:
    with pytest.raises(LongTaskError) as caught:
        SlidingWindow(size)  # type: ignore[arg-type]
    assert caught.value.code == "negative_keep_events"


def test_paragraph_keeps_goal_and_latest_decision_only() -> None:
    later = event(6, item("plan-2", source_event_ids=("e6",)))
    output = ParagraphSummary().prepare((*trajectory(), later), seed(decision_keys=frozenset({"plan", "plan-2"})))
    assert output.visible_keys == {"goal", "plan-2"}
    assert [one.key for one in output.context_items] == ["goal", "plan-2", "next-intent"]
    assert output.context_items[-1].content == "continue the recorded work from the compacted boundary"
    assert output.context_items[-1].source_event_ids == ("e6",)


def test_structured_keeps_what_is_declared_with_its_identity() -> None:
    events = trajectory()
    output = Structured().prepare(events, seed())
    found = output.artifact
    assert found is not None
    assert output.visible_keys == {"goal", "no-push", "plan", "guess", "broken", "test-fails", "next-intent"}
    assert output.serialized_bytes_after < output.serialized_bytes_before
    assert (found.source_digest, found.source_event_range) == (digest(events), (1, 5))
    assert found.constraints == (events[1].carry_items[0],)
    assert found.open_issues[0].source_event_ids == ("e4",)
    assert [locator.ref for locator in found.evidence_locators] == ["src/a.py", "tests/a.py"]
    assert found.artifact_id == "cmp-" + digest(["run-tiny", digest(events)])[:16]


def test_one_reference_with_two_contents_gives_two_locators() -> None:
    events = (*trajectory(), event(6, item("more", source_event_ids=("e6",)), payload_ref="src/a.py"))
    found = structured_artifact(events, seed()).evidence_locators
    assert [locator.ref for locator in found] == ["src/a.py", "src/a.py", "tests/a.py"]
    assert len({locator.locator_id for locator in found}) == 3


def test_the_same_observation_by_another_event_is_the_same_locator() -> None:
    again = dataclasses.replace(trajectory()[2], event_id="e6", sequence=6)
    assert len(structured_artifact((*trajectory(), again), seed()).evidence_locators) == 2


def test_next_intent_of_the_events_is_used_once_whatever_category_names_it() -> None:
    found = structured_artifact(trajectory(), seed(decision_keys=frozenset({"plan", "next-intent"})))
    assert found.next_intent == trajectory()[4].carry_items[0]
    assert [one.key for one in found.decisions] == ["plan"]


def test_next_intent_is_generic_when_no_event_states_one() -> None:
    found = structured_artifact(trajectory()[:4], seed())
    assert (found.next_intent.key, found.next_intent.source_event_ids) == ("next-intent", ("e4",))


def test_latest_statement_of_a_key_counts() -> None:
    events = (*trajectory(), event(6, item("plan", content="another plan", source_event_ids=("e6",))))
    assert [one.content for one in structured_artifact(events, seed()).decisions] == ["another plan"]


def test_workspace_is_the_latest_that_was_named_and_else_the_source_digest() -> None:
    events = trajectory()
    named = (*events, event(6, workspace_digest="workspace-2"), event(7, workspace_digest=None))
    assert structured_artifact(named, seed()).workspace_digest == "workspace-2"
    unnamed = tuple(dataclasses.replace(one, workspace_digest=None) for one in events)
    found = structured_artifact(unnamed, seed())
    assert found.workspace_digest == found.source_digest
    assert {locator.workspace_digest for locator in found.evidence_locators} == {found.source_digest}


def _no_events(_: tuple[EventRecord, ...]) -> tuple[EventRecord, ...]:
    return ()


def _all(events: tuple[EventRecord, ...]) -> tuple[EventRecord, ...]:
    return events


REFUSALS: list[tuple[str, Callable[[tuple[EventRecord, ...]], tuple[EventRecord, ...]], CompactionSeed]] = [
    ("compaction_requires_events", _no_events, seed(required_keys=frozenset({"nowhere"}))),
    ("missing_required_carry_items", _all, seed(required_keys=frozenset({"nowhere"}), goal_key="absent")),
    ("missing_goal_carry_item", _all, seed(goal_key="absent", decision_keys=frozenset({"guess", "plan"}))),
    ("overlapping_compaction_seed_keys", _all, seed(decision_keys=frozenset({"plan", "guess"}))),
    ("required_carry_item_without_category", _all, seed(required_keys=frozenset({"aside"}))),
]


@pytest.mark.parametrize(("code", "cut", "wanted"), REFUSALS, ids=[code for code, _, _ in REFUSALS])
def test_structured_refuses_in_the_stated_order(
    code: str, cut: Callable[[tuple[EventRecord, ...]], tuple[EventRecord, ...]], wanted: CompactionSeed
) -> None:
    with pytest.raises(LongTaskError) as caught:
        Structured().prepare(cut(trajectory()), wanted)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("code", "events", "wanted"),
    [
        ("compaction_requires_events", (), seed()),
        ("missing_goal_carry_item", trajectory(), seed(goal_key="absent")),
    ],
)
def test_paragraph_refuses_nothing_to_say(code: str, events: tuple[EventRecord, ...], wanted: CompactionSeed) -> None:
    with pytest.raises(LongTaskError) as caught:
        ParagraphSummary().prepare(events, wanted)
    assert caught.value.code == code
