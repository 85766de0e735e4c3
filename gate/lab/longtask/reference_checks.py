"""The published order in which a resume looks at checkpoint and artifact: the experiments' yardstick.

Pure, and on no call's way: whether a boundary may be resumed is decided by `policies/gate/longtask`, and a test holds
the two to the same codes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from gate.longtask.artifact import SCHEMA_VERSION, CompactionArtifact, RunCheckpoint
from gate.longtask.canonical_form import digest
from gate.longtask.events import EventRecord, LongTaskError, blank

SourceResolver = Callable[[CompactionArtifact], Sequence[EventRecord]]
"""Reads the events that an artifact says it was made of, again."""


def first_objection(
    artifact: CompactionArtifact,
    checkpoint: RunCheckpoint,
    *,
    live_workspace_digest: str,
    resolve: SourceResolver | None,
) -> str | None:
    """The first code that stands against the resume, or None."""
    if artifact.run_id != checkpoint.run_id:
        return "checkpoint_run_mismatch"
    if artifact.artifact_id != checkpoint.artifact_id:
        return "checkpoint_artifact_mismatch"
    if artifact.schema_version != SCHEMA_VERSION:
        return "artifact_rejected_schema"
    if blank(artifact.source_digest):
        return "artifact_rejected_source_digest"
    return _source(artifact, resolve) or _place(artifact, checkpoint, live_workspace_digest)


def _source(artifact: CompactionArtifact, resolve: SourceResolver | None) -> str | None:
    if resolve is None:
        return "artifact_source_unverifiable"
    try:
        events = tuple(resolve(artifact))
    except LongTaskError:
        return "artifact_source_unverifiable"
    if not events:
        return "artifact_source_unverifiable"
    sequences = [event.sequence for event in events]
    sources = {source for item in artifact.items for source in item.source_event_ids}
    sound = (
        all(event.run_id == artifact.run_id for event in events)
        and all(after > before for before, after in itertools.pairwise(sequences))
        and (sequences[0], sequences[-1]) == artifact.source_event_range
        and sources <= {event.event_id for event in events}
    )
    if not sound:
        return "artifact_source_range_mismatch"
    return None if digest(events) == artifact.source_digest else "artifact_source_digest_mismatch"


def _place(artifact: CompactionArtifact, checkpoint: RunCheckpoint, live: str) -> str | None:
    if checkpoint.event_cursor != artifact.source_event_range[1]:
        return "stale_event_cursor"
    if artifact.workspace_digest != checkpoint.workspace_digest:
        return "stale_artifact_workspace_digest"
    return None if checkpoint.workspace_digest == live else "stale_workspace_digest"
