"""What the records keep of a long task: events with their content, artifacts, checkpoints, packets, ledger, receipts.

Pure. The bodies are canonical JSON text that this room does not interpret: `gate.longtask` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ArtifactStatus(StrEnum):
    """The closed set of statuses of a stored artifact."""

    STORED = "stored"
    HELD = "held"
    """Kept for an investigation: never cleaned up."""
    TAINTED = "tainted"
    """Known to carry something bad: nothing is resumed from it or from what was made of it."""
    CLEANED = "cleaned"
    """An orphan whose content was removed; its id is never used again."""
    ERASED = "erased"
    """Forgotten with its session."""


class LocatorResult(StrEnum):
    """What a resolver found; the four are never one "nothing found"."""

    UNRESOLVED = "unresolved"
    MATCH = "match"
    MISSING = "missing"
    STALE = "stale"
    DENIED = "denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTaskEvent:
    """An event of a long task, to be appended."""

    sequence: int
    """1-based; grows within the run."""
    event_id: str
    event_type: str
    body: str
    """Canonical JSON of the event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvent:
    """A stored event. `body` is None once its session was forgotten."""

    tenant_id: str
    run_id: str
    sequence: int
    position: int
    """1, 2, 3 … without a gap: a row that was deleted leaves one."""
    event_id: str
    event_type: str
    digest: str
    """Of salt and body, as the run's hash chain has it."""
    chain_seq: int
    size_bytes: int
    recorded_at_ms: int
    body: str | None
    salt: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskArtifact:
    """A stored artifact: immutable but for its status."""

    tenant_id: str
    artifact_id: str
    run_id: str
    namespace: str
    """`main`, or the fork it was made in."""
    first_sequence: int
    last_sequence: int
    schema_version: str
    digest: str
    """`sha256:` of the body."""
    source_digest: str
    workspace_digest: str
    generation: int
    direct_source: str
    generator: str
    generator_version: str
    status: ArtifactStatus = ArtifactStatus.STORED
    status_reason: str = ""
    size_bytes: int = 0
    created_at_ms: int = 0
    """Set by the database's clock when it is stored."""
    version: int = 1
    body: str | None
    parent_artifact_id: str | None
    parent_digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLocator:
    """Where an artifact's evidence can be read again, and what was found the last time."""

    locator_id: str
    kind: str
    ref: str | None
    content_digest: str
    workspace_digest: str
    result: LocatorResult = LocatorResult.UNRESOLVED
    resolved_at_ms: int = 0
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCheckpoint:
    """A committed checkpoint: names one artifact and its digest, for good."""

    tenant_id: str
    run_id: str
    checkpoint_id: str
    artifact_id: str
    artifact_digest: str
    digest: str
    """`sha256:` of the body."""
    workspace_digest: str
    namespace: str
    event_cursor: int
    ordinal: int = 0
    """Set when it is committed; the largest is the newest."""
    committed_at_ms: int = 0
    body: str | None
    envelope_id: str | None
    """The boundary it was committed with; None for the start of a fork."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPacket:
    """That a packet was built, of what and for which boundary; never its content."""

    tenant_id: str
    run_id: str
    packet_digest: str
    artifact_id: str
    checkpoint_id: str
    size_bytes: int
    envelope_id: str | None
    items: str | None
    """JSON list of the item keys."""
    ordinal: int = 0
    built_at_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One line of the audit and cost ledger. Sizes in bytes, time in milliseconds."""

    tenant_id: str
    run_id: str
    kind: str
    """compaction, rehydration, reload, trigger, migration, cleanup, taint or forget."""
    outcome: str
    """`ok`, or the stable code of what stopped it."""
    operator: str
    audit: str
    """JSON object of ids, digests, versions and codes; never content."""
    bytes_before: int = 0
    bytes_after: int = 0
    duration_ms: int = 0
    ordinal: int = 0
    recorded_at_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionReceipt:
    """That a session was forgotten: when, on whose word, and how many objects of each kind."""

    tenant_id: str
    session_id: str
    receipt_id: str
    status: str
    """frozen: nothing more is derived. erased: the content is gone."""
    requested_by: str
    reason: str
    counts: str
    """JSON object: kind of object to number erased."""
    frozen_at_ms: int
    version: int
    digest: str | None
    """`sha256:` over the receipt's other fields, as the chains of its runs have it."""
    erased_at_ms: int | None
