"""The context packet: which items the next model call sees, in which order and byte budget, and why not others.

Pure and deterministic. It selects and renders; it raises nobody's authority, and whether the boundary may be resumed at
all was decided before it is called. Stages: 1 sensitivity, 2 scope, 3 duplicates, 4 supersession, 5 conflict, 6 budget.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from gate.longtask.canonical_form import content_digest, digest, plain
from gate.longtask.events import refuse
from gate.longtask.secret_shapes import shapes
from gate.longtask.vocabulary import ContextKind, InstructionAuthority, RetentionPriority, Sensitivity, TrustLevel

SECTION_ORDER = (
    ContextKind.INSTRUCTION,
    ContextKind.TASK,
    ContextKind.FACT,
    ContextKind.ARTIFACT,
    ContextKind.OBSERVATION,
    ContextKind.TOOL_SCHEMA,
)

REDACTED = "redacted"
"""Stands in a trace where the digest of a secret would."""

_BOUNDARY = "external-model"
_DUPLICATE = "duplicate"
_FOLDER_FILES = frozenset({"AGENTS.md", "CLAUDE.md"})
"""Instruction files that speak for the folder they stand in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What an item is about."""

    repository: str
    path_prefix: str
    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where an item comes from."""

    source_type: str
    """artifact, task_contract, working_set or current_user."""
    source_id: str
    version: str | None
    observed_at: str | None
    content_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An item that may stand in the packet, with the identity it keeps."""

    item_id: str
    kind: ContextKind
    content: str
    authority: InstructionAuthority
    trust: TrustLevel
    retention_priority: RetentionPriority
    sensitivity: Sensitivity
    required_for: frozenset[str]
    scope: Scope
    provenance: Provenance
    own: bool = False
    """A statement of its own, of which its source made several: none of those supersedes it or speaks in its place."""
    binding: bool = False
    """It may not be left out for anything optional, whatever its priority."""

    @property
    def secret(self) -> bool:
        """By its label, or because its content has the shape of a well-known secret."""
        return self.sensitivity is Sensitivity.SECRET or bool(shapes(self.content))

    @property
    def units(self) -> int:
        """Size of the content in UTF-8 bytes."""
        return len(self.content.encode())

    @property
    def required(self) -> bool:
        """It is chosen before anything optional."""
        return self.retention_priority is RetentionPriority.REQUIRED or bool(self.required_for)

    @property
    def standing(self) -> tuple[int, int, int]:
        """Priority, trust, authority: what is kept when two say the same."""
        return (self.retention_priority.rank, self.trust.rank, self.authority.rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildConfig:
    """For which task and place a packet is built, and how large it may be."""

    task_id: str
    repository: str
    target_path: str
    budget_limit: int
    """UTF-8 bytes of content."""
    expected_requirements: frozenset[str] = frozenset()
    allowed_sensitivity: frozenset[Sensitivity] = frozenset({Sensitivity.PUBLIC, Sensitivity.INTERNAL})
    conflicts: Literal["visible", "strict"] = field(default="visible")
    """`strict` keeps neither side of a conflict between statements of one source."""

    def __post_init__(self) -> None:
        if type(self.budget_limit) is not int or self.budget_limit < 0:
            raise refuse("negative_budget_limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """All chosen items of one kind, as the model sees them."""

    kind: ContextKind
    item_ids: tuple[str, ...]
    serialized_content: str
    budget_units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPacket:
    """The input of one model call. Units are UTF-8 bytes of content."""

    task_id: str
    sections: tuple[Section, ...]
    tools: tuple[str, ...]
    budget_limit: int
    budget_used: int
    selected_required_units: int
    all_required_candidate_units: int
    requirement_evidence_units: int
    selected_item_ids: tuple[str, ...]
    missing_requirements: tuple[str, ...]
    semantic_packet_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEntry:
    """What became of one candidate at one stage; never its content."""

    item_id: str
    content_digest: str
    stage: str
    outcome: str
    reason: str
    estimated_units: int


@dataclass(frozen=True, slots=True)
class Built:
    """A packet and the trace of how it came about."""

    packet: ContextPacket
    trace: tuple[TraceEntry, ...]


class _Build:
    """One pass over the candidates; each stage takes some away and says so."""

    def __init__(self, candidates: Iterable[Candidate], config: BuildConfig) -> None:
        self.config = config
        self.live = sorted(candidates, key=lambda item: item.item_id)
        self.trace: list[TraceEntry] = []

    def note(self, item: Candidate, stage: str, outcome: str, reason: str) -> None:
        secret = item.secret
        self.trace.append(
            TraceEntry(
                item_id=item.item_id,
                content_digest=REDACTED if secret else content_digest(item.content),
                stage=stage,
                outcome=outcome,
                reason=reason,
                estimated_units=0 if secret else item.units,
            )
        )

    def drop(self, stage: str, reason: str, bad: Callable[[Candidate], bool]) -> None:
        kept = []
        for item in self.live:
            if bad(item):
                self.note(item, stage, "dropped", reason)
            else:
                kept.append(item)
        self.live = kept

    def duplicates(self) -> None:
        best: dict[tuple[ContextKind, str], Candidate] = {}
        for item in self.live:
            same = (item.kind, content_digest(item.content))
            if same not in best or item.standing > best[same].standing:
                best[same] = item

        def said_elsewhere(item: Candidate) -> bool:
            other = best[item.kind, content_digest(item.content)]
            # What only this one is evidence for would be missing without it.
            return other.item_id != item.item_id and (not item.own or item.required_for <= other.required_for)

        self.drop("dedup", _DUPLICATE, said_elsewhere)

    def superseded(self) -> None:
        """Of one source, only the newest version speaks, when every version is known."""
        old: set[str] = set()
        for group in self._by_source().values():
            versions = {item.provenance.version for item in group}
            if len(versions) > 1 and None not in versions:
                newest = max(str(version) for version in versions)
                old |= {item.item_id for item in group if item.provenance.version != newest and not item.own}
        self.drop("supersession", "superseded", lambda item: item.item_id in old)

    def conflicts(self) -> frozenset[str]:
        """Ids of statements of one source that stand beside each other; instructions keep their best only."""
        lost: set[str] = set()
        visible: set[str] = set()
        for (kind, _), group in self._by_source().items():
            if len(group) < 2:
                continue
            ids = {item.item_id for item in group}
            if kind is ContextKind.TOOL_SCHEMA or self.config.conflicts == "strict":
                lost |= ids
            elif kind is ContextKind.INSTRUCTION:
                kept = {item.item_id for item in group if item.own}
                kept |= {max(group, key=lambda item: item.standing).item_id}
                lost |= ids - kept
                visible |= kept if len(kept) > 1 else set()
            else:
                visible |= ids
        self.drop("conflict", "conflict_lost", lambda item: item.item_id in lost)
        for item in self.live:
            if item.item_id in visible:
                self.note(item, "conflict", "kept", "conflict_visible")
        return frozenset(visible)

    def within_budget(self) -> tuple[Candidate, ...]:
        """What fits, required first, then by standing; in that order."""
        order = sorted(
            self.live,
            key=lambda item: (not (item.required or item.binding), *(-rank for rank in item.standing), item.item_id),
        )
        used, chosen = 0, []
        for item in order:
            if used + item.units > self.config.budget_limit:
                self.note(item, "budget", "dropped", "budget_exceeded")
                continue
            used += item.units
            hostile = item.trust is TrustLevel.HOSTILE
            outcome, reason = (
                ("selected_as_data", "untrusted_instruction") if hostile else ("selected", "within_budget")
            )
            self.note(item, "budget", outcome, reason)
            chosen.append(item)
        return tuple(chosen)

    def _by_source(self) -> dict[tuple[ContextKind, str], list[Candidate]]:
        groups: dict[tuple[ContextKind, str], list[Candidate]] = defaultdict(list)
        for item in self.live:
            groups[item.kind, item.provenance.source_id].append(item)
        return groups


def build_packet(candidates: Iterable[Candidate], config: BuildConfig) -> Built:
    """The packet of these candidates; the same candidates in any order give the same bytes."""
    items = tuple(candidates)
    chosen, trace = _chosen(items, config)
    return Built(_packet(chosen, items, config), trace)


def lacking(candidates: Iterable[Candidate], config: BuildConfig, *, needed: Iterable[str]) -> tuple[str, ...]:
    """What a packet of these candidates would be without: ids of `needed`, and requirements; sorted.

    It builds none: whether one may be built at all is decided with this. A duplicate is there under another id.
    """
    items = tuple(candidates)
    chosen, trace = _chosen(items, config)
    there = {item.item_id for item in chosen} | {one.item_id for one in trace if one.reason == _DUPLICATE}
    return tuple(sorted({*(frozenset(needed) - there), *_missing(chosen, items, config)}))


def _chosen(items: tuple[Candidate, ...], config: BuildConfig) -> tuple[tuple[Candidate, ...], tuple[TraceEntry, ...]]:
    build = _Build(items, config)
    build.drop("sensitivity", "sensitive", lambda item: not _allowed(item, config))
    build.drop("scope", "out_of_scope", lambda item: not _in_scope(item, config))
    build.duplicates()
    build.superseded()
    build.conflicts()
    chosen = build.within_budget()
    return chosen, tuple(build.trace)


def _missing(chosen: Iterable[Candidate], items: Iterable[Candidate], config: BuildConfig) -> frozenset[str]:
    needed = config.expected_requirements | {name for item in items for name in item.required_for}
    return needed - {name for item in chosen for name in item.required_for}


def _packet(chosen: tuple[Candidate, ...], items: tuple[Candidate, ...], config: BuildConfig) -> ContextPacket:
    sections = tuple(
        _section(kind, group)
        for kind in SECTION_ORDER
        if (group := tuple(item for item in chosen if item.kind is kind))
    )
    said = {
        "task_id": config.task_id,
        "sections": sections,
        "tools": tuple(item.item_id for item in chosen if item.kind is ContextKind.TOOL_SCHEMA),
        "budget_limit": config.budget_limit,
        "budget_used": sum(item.units for item in chosen),
        "selected_required_units": sum(item.units for item in chosen if item.required),
        "all_required_candidate_units": sum(item.units for item in items if item.required),
        "requirement_evidence_units": sum(item.units for item in chosen if item.required_for),
        "selected_item_ids": tuple(name for section in sections for name in section.item_ids),
        "missing_requirements": tuple(sorted(_missing(chosen, items, config))),
    }
    return ContextPacket(
        **said,  # type: ignore[arg-type]  # one mapping is both hashed and built from
        semantic_packet_digest=digest({**plain(said), "provider_boundary": _BOUNDARY}),
    )


def _section(kind: ContextKind, group: tuple[Candidate, ...]) -> Section:
    return Section(
        kind=kind,
        item_ids=tuple(item.item_id for item in group),
        serialized_content="\n\n".join(map(_rendered, group)),
        budget_units=sum(item.units for item in group),
    )


def _rendered(item: Candidate) -> str:
    head = (
        f"[ITEM id={item.item_id} source={item.provenance.source_id} authority={item.authority} "
        f"trust={item.trust} sensitivity={item.sensitivity}]"
    )
    # An item that contains the closing mark would end itself early and speak as another one.
    content = item.content.replace("[ITEM", "[\u200bITEM").replace("[/ITEM", "[\u200b/ITEM")
    return f"{head}\n{content}\n[/ITEM]"


def _allowed(item: Candidate, config: BuildConfig) -> bool:
    found = Sensitivity.SECRET if item.secret else item.sensitivity
    return found in config.allowed_sensitivity and item.sensitivity in config.allowed_sensitivity


def _in_scope(item: Candidate, config: BuildConfig) -> bool:
    scope = item.scope
    if (scope.repository, scope.task_id) != (config.repository, config.task_id):
        return False
    if item.kind is not ContextKind.INSTRUCTION:
        return True
    prefix, target = PurePosixPath(scope.path_prefix), PurePosixPath(config.target_path)
    if prefix.name in _FOLDER_FILES:
        prefix = prefix.parent
    return prefix == target or prefix in target.parents
