"""Ways to bound a context, behind one protocol: append all, sliding window, paragraph summary, structured.

Pure and deterministic. The first three are controls that lose meaning on purpose; only the structured one makes an
artifact. What a strategy returns is a proposal: the policies decide whether it may be committed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gate.longtask.artifact import GROUPS, NEXT_INTENT, CompactionArtifact, CompactionSeed
from gate.longtask.canonical_form import digest, serialized_bytes
from gate.longtask.events import CarryItem, EventRecord, EvidenceLocator, refuse
from gate.longtask.vocabulary import ContextKind, InstructionAuthority, RetentionPriority, Sensitivity, TrustLevel

TEACHING_BYTE_BUDGET = 1024
"""Bytes past which an output says `overflowed`; the published experiments' figure, no provider's limit."""

EPOCH_TEXT = "1970-01-01T00:00:00Z"
"""`created_at` of a deterministic artifact: its events say when, its making does not."""

_GENERIC_INTENT = "continue the recorded work from the compacted boundary"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyOutput:
    """What a strategy keeps, and how large that is in canonical UTF-8 bytes."""

    strategy: str
    visible_keys: frozenset[str]
    context_items: tuple[CarryItem, ...]
    artifact: CompactionArtifact | None
    serialized_bytes_before: int
    serialized_bytes_after: int
    overflowed: bool
    dropped_event_ids: tuple[str, ...]


class Strategy(Protocol):
    """Turns the events up to a frozen cursor into what the next context starts from."""

    @property
    def strategy(self) -> str:
        """Name and version; recorded with whatever it made."""

    def prepare(self, events: Sequence[EventRecord], seed: CompactionSeed) -> StrategyOutput:
        """Raises `LongTaskError` when the events or the seed cannot be compacted."""


@dataclass(frozen=True, slots=True)
class AppendAll:
    """Keeps everything: the most honest control, and the one that cannot go on."""

    strategy: str = field(default="append-all-v1", init=False)

    def prepare(self, events: Sequence[EventRecord], seed: CompactionSeed) -> StrategyOutput:
        """See `Strategy`."""
        check_events(events, seed)
        size = serialized_bytes(tuple(events))
        return _output(self.strategy, _items(events), before=size, after=size)


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Keeps the newest whole events, whatever they say."""

    keep_events: int
    strategy: str = field(default="sliding-window-v1", init=False)

    def __post_init__(self) -> None:
        if type(self.keep_events) is not int or self.keep_events < 0:
            raise refuse("negative_keep_events")

    def prepare(self, events: Sequence[EventRecord], seed: CompactionSeed) -> StrategyOutput:
        """See `Strategy`."""
        check_events(events, seed)
        cut = max(0, len(events) - self.keep_events)
        kept = tuple(events[cut:])
        return _output(
            self.strategy,
            _items(kept),
            before=serialized_bytes(tuple(events)),
            after=serialized_bytes(kept),
            dropped=tuple(event.event_id for event in events[:cut]),
        )


@dataclass(frozen=True, slots=True)
class ParagraphSummary:
    """Keeps the goal, the latest decision and a generic next intent: what a fluent paragraph tends to keep."""

    strategy: str = field(default="summary-only-v1", init=False)

    def prepare(self, events: Sequence[EventRecord], seed: CompactionSeed) -> StrategyOutput:
        """See `Strategy`."""
        check_events(events, seed)
        if not events:
            raise refuse("compaction_requires_events")
        latest = latest_items(events)
        if seed.goal_key not in latest:
            raise refuse("missing_goal_carry_item")
        decided = next(
            (item for event in reversed(events) for item in event.carry_items if item.key in seed.decision_keys), None
        )
        kept = (latest[seed.goal_key], *(() if decided is None else (decided,)))
        items = (*kept, _generic_intent(events))
        return StrategyOutput(
            strategy=self.strategy,
            visible_keys=frozenset(item.key for item in kept),
            context_items=items,
            artifact=None,
            serialized_bytes_before=serialized_bytes(tuple(events)),
            serialized_bytes_after=serialized_bytes(items),
            overflowed=serialized_bytes(items) > TEACHING_BYTE_BUDGET,
            dropped_event_ids=(),
        )


@dataclass(frozen=True, slots=True)
class Structured:
    """Keeps every declared key in its category, with its sources and locators; refuses rather than lose one."""

    strategy: str = field(default="structured-compaction-v1", init=False)

    def prepare(self, events: Sequence[EventRecord], seed: CompactionSeed) -> StrategyOutput:
        """See `Strategy`."""
        check_events(events, seed)
        artifact = structured_artifact(events, seed)
        return _output(
            self.strategy,
            artifact.items,
            artifact=artifact,
            before=serialized_bytes(tuple(events)),
            after=serialized_bytes(artifact.items),
        )


def structured_artifact(events: Sequence[EventRecord], seed: CompactionSeed) -> CompactionArtifact:
    """The artifact of exactly these events; the same events and seed always give the same bytes.

    Raises `LongTaskError`: `compaction_requires_events`, `missing_required_carry_items`, `missing_goal_carry_item`,
    `overlapping_compaction_seed_keys`, `required_carry_item_without_category`, in this order.
    """
    if not events:
        raise refuse("compaction_requires_events")
    latest = latest_items(events)
    if not seed.required_keys <= latest.keys():
        raise refuse("missing_required_carry_items")
    if seed.goal_key not in latest:
        raise refuse("missing_goal_carry_item")
    declared = [seed.goal_key, *(key for keys in seed.categories for key in keys)]
    if len(declared) != len(set(declared)):
        raise refuse("overlapping_compaction_seed_keys")
    if not seed.required_keys <= {*declared, NEXT_INTENT}:
        raise refuse("required_carry_item_without_category")
    groups = {
        name: tuple(latest[key] for key in sorted(keys) if key in latest and key != NEXT_INTENT)
        for name, keys in zip(GROUPS, seed.categories, strict=True)
    }
    source = digest(tuple(events))
    return CompactionArtifact(
        artifact_id="cmp-" + digest([seed.run_id, source])[:16],
        run_id=seed.run_id,
        source_event_range=(events[0].sequence, events[-1].sequence),
        goal=latest[seed.goal_key],
        **groups,  # type: ignore[arg-type]  # the keys are exactly the groups
        evidence_locators=locators(events, workspace=workspace_of(events, source)),
        next_intent=latest.get(NEXT_INTENT) or _generic_intent(events),
        created_at=EPOCH_TEXT,
        source_digest=source,
        workspace_digest=workspace_of(events, source),
    )


def locators(events: Sequence[EventRecord], *, workspace: str) -> tuple[EvidenceLocator, ...]:
    """One locator for each thing an event refers to, as it was then; sorted by kind, reference and digest."""
    found: dict[tuple[str, str, str], EvidenceLocator] = {}
    for event in events:
        if event.payload_ref is None:
            continue
        triple = ("payload_ref", event.payload_ref, observed_digest(event))
        found.setdefault(
            triple,
            EvidenceLocator(
                locator_id="loc-" + digest(list(triple))[:16],
                kind=triple[0],
                ref=triple[1],
                content_digest=triple[2],
                workspace_digest=event.workspace_digest or workspace,
            ),
        )
    return tuple(found[triple] for triple in sorted(found))


def observed_digest(event: EventRecord) -> str:
    """What an event says about its reference, as a digest; which event said it makes no difference."""
    said = [
        [
            *(item.key, item.kind, item.content, item.authority, item.trust, item.retention_priority),
            *(item.sensitivity, sorted(item.required_for)),
        ]
        for item in sorted(event.carry_items, key=lambda item: item.key)
    ]
    return digest({"payload_ref": event.payload_ref, "carry_items": said, "workspace_digest": event.workspace_digest})


def check_events(events: Sequence[EventRecord], seed: CompactionSeed) -> None:
    """Raises `LongTaskError`: `compaction_run_mismatch`, `unordered_compaction_events`."""
    if any(event.run_id != seed.run_id for event in events):
        raise refuse("compaction_run_mismatch")
    if any(after.sequence <= before.sequence for before, after in itertools.pairwise(events)):
        raise refuse("unordered_compaction_events")


def latest_items(events: Sequence[EventRecord]) -> dict[str, CarryItem]:
    """The latest item of each key."""
    return {item.key: item for event in events for item in event.carry_items}


def _items(events: Sequence[EventRecord]) -> tuple[CarryItem, ...]:
    return tuple(item for event in events for item in event.carry_items)


def workspace_of(events: Sequence[EventRecord], fallback: str) -> str:
    """The workspace that the newest event names, or `fallback`."""
    return next((event.workspace_digest for event in reversed(events) if event.workspace_digest is not None), fallback)


def _generic_intent(events: Sequence[EventRecord]) -> CarryItem:
    return CarryItem(
        key=NEXT_INTENT,
        kind=ContextKind.TASK,
        content=_GENERIC_INTENT,
        authority=InstructionAuthority.NONE,
        trust=TrustLevel.VERIFIED,
        retention_priority=RetentionPriority.HIGH,
        sensitivity=Sensitivity.INTERNAL,
        source_event_ids=(events[-1].event_id,),
    )


def _output(
    strategy: str,
    items: tuple[CarryItem, ...],
    *,
    before: int,
    after: int,
    artifact: CompactionArtifact | None = None,
    dropped: tuple[str, ...] = (),
) -> StrategyOutput:
    return StrategyOutput(
        strategy=strategy,
        visible_keys=frozenset(item.key for item in items),
        context_items=items,
        artifact=artifact,
        serialized_bytes_before=before,
        serialized_bytes_after=after,
        overflowed=after > TEACHING_BYTE_BUDGET,
        dropped_event_ids=dropped,
    )
