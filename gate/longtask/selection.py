"""Which items a resumed context is built from: the artifact's, and the newer ones that may stand in their place.

Pure. Which live item may replace which is decided in Rego before this is called (`replaced` says what was allowed);
here the merge is carried out and told, key by key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gate.longtask.artifact import CompactionArtifact, RunCheckpoint
from gate.longtask.canonical_form import content_digest
from gate.longtask.events import CarryItem
from gate.longtask.packet import REDACTED, BuildConfig, Candidate, Provenance, Scope

ARTIFACT, TASK_CONTRACT, WORKING_SET, CURRENT_USER = "artifact", "task_contract", "working_set", "current_user"

ORIGINS = (ARTIFACT, TASK_CONTRACT, WORKING_SET, CURRENT_USER)
"""Where an item of a resumed context can come from; a later one is newer."""

_BINDING = ("acceptance_criteria", "constraints", "open_issues")
"""Groups of which nothing may be missing where the work goes on, whatever its retention priority."""


@dataclass(frozen=True, slots=True)
class Selected:
    """An item and the surface it was taken from."""

    item: CarryItem
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEntry:
    """One step of a rehydration, told without any content."""

    stage: str
    reason: str
    item_key: str | None
    source_digest: str


def select(
    artifact: CompactionArtifact, live: Iterable[tuple[str, CarryItem]]
) -> tuple[tuple[Selected, ...], tuple[LifecycleEntry, ...]]:
    """The items by key, and what is told of them. `live`: (origin, item), oldest surface first.

    An identical item keeps the artifact as its origin; a different one replaces it, and both facts are told.
    """
    chosen: dict[str, Selected] = {item.key: Selected(item, ARTIFACT) for item in artifact.items}
    rejected: list[LifecycleEntry] = []
    for origin, item in live:
        before = chosen.get(item.key)
        if before is not None and before.item == item:
            continue
        if before is not None and before.origin == ARTIFACT:
            rejected.append(_told("artifact_rejected", before, artifact))
        chosen[item.key] = Selected(item, origin)
    ordered = tuple(chosen[key] for key in sorted(chosen))
    told = (_told(f"selected_from_{selected.origin}", selected, artifact) for selected in ordered)
    return ordered, (*rejected, *told)


def candidates(
    selected: Iterable[Selected],
    *,
    artifact: CompactionArtifact,
    checkpoint: RunCheckpoint,
    config: BuildConfig,
    paths: Mapping[str, str] | None = None,
) -> tuple[Candidate, ...]:
    """Each item as a candidate of the packet: authority, trust, priority and sensitivity exactly as they were."""
    versions = {ARTIFACT: artifact.schema_version, CURRENT_USER: None}
    binding = {item.key for group in _BINDING for item in getattr(artifact, group)} | {artifact.goal.key}
    return tuple(
        Candidate(
            item_id=item.key,
            kind=item.kind,
            content=item.content,
            authority=item.authority,
            trust=item.trust,
            retention_priority=item.retention_priority,
            sensitivity=item.sensitivity,
            required_for=item.required_for,
            scope=Scope(
                repository=config.repository,
                path_prefix=(paths or {}).get(item.key, config.target_path),
                task_id=config.task_id,
            ),
            provenance=Provenance(
                source_type=origin,
                source_id=json.dumps(list(item.source_event_ids)),
                version=versions.get(origin, checkpoint.checkpoint_id),
                observed_at=artifact.created_at if origin == ARTIFACT else None,
                content_digest=content_digest(item.content),
            ),
            # What one key says is no version of what another does, though one event said both.
            own=True,
            binding=item.key in binding,
        )
        for item, origin in ((one.item, one.origin) for one in selected)
    )


def _told(reason: str, selected: Selected, artifact: CompactionArtifact) -> LifecycleEntry:
    item = selected.item
    if item.secret:
        source = REDACTED
    elif selected.origin == ARTIFACT:
        source = artifact.source_digest
    else:
        source = content_digest(item.content)
    return LifecycleEntry(stage="selection", reason=reason, item_key=item.key, source_digest=source)
