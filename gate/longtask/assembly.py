"""What is made of a range of events, and the rows that it is stored as.

Pure. The next generation is the committed artifact under the events since; whether it may be committed is decided
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gate import canonical
from gate.longtask.artifact import GROUPS, CompactionArtifact, CompactionSeed, Lineage, RunCheckpoint
from gate.longtask.canonical_form import digest
from gate.longtask.events import EventRecord, refuse
from gate.longtask.stored import body_of
from gate.longtask.strategies import latest_items, locators, workspace_of
from gate.records import LocatorResult, TaskArtifact, TaskCheckpoint, TaskLocator


def carried_forward(
    parent: CompactionArtifact, events: Sequence[EventRecord], seed: CompactionSeed
) -> CompactionArtifact:
    """The next generation: the parent's items under what the events since say; costs what the range costs.

    Raises `LongTaskError`: `compaction_requires_events`, `missing_required_carry_items`.
    """
    if not events:
        raise refuse("compaction_requires_events")
    latest = {item.key: item for item in parent.items} | latest_items(events)
    if not seed.required_keys <= latest.keys() or seed.goal_key not in latest:
        raise refuse("missing_required_carry_items")
    groups = {
        name: tuple(latest[key] for key in sorted(keys) if key in latest)
        for name, keys in zip(GROUPS, seed.categories, strict=True)
    }
    source = digest(tuple(events))
    workspace = workspace_of(events, parent.workspace_digest)
    kept = tuple(one for one in parent.evidence_locators if one.kind != "payload_ref")
    return CompactionArtifact(
        artifact_id="made",
        run_id=parent.run_id,
        source_event_range=(events[0].sequence, events[-1].sequence),
        goal=latest[seed.goal_key],
        **groups,  # type: ignore[arg-type]  # the keys are exactly the groups
        evidence_locators=(*locators(events, workspace=workspace), *kept),
        next_intent=latest[parent.next_intent.key],
        created_at=parent.created_at,
        source_digest=source,
        workspace_digest=workspace,
    )


def artifact_row(
    tenant: str, artifact: CompactionArtifact, lineage: Lineage, text: str, *, namespace: str
) -> TaskArtifact:
    """The artifact as it is stored."""
    return TaskArtifact(
        tenant_id=tenant,
        artifact_id=artifact.artifact_id,
        run_id=artifact.run_id,
        namespace=namespace,
        first_sequence=artifact.source_event_range[0],
        last_sequence=artifact.source_event_range[1],
        schema_version=artifact.schema_version,
        digest=canonical.digest_bytes(text.encode("utf-8")),
        source_digest=artifact.source_digest,
        workspace_digest=artifact.workspace_digest,
        generation=lineage.generation,
        direct_source=lineage.direct_source,
        generator=lineage.generator,
        generator_version=lineage.generator_version,
        body=text,
        parent_artifact_id=lineage.parent_artifact_id,
        parent_digest=lineage.parent_digest,
    )


def checkpoint_row(
    tenant: str, checkpoint: RunCheckpoint, artifact: TaskArtifact, *, envelope_id: str | None
) -> TaskCheckpoint:
    """The checkpoint as it is stored: it names the artifact's digest for good."""
    text = body_of(checkpoint)
    return TaskCheckpoint(
        tenant_id=tenant,
        run_id=checkpoint.run_id,
        checkpoint_id=checkpoint.checkpoint_id,
        artifact_id=checkpoint.artifact_id,
        artifact_digest=artifact.digest,
        digest=canonical.digest_bytes(text.encode("utf-8")),
        workspace_digest=checkpoint.workspace_digest,
        namespace=artifact.namespace,
        event_cursor=checkpoint.event_cursor,
        body=text,
        envelope_id=envelope_id,
    )


def sources_of(artifact: CompactionArtifact) -> set[str]:
    """Every event that an item of the artifact names."""
    return {source for item in artifact.items for source in item.source_event_ids}


def places(artifact: CompactionArtifact, found: Mapping[str, LocatorResult]) -> Iterable[TaskLocator]:
    """The evidence of the artifact with what was found of it now, as rows."""
    return [
        TaskLocator(
            locator_id=one.locator_id,
            kind=one.kind,
            ref=one.ref,
            content_digest=one.content_digest,
            workspace_digest=one.workspace_digest,
            result=found.get(one.locator_id, LocatorResult.UNRESOLVED),
        )
        for one in artifact.evidence_locators
    ]
