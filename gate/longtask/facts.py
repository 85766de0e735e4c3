"""The long-task section of the input document: digests, ranks and keys of both sides, set down for Rego to compare.

Pure but for reading what it is handed. Decides nothing; no content and no secret enters the document, only digests.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gate.longtask.artifact import CompactionArtifact, CompactionSeed, RunCheckpoint
from gate.longtask.canonical_form import content_digest, digest
from gate.longtask.completion import Verified
from gate.longtask.events import CarryItem, EventRecord, EvidenceLocator
from gate.longtask.stored import grouped
from gate.longtask.vocabulary import EventType
from gate.records import LocatorResult, TaskArtifact


def item_facts(item: CarryItem, group: str | None, *, sourced: bool = True) -> dict[str, Any]:
    """One item without its content."""
    return {
        "key": item.key,
        "group": group,
        "kind": item.kind.value,
        "authority_rank": item.authority.rank,
        "trust_rank": item.trust.rank,
        "secret": item.secret,
        "required": item.required,
        "content_digest": content_digest(item.content),
        "sourced": sourced,
    }


def artifact_facts(
    artifact: CompactionArtifact, row: TaskArtifact, *, digest_now: str, known_ids: Iterable[str]
) -> dict[str, Any]:
    """An artifact as its row and its content have it; `known_ids` are the events its items may name."""
    known = frozenset(known_ids)
    return {
        "run_id": artifact.run_id,
        "artifact_id": artifact.artifact_id,
        "digest": digest_now,
        "status": str(row.status),
        "namespace": row.namespace,
        "schema_version": artifact.schema_version,
        "first_sequence": artifact.source_event_range[0],
        "last_sequence": artifact.source_event_range[1],
        "source_digest": artifact.source_digest,
        "workspace_digest": artifact.workspace_digest,
        "generation": row.generation,
        "direct_source": row.direct_source,
        "parent_artifact_id": row.parent_artifact_id,
        "parent_digest": row.parent_digest,
        "items": [
            item_facts(item, group, sourced=set(item.source_event_ids) <= known)
            for group, item in grouped(artifact).values()
        ],
    }


def raw_facts(data: Mapping[str, Any], row: TaskArtifact, *, digest_now: str) -> dict[str, Any]:
    """An artifact that cannot be read: what its row says it is, what its text says beside that, and no items."""
    first: int | None = None
    last: int | None = None
    match data.get("source_event_range"):
        case [int(low), int(high)]:
            first, last = low, high
    names = ("run_id", "artifact_id", "schema_version", "source_digest", "workspace_digest")
    said = {name: data.get(name) if isinstance(data.get(name), str) else None for name in names}
    return {
        **(said if data else {"run_id": row.run_id, "artifact_id": row.artifact_id}),
        "digest": digest_now,
        "status": str(row.status),
        "namespace": row.namespace,
        "first_sequence": first,
        "last_sequence": last,
        "generation": row.generation,
        "direct_source": row.direct_source,
        "parent_artifact_id": row.parent_artifact_id,
        "parent_digest": row.parent_digest,
        "items": None,
    }


def checkpoint_facts(checkpoint: RunCheckpoint, *, artifact_digest: str, intact: bool) -> dict[str, Any]:
    """A checkpoint without the name of its next step, which is the host's word and not data for a rule."""
    return {
        "run_id": checkpoint.run_id,
        "checkpoint_id": checkpoint.checkpoint_id,
        "artifact_id": checkpoint.artifact_id,
        "artifact_digest": artifact_digest,
        "event_cursor": checkpoint.event_cursor,
        "workspace_digest": checkpoint.workspace_digest,
        "pending_step": checkpoint.pending_step,
        "completed_steps": list(checkpoint.completed_steps),
        "intact": intact,
    }


def source_facts(
    events: Sequence[EventRecord] | None, *, run_id: str, named: Iterable[str], carried: Iterable[str] = ()
) -> dict[str, Any]:
    """What the log says of an artifact's range now; None when it could not be read or held against the chain.

    `named`: source ids of the artifact's items; `carried`: those that its parent vouches for.
    """
    if not events:
        return {"resolved": False}
    known = {event.event_id for event in events} | set(carried)
    return {
        "resolved": True,
        "same_run": all(event.run_id == run_id for event in events),
        "increasing": all(a.sequence < b.sequence for a, b in itertools.pairwise(events)),
        "first_sequence": events[0].sequence,
        "last_sequence": events[-1].sequence,
        "sources_present": set(named) <= known,
        "digest": digest(tuple(events)),
    }


def parent_facts(artifact: CompactionArtifact, row: TaskArtifact) -> dict[str, Any]:
    """The artifact that was committed before."""
    return {**row_facts(row), "items": [item_facts(item, group) for group, item in grouped(artifact).values()]}


def row_facts(row: TaskArtifact) -> dict[str, Any]:
    """The same without its items."""
    return {
        "artifact_id": row.artifact_id,
        "digest": row.digest,
        "status": str(row.status),
        "generation": row.generation,
    }


def said_facts(
    events: Iterable[EventRecord], seed: CompactionSeed, parent: CompactionArtifact | None
) -> list[dict[str, Any]]:
    """The latest statement of each key, with the highest authority that any statement of it had."""
    before = {} if parent is None else grouped(parent)
    latest: dict[str, CarryItem] = {key: item for key, (_, item) in before.items()}
    highest = {key: item.authority.rank for key, item in latest.items()}
    for event in events:
        for item in event.carry_items:
            latest[item.key] = item
            highest[item.key] = max(highest.get(item.key, 0), item.authority.rank)
    groups = {key: group for key, (group, _) in before.items()}
    groups |= dict.fromkeys(seed.constraint_keys, "constraints") | dict.fromkeys(seed.open_issue_keys, "open_issues")
    return [
        {**item_facts(item, groups.get(key)), "highest_authority_rank": highest[key]}
        for key, item in sorted(latest.items())
    ]


def verification_facts(verified: Iterable[Verified]) -> list[dict[str, Any]]:
    """What verifiers said of each open issue."""
    return [
        {
            "key": one.key,
            "event_id": one.event_id,
            "command": one.command,
            "result": str(one.state),
            "exit_status": one.exit_status,
            "workspace_digest": one.workspace_digest,
        }
        for one in verified
    ]


def updated_keys(events: Iterable[EventRecord]) -> list[str]:
    """Keys of which the last word in `events` is a user's own."""
    last = {item.key: event.event_type for event in events for item in event.carry_items}
    return sorted(key for key, said_by in last.items() if said_by is EventType.USER_UPDATE)


def locator_facts(
    locators: Iterable[EvidenceLocator], results: Mapping[str, LocatorResult], optional: Iterable[str]
) -> list[dict[str, Any]]:
    """Each locator with what was found now."""
    spared = frozenset(optional)
    return [
        {
            "locator_id": one.locator_id,
            "required": one.locator_id not in spared,
            "content_digest": one.content_digest,
            "result": str(results.get(one.locator_id, LocatorResult.UNRESOLVED)),
        }
        for one in locators
    ]
