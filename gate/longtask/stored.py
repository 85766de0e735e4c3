"""Artifacts and checkpoints as the canonical text that is stored and hashed, and back.

Pure. What cannot be read back whole is refused with its code; an unknown schema is never read in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gate import canonical
from gate.errors import InputError
from gate.longtask.artifact import GROUPS, SCHEMA_VERSION, CompactionArtifact, RunCheckpoint
from gate.longtask.canonical_form import plain
from gate.longtask.events import CarryItem, EventRecord, EvidenceLocator, event_from, item_from, refuse

_ARTIFACT = frozenset(CompactionArtifact.__dataclass_fields__)
_CHECKPOINT = frozenset(RunCheckpoint.__dataclass_fields__)
_LOCATOR = frozenset(EvidenceLocator.__dataclass_fields__)


def body_of(record: CompactionArtifact | RunCheckpoint | EventRecord) -> str:
    """The record as RFC 8785 text."""
    return canonical.canonical_bytes(plain(record)).decode("utf-8")


def named(artifact: CompactionArtifact, *, made_of: str = "") -> CompactionArtifact:
    """The artifact under the id that its whole content gives it: other content can never have it.

    `made_of`: digest of the artifact it is a migration of, so that it never has that one's id.
    """
    content = {**plain(artifact), "artifact_id": made_of}
    return replace(artifact, artifact_id="art-" + canonical.digest(content).removeprefix("sha256:")[:40])


def raw_artifact(body: str | None) -> Mapping[str, Any]:
    """The stored artifact as plain data, whatever its schema; empty when it cannot be read."""
    try:
        found = canonical.parse(body or "")
    except InputError:
        return {}
    return found if isinstance(found, dict) else {}


def artifact_from(body: str | None) -> CompactionArtifact:
    """Raises `LongTaskError`: `invalid_artifact_record`, `artifact_rejected_schema`, or the rule broken."""
    data = raw_artifact(body)
    if data and data.get("schema_version") != SCHEMA_VERSION:
        raise refuse("artifact_rejected_schema")
    try:
        if frozenset(data) != _ARTIFACT:
            raise refuse("invalid_artifact_record")
        first, last = data["source_event_range"]
        groups: dict[str, Any] = {name: tuple(item_from(each) for each in data[name]) for name in GROUPS}
        return CompactionArtifact(
            **{name: data[name] for name in ("artifact_id", "run_id", "created_at", "schema_version")},
            **{name: data[name] for name in ("source_digest", "workspace_digest")},
            **groups,
            source_event_range=(_whole(first), _whole(last)),
            goal=item_from(data["goal"]),
            next_intent=item_from(data["next_intent"]),
            evidence_locators=tuple(_locator(each) for each in data["evidence_locators"]),
        )
    except (TypeError, ValueError, KeyError) as exc:
        raise refuse("invalid_artifact_record") from exc


def checkpoint_from(body: str | None) -> RunCheckpoint:
    """Raises `LongTaskError`: `invalid_checkpoint_record`, or the rule broken."""
    data = raw_artifact(body)
    if frozenset(data) != _CHECKPOINT or not isinstance(data["completed_steps"], list):
        raise refuse("invalid_checkpoint_record")
    return RunCheckpoint(**{**data, "completed_steps": tuple(data["completed_steps"])})


def record_from(body: str | None) -> EventRecord:
    """Raises `LongTaskError`: `invalid_event_record`, or the rule broken."""
    return event_from(raw_artifact(body))


def grouped(artifact: CompactionArtifact) -> dict[str, tuple[str, CarryItem]]:
    """Each item with its group, by key."""
    found = {"goal": (artifact.goal,)} | {name: getattr(artifact, name) for name in GROUPS}
    found |= {"next_intent": (artifact.next_intent,)}
    return {item.key: (group, item) for group, items in found.items() for item in items}


def _locator(data: Any) -> EvidenceLocator:
    if not isinstance(data, dict) or frozenset(data) != _LOCATOR:
        raise refuse("invalid_artifact_record")
    return EvidenceLocator(**data)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise refuse("invalid_artifact_record")
    return value
