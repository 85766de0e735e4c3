"""The compaction artifact and what stands beside it: seed, run checkpoint, lineage.

Pure. An artifact is a derived view of one exact range of events; it carries meaning over a boundary and no authority.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gate import canonical
from gate.longtask.canonical_form import plain
from gate.longtask.events import CarryItem, EvidenceLocator, blank, distinct, refuse, require

SCHEMA_VERSION = "1.0"

NEXT_INTENT = "next-intent"
"""Key of the item that says what comes next."""

GROUPS = (
    "acceptance_criteria",
    "constraints",
    "decisions",
    "rejected_hypotheses",
    "open_issues",
    "verification_state",
)
"""The groups of an artifact between its goal and its next intent, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSeed:
    """What a compaction of one run has to keep, by key and category; written by whoever owns the task."""

    run_id: str
    goal_key: str
    acceptance_keys: frozenset[str] = frozenset()
    constraint_keys: frozenset[str] = frozenset()
    decision_keys: frozenset[str] = frozenset()
    rejected_hypothesis_keys: frozenset[str] = frozenset()
    open_issue_keys: frozenset[str] = frozenset()
    verification_keys: frozenset[str] = frozenset()
    required_keys: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        require(((self.run_id, "blank_run_id"), (self.goal_key, "blank_goal_key")))
        for keys in (*self.categories, self.required_keys):
            require((key, "blank_compaction_seed_key") for key in keys)

    @property
    def categories(self) -> tuple[frozenset[str], ...]:
        """The keys of each group, in the order of `GROUPS`."""
        return (
            self.acceptance_keys,
            self.constraint_keys,
            self.decision_keys,
            self.rejected_hypothesis_keys,
            self.open_issue_keys,
            self.verification_keys,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionArtifact:
    """The structured hand-over made of the events `source_event_range` (first and last sequence, both included)."""

    artifact_id: str
    run_id: str
    source_event_range: tuple[int, int]
    goal: CarryItem
    acceptance_criteria: tuple[CarryItem, ...]
    constraints: tuple[CarryItem, ...]
    decisions: tuple[CarryItem, ...]
    rejected_hypotheses: tuple[CarryItem, ...]
    open_issues: tuple[CarryItem, ...]
    verification_state: tuple[CarryItem, ...]
    evidence_locators: tuple[EvidenceLocator, ...]
    next_intent: CarryItem
    created_at: str
    source_digest: str
    workspace_digest: str
    schema_version: str = SCHEMA_VERSION

    def __post_init__(self) -> None:
        require(((self.artifact_id, "blank_artifact_id"), (self.run_id, "blank_run_id")))
        if self.schema_version != SCHEMA_VERSION:
            raise refuse("invalid_schema_version")
        first, last = self.source_event_range
        if first > last:
            raise refuse("unordered_source_event_range")
        distinct(self.items)
        if any(not item.source_event_ids or any(map(blank, item.source_event_ids)) for item in self.open_issues):
            raise refuse("open_issue_without_source")

    @property
    def items(self) -> tuple[CarryItem, ...]:
        """Goal, groups in order, next intent."""
        groups: Iterable[tuple[CarryItem, ...]] = (getattr(self, name) for name in GROUPS)
        return (self.goal, *(item for group in groups for item in group), self.next_intent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """How an artifact came about: enough to tell a second-hand copy from one made of the log."""

    generation: int
    """1 for an artifact made of events alone; one more than its parent's otherwise. Attempts do not count."""
    parent_artifact_id: str | None
    parent_digest: str | None
    direct_source: str
    """event_log, artifact or migration: what was actually read to make it."""
    generator: str
    generator_version: str
    items_digest: str
    """Digest of every item, category and locator (`items_digest`), so that none can be edited unseen."""


def items_digest(artifact: CompactionArtifact) -> str:
    """`sha256:` over every field of the artifact in RFC 8785 form: content, authority and category included."""
    return canonical.digest(plain(artifact))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCheckpoint:
    """Where execution goes on, and which artifact goes with it."""

    run_id: str
    checkpoint_id: str
    next_step: str
    completed_steps: tuple[str, ...]
    pending_step: str | None
    event_cursor: int
    """Sequence of the last event it accounts for."""
    workspace_digest: str
    artifact_id: str

    def __post_init__(self) -> None:
        require(
            (
                (self.run_id, "blank_run_id"),
                (self.checkpoint_id, "blank_checkpoint_id"),
                (self.artifact_id, "blank_artifact_id"),
            )
        )
        if type(self.event_cursor) is not int or self.event_cursor < 0:
            raise refuse("negative_event_cursor")
