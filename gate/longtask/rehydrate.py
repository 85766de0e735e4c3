"""Rehydration: read the committed pair again, let Rego decide in its fixed order, and only then build the packet.

Decides nothing and pastes no summary: every item keeps its kind, authority, trust and sensitivity, and goes through the
packet's own stages. No content enters the trace.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gate import canonical
from gate.decision import Decision
from gate.errors import EvidenceError
from gate.evidence import Run
from gate.longtask import facts, stored
from gate.longtask.artifact import CompactionArtifact, RunCheckpoint
from gate.longtask.assembly import sources_of
from gate.longtask.canonical_form import serialized_bytes
from gate.longtask.commit import MAIN
from gate.longtask.completion import VerificationReceipt, verify
from gate.longtask.events import CarryItem, EventRecord, LongTaskError, WorkingSet, refuse
from gate.longtask.log import TaskLog
from gate.longtask.packet import BuildConfig, Built, build_packet, lacking
from gate.longtask.parties import Boundaries
from gate.longtask.resolvers import Resolver, resolve
from gate.longtask.selection import (
    CURRENT_USER,
    TASK_CONTRACT,
    WORKING_SET,
    LifecycleEntry,
    candidates,
    select,
)
from gate.longtask.surfaces import workspace_now
from gate.longtask.vocabulary import ContextKind, EventType
from gate.records import CommittedPair, LedgerEntry, LocatorResult, Store, TaskPacket

_MAX_CURSOR = 2**53 - 1
_INSTRUCTION = ContextKind.INSTRUCTION


class Resumed(Protocol):
    """What a resume answered."""

    @property
    def decision(self) -> Decision:
        """One of three verdicts."""

    @property
    def reason(self) -> str:
        """The one code that stands for all."""

    @property
    def run(self) -> Run | None:
        """The handle of the new epoch, when continuity was validated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the context is for, as whoever resumes says."""

    repository: str
    target_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What the host brings besides the log and the pair."""

    config: BuildConfig
    target: Target
    task_items: tuple[CarryItem, ...] = ()
    working_set: WorkingSet = field(default_factory=WorkingSet)
    current_user_items: tuple[CarryItem, ...] = ()
    receipts: tuple[VerificationReceipt, ...] = ()
    optional_locators: frozenset[str] = frozenset()
    """Locators that may be missing, stale or denied without blocking; every other one is required."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehydrated:
    """What became of a rehydration; a packet only when continuity was validated."""

    decision: Decision
    reason: str
    run: Run | None
    built: Built | None
    checkpoint: RunCheckpoint | None
    locators: Mapping[str, LocatorResult]
    lifecycle: tuple[LifecycleEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehydrator:
    """One host's way back into a task."""

    gate: Boundaries
    store: Store
    workspace: Callable[[], str]
    operator: str
    resolvers: Mapping[str, Resolver] = field(default_factory=dict)
    namespace: str = MAIN

    def recover(self, host: Run, material: Material) -> Rehydrated:
        """After a crash, or a compaction that was refused: back to the pair that was committed last."""
        return self.rehydrate(host, self.gate.recover(host).envelope_id, material)

    def rehydrate(self, host: Run, envelope_id: str, material: Material) -> Rehydrated:
        """The sixth step: resumes the boundary and builds the packet from its pair; or says why not.

        Raises `LongTaskError`: `working_set_too_large`, `working_set_event_unknown`, `working_set_instruction_unsaid`,
        `workspace_unreadable`.
        """
        started = time.monotonic_ns()
        tenant = host.identity.tenant_id or ""
        boundary = self.store.boundary(tenant, envelope_id)
        pair = self.store.committed_pair(tenant, host.run_id, envelope_id=envelope_id)
        read = self._read(tenant, host, pair, material)
        resumed: Resumed = self.gate.resume(
            envelope_id,
            read.body if boundary is not None and boundary.summary_sha256 is not None else None,
            host,
            meaning=read.section,
        )
        built, told = None, read.stale
        if resumed.run is not None and read.artifact is not None and read.checkpoint is not None:
            chosen, entries = select(read.artifact, read.live)
            built = build_packet(
                candidates(chosen, artifact=read.artifact, checkpoint=read.checkpoint, config=material.config),
                material.config,
            )
            packet_digest = built.packet.semantic_packet_digest
            last = LifecycleEntry(stage="packet", reason="packet_built", item_key=None, source_digest=packet_digest)
            told = (*read.stale, *entries, last)
            self.store.log_packet(
                TaskPacket(
                    tenant_id=tenant,
                    run_id=host.run_id,
                    packet_digest=packet_digest,
                    artifact_id=read.artifact.artifact_id,
                    checkpoint_id=read.checkpoint.checkpoint_id,
                    size_bytes=built.packet.budget_used,
                    envelope_id=envelope_id,
                    items=canonical.canonical_bytes(list(built.packet.selected_item_ids)).decode("utf-8"),
                )
            )
        self._note(tenant, host, envelope_id, read, resumed, built, started)
        return Rehydrated(
            decision=resumed.decision,
            reason=resumed.reason,
            run=resumed.run,
            built=built,
            checkpoint=read.checkpoint if resumed.run is not None else None,
            locators=read.found,
            lifecycle=told,
        )

    def _read(self, tenant: str, host: Run, pair: CommittedPair | None, material: Material) -> _Read:
        """Everything about the pair as it is now; what cannot be read is null, and Rego says what that means."""
        live_workspace = workspace_now(self.workspace)
        if pair is None or pair.artifact is None:
            return _Read(section=self._bare(material, live_workspace))
        body = pair.artifact.body
        digest_now = None if body is None else canonical.digest_bytes(body.encode("utf-8", "surrogatepass"))
        checkpoint = _or_none(lambda: stored.checkpoint_from(pair.checkpoint.body))
        artifact = _or_none(lambda: stored.artifact_from(body))
        base = self._bare(material, live_workspace)
        if checkpoint is not None:
            base["checkpoint"] = facts.checkpoint_facts(
                checkpoint, artifact_digest=pair.checkpoint.artifact_digest, intact=True
            )
        if artifact is None:
            base["artifact"] = facts.raw_facts(stored.raw_artifact(body), pair.artifact, digest_now=digest_now or "")
            return _Read(section=base, checkpoint=checkpoint, body=body)
        first, last = artifact.source_event_range
        events = self._events(tenant, host.run_id, first, last)
        carried = self._carried(tenant, pair, artifact)
        known = {event.event_id for event in events or ()} | carried
        later = self._events(tenant, host.run_id, last + 1, _MAX_CURSOR) or ()
        live = self._live(material, (*(events or ()), *later), later, known)
        found = resolve(artifact.evidence_locators, self.resolvers, events=events or ())
        self.store.note_locators(tenant, artifact.artifact_id, found)
        issues = [item.key for item in artifact.open_issues]
        verified = verify(
            issues,
            events=(*(events or ()), *later),
            receipts=material.receipts,
            live_workspace_digest=live_workspace,
        )
        section = {
            **base,
            "artifact": facts.artifact_facts(artifact, pair.artifact, digest_now=digest_now or "", known_ids=known),
            "source": facts.source_facts(events, run_id=host.run_id, named=sources_of(artifact), carried=carried),
            "verifications": facts.verification_facts(verified),
            "user_updates": facts.updated_keys(later),
            "locators": facts.locator_facts(artifact.evidence_locators, found, material.optional_locators),
            "live": [{**facts.item_facts(item, None), "origin": origin} for origin, item in live],
            "packet": {
                "budget_bytes": material.config.budget_limit,
                "required_bytes": _required_bytes(artifact, checkpoint, live, material.config),
            },
        }
        stale = tuple(
            LifecycleEntry(
                stage="workspace", reason="locator_stale", item_key=one.locator_id, source_digest=one.content_digest
            )
            for one in artifact.evidence_locators
            if one.workspace_digest != live_workspace or found.get(one.locator_id) is not LocatorResult.MATCH
        )
        return _Read(
            section=section,
            artifact=artifact,
            checkpoint=checkpoint,
            body=body,
            live=live,
            found=found,
            stale=stale,
        )

    def _bare(self, material: Material, live_workspace: str) -> dict[str, Any]:
        return {
            "phase": "rehydrate",
            "namespace": self.namespace,
            "checkpoint": None,
            "artifact": None,
            "source": None,
            "workspace_digest": live_workspace,
            "verifications": [],
            "user_updates": [],
            "locators": [],
            "live": [],
            "target": {"repository": material.target.repository, "target_path": material.target.target_path},
            "config": {"repository": material.config.repository, "target_path": material.config.target_path},
            "packet": None,
        }

    def _events(self, tenant: str, run_id: str, first: int, last: int) -> tuple[EventRecord, ...] | None:
        if not 0 <= first <= last <= _MAX_CURSOR:
            return ()
        try:
            return TaskLog(store=self.store).read(tenant, run_id, first=first, last=last)
        except (EvidenceError, LongTaskError):
            # A log that does not hold is an answer about the source, with a code of its own in the policies.
            return None

    def _carried(self, tenant: str, pair: CommittedPair, artifact: CompactionArtifact) -> set[str]:
        """Events that the parent vouches for: only while it is exactly the parent that was named."""
        row = pair.artifact
        if row is None or row.parent_artifact_id is None:
            return set()
        parent = self.store.task_artifact(tenant, row.parent_artifact_id)
        if parent is None or parent.body is None or parent.digest != row.parent_digest:
            return set()
        if canonical.digest_bytes(parent.body.encode("utf-8", "surrogatepass")) != parent.digest:
            return set()
        found = _or_none(lambda: stored.artifact_from(parent.body))
        return set() if found is None else sources_of(found)

    def _live(
        self, material: Material, read: Sequence[EventRecord], later: Sequence[EventRecord], known: set[str]
    ) -> tuple[tuple[str, CarryItem], ...]:
        """Live items, oldest surface first: contract, working set with later events, then the user's own."""
        working, names = material.working_set, known | {event.event_id for event in later}
        if serialized_bytes(working.carry_items) > working.max_serialized_bytes and working.carry_items:
            raise refuse("working_set_too_large", "the working set is over its own limit of bytes")
        named = {source for item in working.carry_items for source in item.source_event_ids}
        if not {*working.event_ids, *named} <= names:
            raise refuse("working_set_event_unknown", "the working set names an event that is not in the log")
        said = {(item.authority, item.content) for event in read for item in event.carry_items}
        if any(
            item.kind is _INSTRUCTION and (item.authority, item.content) not in said for item in working.carry_items
        ):
            raise refuse("working_set_instruction_unsaid", "the working set instructs in words that no event has")
        by_user = [e for e in later if e.event_type is EventType.USER_UPDATE]
        others = [e for e in later if e.event_type is not EventType.USER_UPDATE]
        surfaces = (
            *((TASK_CONTRACT, item) for item in material.task_items),
            *((WORKING_SET, item) for event in others for item in event.carry_items),
            *((WORKING_SET, item) for item in working.carry_items),
            *((CURRENT_USER, item) for event in by_user for item in event.carry_items),
            *((CURRENT_USER, item) for item in material.current_user_items),
        )
        # Of one key the newest surface speaks, as in the selection: what it hides cannot block it.
        newest = {item.key: (origin, item) for origin, item in surfaces}
        return tuple(newest.values())

    def _note(
        self,
        tenant: str,
        host: Run,
        envelope_id: str,
        read: _Read,
        resumed: Resumed,
        built: Built | None,
        started: int,
    ) -> None:
        if self.store.run(tenant, host.run_id) is None:
            return
        audit = {
            "envelope_id": envelope_id,
            "checkpoint_id": None if read.checkpoint is None else read.checkpoint.checkpoint_id,
            "artifact_id": None if read.artifact is None else read.artifact.artifact_id,
            "schema_version": None if read.artifact is None else read.artifact.schema_version,
            "reasons": list(resumed.decision.codes),
            "packet_digest": None if built is None else built.packet.semantic_packet_digest,
            "dropped": []
            if built is None
            else [f"{t.item_id}:{t.reason}" for t in built.trace if t.outcome == "dropped"],
            "locators": {name: str(result) for name, result in sorted(read.found.items())},
        }
        self.store.log_task(
            LedgerEntry(
                tenant_id=tenant,
                run_id=host.run_id,
                kind="rehydration",
                outcome="ok" if built is not None else resumed.reason,
                operator=self.operator,
                audit=canonical.canonical_bytes(audit).decode("utf-8"),
                bytes_before=0 if read.artifact is None else serialized_bytes(read.artifact.items),
                bytes_after=0 if built is None else built.packet.budget_used,
                duration_ms=(time.monotonic_ns() - started) // 1_000_000,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    section: dict[str, Any]
    artifact: CompactionArtifact | None = None
    checkpoint: RunCheckpoint | None = None
    body: str | None = None
    live: tuple[tuple[str, CarryItem], ...] = ()
    found: Mapping[str, LocatorResult] = field(default_factory=dict)
    stale: tuple[LifecycleEntry, ...] = ()


def _required_bytes(
    artifact: CompactionArtifact,
    checkpoint: RunCheckpoint | None,
    live: Iterable[tuple[str, CarryItem]],
    config: BuildConfig,
) -> int | None:
    """What the packet must have room for; None when something that must be in it would not be, whatever the room."""
    if checkpoint is None:
        return None
    chosen, _ = select(artifact, live)
    items = candidates(chosen, artifact=artifact, checkpoint=checkpoint, config=config)
    needed = [item for item in items if item.required or item.binding]
    # With all the room there could be: what is still not chosen is kept out by something else.
    roomy = replace(config, budget_limit=_MAX_CURSOR)
    known = {item.key for item in artifact.items}
    if lacking(items, roomy, needed=(item.item_id for item in needed if item.item_id in known)):
        return None
    return sum(item.units for item in needed)


def _or_none(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except LongTaskError:
        return None
