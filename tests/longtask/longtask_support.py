"""A small task of five events, made by hand, for the suites of the long-task room."""

from __future__ import annotations

from typing import Any

from gate.longtask.artifact import CompactionArtifact, CompactionSeed
from gate.longtask.events import CarryItem, EventRecord
from gate.longtask.strategies import structured_artifact
from gate.longtask.vocabulary import (
    ContextKind,
    EventType,
    InstructionAuthority,
    RetentionPriority,
    Sensitivity,
    TrustLevel,
)

RUN = "run-tiny"
WORKSPACE = "workspace-1"


def item(key: str, **changes: Any) -> CarryItem:
    """An observation called `key`; `changes` as `CarryItem` takes them."""
    sound: dict[str, Any] = {
        "key": key,
        "kind": ContextKind.OBSERVATION,
        "content": f"what {key} says",
        "authority": InstructionAuthority.NONE,
        "trust": TrustLevel.VERIFIED,
        "retention_priority": RetentionPriority.NORMAL,
        "sensitivity": Sensitivity.INTERNAL,
        "source_event_ids": ("e1",),
    }
    return CarryItem(**{**sound, **changes})


def event(sequence: int, *items: CarryItem, **changes: Any) -> EventRecord:
    """Event `e<sequence>` of the tiny run."""
    sound: dict[str, Any] = {
        "event_id": f"e{sequence}",
        "run_id": RUN,
        "sequence": sequence,
        "event_type": EventType.OBSERVATION,
        "carry_items": items,
        "workspace_digest": WORKSPACE,
    }
    return EventRecord(**{**sound, **changes})


def constraint(key: str = "no-push", **changes: Any) -> CarryItem:
    """A user's instruction, stated in event 2."""
    return item(
        key,
        **{
            "kind": ContextKind.INSTRUCTION,
            "authority": InstructionAuthority.USER,
            "retention_priority": RetentionPriority.REQUIRED,
            "source_event_ids": ("e2",),
            **changes,
        },
    )


def trajectory() -> tuple[EventRecord, ...]:
    """Goal, constraint, decision with a reference, an open failure, and what comes next."""
    return (
        event(1, item("goal", kind=ContextKind.TASK), event_type=EventType.TASK),
        event(2, constraint(), event_type=EventType.USER_UPDATE),
        event(
            3,
            item("plan", kind=ContextKind.FACT, source_event_ids=("e3",)),
            item("guess", source_event_ids=("e3",)),
            item("aside", source_event_ids=("e3",)),
            payload_ref="src/a.py",
        ),
        event(
            4,
            item("broken", source_event_ids=("e4",), required_for=frozenset({"fix"})),
            item("test-fails", source_event_ids=("e4",)),
            event_type=EventType.VERIFICATION,
            payload_ref="tests/a.py",
        ),
        event(5, item("next-intent", kind=ContextKind.TASK, source_event_ids=("e5",))),
    )


def seed(**changes: Any) -> CompactionSeed:
    """What the tiny task has to keep."""
    sound: dict[str, Any] = {
        "run_id": RUN,
        "goal_key": "goal",
        "constraint_keys": frozenset({"no-push"}),
        "decision_keys": frozenset({"plan"}),
        "rejected_hypothesis_keys": frozenset({"guess"}),
        "open_issue_keys": frozenset({"broken"}),
        "verification_keys": frozenset({"test-fails"}),
        "required_keys": frozenset({"goal", "no-push", "broken"}),
    }
    return CompactionSeed(**{**sound, **changes})


def artifact() -> CompactionArtifact:
    """The structured artifact of the tiny task."""
    return structured_artifact(trajectory(), seed())
