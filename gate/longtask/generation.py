"""What is known of one generation of an artifact before another may be made of it: drift, lineage and stop facts.

Pure detection. Rego stops a run on these facts; the way on is the event log (`canonical`), never another summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gate.longtask import drift
from gate.longtask.artifact import SCHEMA_VERSION, CompactionArtifact, CompactionSeed, Lineage, items_digest
from gate.longtask.canonical_form import digest
from gate.longtask.completion import Verified
from gate.longtask.drift import Drift, DriftKind
from gate.longtask.events import EventRecord
from gate.longtask.strategies import structured_artifact

DIRECT_SOURCES = frozenset({"event_log", "artifact", "migration"})
"""What an artifact can have been read from."""

canonical = structured_artifact
"""Makes the artifact again from the log alone: the same events, seed and schema always give the same bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """An artifact with what its store says of how it came about."""

    artifact: CompactionArtifact
    lineage: Lineage


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationFacts:
    """What was found; each stop rule is a fact of its own, and good is what has to be said."""

    drifts: tuple[Drift, ...]
    required_missing: tuple[str, ...]
    negative_constraints_missing: tuple[str, ...]
    issues_closed_without_verification: tuple[str, ...]
    source_digest_matches: bool
    workspace_matches: bool
    schema_readable: bool
    lineage_sound: bool

    @property
    def stops(self) -> tuple[str, ...]:
        """Codes of the stop rules that these facts meet, sorted; to report, not to decide."""
        met = {
            "required_item_missing": bool(self.required_missing),
            "negative_constraint_missing": bool(self.negative_constraints_missing),
            "open_issue_closed_without_verification": bool(self.issues_closed_without_verification),
            "artifact_source_digest_mismatch": not self.source_digest_matches,
            "stale_workspace_digest": not self.workspace_matches,
            "artifact_rejected_schema": not self.schema_readable,
        }
        return tuple(sorted(code for code, fact in met.items() if fact))

    def as_evidence(self) -> dict[str, Any]:
        """The JSON object that Rego reads: keys, codes and digests, no content."""
        return {
            "drifts": [{**asdict(one), "kind": one.kind.value} for one in self.drifts],
            "required_missing": list(self.required_missing),
            "negative_constraints_missing": list(self.negative_constraints_missing),
            "issues_closed_without_verification": list(self.issues_closed_without_verification),
            "source_digest_matches": self.source_digest_matches,
            "workspace_matches": self.workspace_matches,
            "schema_readable": self.schema_readable,
            "lineage_sound": self.lineage_sound,
        }


def inspect(
    generation: Generation,
    *,
    events: Sequence[EventRecord],
    seed: CompactionSeed,
    live_workspace_digest: str,
    parent: Generation | None = None,
    verified: Iterable[Verified] = (),
) -> GenerationFacts:
    """The facts about a generation. `events`: those up to the artifact's cursor, as the log has them now.

    `parent`: the generation before it, whether this one was made of it or of the log. Without it, an artifact that was
    made of one is not sound.
    """
    artifact = generation.artifact
    first, last = artifact.source_event_range
    own = tuple(event for event in events if first <= event.sequence <= last)
    found = [*drift.from_log(artifact, own, seed), *lineage_drifts(generation, parent)]
    if artifact.workspace_digest != live_workspace_digest:
        found.append(
            Drift(
                kind=DriftKind.VERSION,
                code="artifact_workspace_mismatch",
                key=artifact.artifact_id,
                before=artifact.workspace_digest,
                after=live_workspace_digest,
            )
        )
    if parent is not None:
        since = tuple(event for event in own if event.sequence > parent.artifact.source_event_range[1])
        found += drift.between(parent.artifact, artifact, since=since, verified=verified)

    def keys(*codes: str) -> tuple[str, ...]:
        return tuple(sorted({one.key for one in found if one.code in codes}))

    constraints = {item.key for item in parent.artifact.constraints} if parent is not None else set()
    return GenerationFacts(
        drifts=tuple(sorted(set(found))),
        required_missing=keys("required_item_missing"),
        negative_constraints_missing=tuple(
            sorted({*keys("negative_constraint_missing"), *(constraints & set(keys("item_deleted")))})
        ),
        issues_closed_without_verification=keys("open_issue_closed_without_verification"),
        source_digest_matches=bool(own)
        and (own[0].sequence, own[-1].sequence) == (first, last)
        and digest(own) == artifact.source_digest,
        workspace_matches=artifact.workspace_digest == live_workspace_digest,
        schema_readable=artifact.schema_version == SCHEMA_VERSION,
        lineage_sound=not any(lineage_drifts(generation, parent)),
    )


def lineage_drifts(generation: Generation, parent: Generation | None) -> tuple[Drift, ...]:
    """What the lineage says that is not so, as version drift."""
    return tuple(
        Drift(kind=DriftKind.VERSION, code=code, key=generation.artifact.artifact_id)
        for code in sorted(_lineage_codes(generation, parent))
    )


def _lineage_codes(generation: Generation, parent: Generation | None) -> Iterator[str]:
    lineage = generation.lineage
    if lineage.items_digest != items_digest(generation.artifact):
        yield "items_digest_mismatch"
    if lineage.direct_source not in DIRECT_SOURCES:
        yield "direct_source_unknown"
    if not lineage.generator.strip() or not lineage.generator_version.strip():
        yield "generator_unnamed"
    if parent is not None and _other_content(generation.artifact, parent.artifact):
        yield "artifact_id_reused"
    if lineage.direct_source == "event_log":
        # What was read counts: made of the log, it is the first generation again, whatever was there before it.
        if lineage.parent_artifact_id is not None or lineage.parent_digest is not None:
            yield "parent_not_read"
        if lineage.generation != 1:
            yield "generation_not_next"
    elif parent is None:
        yield "parent_not_found"
    else:
        if lineage.parent_artifact_id != parent.artifact.artifact_id:
            yield "parent_mismatch"
        if lineage.parent_digest != items_digest(parent.artifact):
            yield "parent_digest_mismatch"
        # A migration says the same in another schema: no semantic generation more.
        if lineage.generation != parent.lineage.generation + (lineage.direct_source != "migration"):
            yield "generation_not_next"


def _other_content(one: CompactionArtifact, other: CompactionArtifact) -> bool:
    """One id for two contents."""
    return one.artifact_id == other.artifact_id and items_digest(one) != items_digest(other)
