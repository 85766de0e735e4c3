from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from longtask_support import artifact, constraint, event, item, seed, trajectory

from gate.longtask.artifact import RunCheckpoint, items_digest
from gate.longtask.canonical_form import (
    canonical_text,
    content_digest,
    digest,
    plain,
    serialized_bytes,
)
from gate.longtask.commit import Request
from gate.longtask.events import EvidenceLocator, LongTaskError, WorkingSet, event_from, item_from
from gate.longtask.vocabulary import ContextKind, InstructionAuthority, RetentionPriority, TrustLevel


def locator(**changes: Any) -> EvidenceLocator:
    sound = {
        "locator_id": "loc-1",
        "kind": "payload_ref",
        "ref": "src/a.py",
        "content_digest": "c",
        "workspace_digest": "w",
    }
    return EvidenceLocator(**{**sound, **changes})


def checkpoint(**changes: Any) -> RunCheckpoint:
    sound: dict[str, Any] = {
        "run_id": "r",
        "checkpoint_id": "c",
        "next_step": "",
        "completed_steps": (),
        "pending_step": None,
        "event_cursor": 0,
        "workspace_digest": "",
        "artifact_id": "a",
    }
    return RunCheckpoint(**{**sound, **changes})


def working_set(**changes: Any) -> WorkingSet:
    return WorkingSet(**changes)


def carried(**changes: Any) -> Any:
    return dataclasses.replace(artifact(), **changes)


def request(**changes: Any) -> Request:
    return Request(**{"seed": seed(), "next_step": "go on", **changes})


BROKEN: list[tuple[str, Callable[[], Any]]] = [
    ("blank_evidence_locator_id", lambda: locator(locator_id=" ")),
    ("blank_evidence_locator_kind", lambda: locator(kind="")),
    ("blank_evidence_locator_ref", lambda: locator(ref=None)),
    ("blank_evidence_content_digest", lambda: locator(content_digest="")),
    ("blank_evidence_workspace_digest", lambda: locator(workspace_digest="\t")),
    ("blank_carry_item_key", lambda: item("")),
    ("blank_carry_item_content", lambda: item("k", content=" \n")),
    ("blank_carry_item_content", lambda: item("k", content="half a pair: \ud83d")),
    ("blank_carry_item_key", lambda: item("\udc00")),
    ("carry_item_without_source", lambda: item("k", source_event_ids=())),
    ("carry_item_without_source", lambda: item("k", source_event_ids=("e1", " "))),
    ("instruction_authority_required", lambda: item("k", kind=ContextKind.INSTRUCTION)),
    ("non_instruction_authority", lambda: item("k", authority=InstructionAuthority.USER)),
    ("invalid_carry_item", lambda: item("k", sensitivity="secret")),
    ("invalid_carry_item", lambda: item("k", source_event_ids="e1")),
    ("invalid_carry_item", lambda: item("k", required_for={"r"})),
    ("invalid_event_record", lambda: event(1, event_type="user_update")),
    ("invalid_event_record", lambda: event(1, payload_ref=7)),
    ("compaction_request_invalid", lambda: request(next_step=" ")),
    ("compaction_request_invalid", lambda: request(completed_steps="inspect")),
    ("compaction_request_invalid", lambda: request(pending_calls=("a", 1))),
    ("compaction_request_invalid", lambda: request(evidence=(None,))),
    ("compaction_request_invalid", lambda: request(trigger="idle")),
    ("secret_request", lambda: request(pending_step="call https://user:pass1@host/")),
    ("secret_request", lambda: request(evidence=(locator(ref="https://user:pass1@host/"),))),
    ("blank_event_id", lambda: event(1, event_id="")),
    ("blank_run_id", lambda: event(1, run_id="  ")),
    ("non_positive_event_sequence", lambda: event(0)),
    ("non_positive_event_sequence", lambda: event(True)),
    ("duplicate_carry_item_key", lambda: event(1, item("k"), item("k", content="other"))),
    ("blank_run_id", lambda: checkpoint(run_id="")),
    ("blank_checkpoint_id", lambda: checkpoint(checkpoint_id="")),
    ("blank_artifact_id", lambda: checkpoint(artifact_id=" ")),
    ("negative_event_cursor", lambda: checkpoint(event_cursor=-1)),
    ("negative_event_cursor", lambda: checkpoint(event_cursor="3")),
    ("negative_max_serialized_bytes", lambda: working_set(max_serialized_bytes=-1)),
    ("blank_event_id", lambda: working_set(event_ids=("e1", ""))),
    ("duplicate_carry_item_key", lambda: working_set(carry_items=(item("k"), item("k")))),
    ("blank_run_id", lambda: seed(run_id="")),
    ("blank_goal_key", lambda: seed(goal_key=" ")),
    ("blank_compaction_seed_key", lambda: seed(decision_keys=frozenset({""}))),
    ("blank_compaction_seed_key", lambda: seed(required_keys=frozenset({" "}))),
    ("blank_artifact_id", lambda: carried(artifact_id="")),
    ("blank_run_id", lambda: carried(run_id="")),
    ("invalid_schema_version", lambda: carried(schema_version="1.1")),
    ("unordered_source_event_range", lambda: carried(source_event_range=(5, 4))),
    ("duplicate_carry_item_key", lambda: carried(decisions=(item("goal"),))),
    ("duplicate_carry_item_key", lambda: carried(constraints=(item("next-intent"),))),
]


@pytest.mark.parametrize(("code", "make"), BROKEN, ids=[f"{n}-{code}" for n, (code, _) in enumerate(BROKEN)])
def test_record_that_breaks_a_rule_is_refused_with_its_code(code: str, make: Callable[[], Any]) -> None:
    with pytest.raises(LongTaskError) as caught:
        make()
    assert caught.value.code == code


def test_open_issue_without_source_is_refused_even_when_the_item_was_forged() -> None:
    forged = dataclasses.replace(artifact().open_issues[0])
    object.__setattr__(forged, "source_event_ids", ())
    with pytest.raises(LongTaskError) as caught:
        carried(open_issues=(forged,))
    assert caught.value.code == "open_issue_without_source"


def test_records_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        item("k").content = "other"  # type: ignore[misc]


def test_ranks_order_the_words_weakest_first() -> None:
    assert [word.value for word in sorted(InstructionAuthority, key=lambda word: word.rank)] == [
        *("none", "untrusted", "user", "repository", "developer", "system")
    ]
    assert [word.value for word in sorted(TrustLevel, key=lambda word: word.rank)] == [
        *("hostile", "unknown", "unverified", "trusted_source", "verified")
    ]
    assert [word.value for word in sorted(RetentionPriority, key=lambda word: word.rank)] == [
        *("low", "normal", "high", "required")
    ]


def test_canonical_text_is_the_same_for_every_order_of_keys_and_members() -> None:
    one = {"b": frozenset({"y", "x"}), "a": ("é", 1, None)}
    two = {"a": ["é", 1, None], "b": {"x", "y"}}
    assert canonical_text(one) == canonical_text(two) == '{"a":["é",1,null],"b":["x","y"]}'
    assert serialized_bytes(one) == len('{"a":["é",1,null],"b":["x","y"]}'.encode())


def test_digest_of_a_text_covers_its_quotes_and_content_digest_does_not() -> None:
    assert digest("a") == content_digest('"a"')
    assert digest("a") != content_digest("a")


def test_canonical_text_refuses_a_number_that_is_none() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_text([float("nan")])


def test_event_and_item_survive_their_json_form() -> None:
    for one in trajectory():
        assert event_from(plain(one)) == one
    assert item_from(plain(constraint())) == constraint()


@pytest.mark.parametrize(
    "change",
    [
        {"sequence": "1"},
        {"sequence": True},
        {"carry_items": None},
        {"carry_items": {}},
        {"carry_items": ["k"]},
        {"event_type": "thought"},
        {"event_type": None},
        {"payload_ref": 1},
        {"extra": 1},
        {"event_id": None},
    ],
)
def test_event_of_another_form_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(LongTaskError) as caught:
        event_from({**plain(event(1, item("k"))), **change})
    assert caught.value.code == "invalid_event_record"


@pytest.mark.parametrize("field", sorted(plain(event(1))))
def test_event_without_a_field_is_refused(field: str) -> None:
    data = plain(event(1))
    del data[field]
    with pytest.raises(LongTaskError) as caught:
        event_from(data)
    assert caught.value.code == "invalid_event_record"


@pytest.mark.parametrize("field", sorted(plain(item("k"))))
@pytest.mark.parametrize("value", [None, 7, {"a": 1}])
def test_item_with_a_field_of_another_type_is_refused(field: str, value: object) -> None:
    with pytest.raises(LongTaskError) as caught:
        item_from({**plain(item("k")), field: value})
    assert caught.value.code == "invalid_event_record"


def test_items_digest_sees_every_field_of_every_item() -> None:
    sound = artifact()
    goal = sound.goal
    changed = [
        dataclasses.replace(goal, content="other"),
        dataclasses.replace(goal, trust=TrustLevel.UNKNOWN),
        dataclasses.replace(goal, retention_priority=RetentionPriority.LOW),
        dataclasses.replace(goal, source_event_ids=("e2",)),
        dataclasses.replace(goal, required_for=frozenset({"x"})),
    ]
    digests = {items_digest(dataclasses.replace(sound, goal=one)) for one in (goal, *changed)}
    moved = dataclasses.replace(sound, decisions=(), rejected_hypotheses=(*sound.rejected_hypotheses, *sound.decisions))
    assert len(digests | {items_digest(moved)}) == 7
