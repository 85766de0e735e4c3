"""The six steps of a compaction: freeze, build, validate in Rego, persist artifact, persist checkpoint, replace.

Decides nothing. Steps 1 to 5 are here; the sixth, replacing the model's input, is `rehydrate`, which nobody can take
before the fifth is committed. A crash between any two leaves the pair that was committed last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import UnionType
from typing import Any

from gate import canonical
from gate.decision import ActionBlocked, Verdict
from gate.errors import GateError
from gate.evidence import Run
from gate.longtask import drift, facts
from gate.longtask.artifact import (
    SCHEMA_VERSION,
    CompactionArtifact,
    CompactionSeed,
    Lineage,
    RunCheckpoint,
    items_digest,
)
from gate.longtask.assembly import artifact_row, carried_forward, checkpoint_row, places, sources_of
from gate.longtask.canonical_form import serialized_bytes
from gate.longtask.completion import VerificationReceipt, Verified, verify
from gate.longtask.events import EventRecord, EvidenceLocator, LongTaskError, blank, refuse, require, typed
from gate.longtask.log import TaskLog
from gate.longtask.parties import Boundaries, Migrated
from gate.longtask.resolvers import Resolver, resolve
from gate.longtask.secret_shapes import shapes
from gate.longtask.stored import artifact_from, body_of, named
from gate.longtask.strategies import Strategy, Structured
from gate.longtask.surfaces import workspace_now
from gate.longtask.triggers import Trigger, frozen_cursor
from gate.records import (
    CommittedPair,
    LedgerEntry,
    LocatorResult,
    Store,
    TaskArtifact,
)

MAIN = "main"
"""Namespace of a run that is no fork."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A boundary with its meaning: what a context may be replaced from."""

    envelope_id: str
    artifact: CompactionArtifact
    checkpoint: RunCheckpoint
    artifact_digest: str
    generation: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be compacted, and what the host knows that the log does not.

    Raises `LongTaskError`: `compaction_request_invalid`, `secret_request`.
    """

    seed: CompactionSeed
    next_step: str
    completed_steps: tuple[str, ...] = ()
    pending_step: str | None = None
    pending_calls: tuple[str, ...] = ()
    """Steps whose call was issued and has not returned: each must be the pending step, and none completed."""
    evidence: tuple[EvidenceLocator, ...] = ()
    receipts: tuple[VerificationReceipt, ...] = ()
    reason: str = "context_compaction"
    """context_compaction, context_reset, handoff or fork."""
    from_log: bool = True
    """Made of the whole log again; otherwise of the committed artifact and the events since."""
    trigger: Trigger | None = None
    """What proposed it. Its frozen cursor is the compaction's: what was appended since is merged when the context is
    rebuilt, but for an idle moment, which is over once something was appended."""
    optional_locators: frozenset[str] = frozenset()
    migrated: Migrated | None = None
    """The committed artifact in the schema of now, in place of a new one; nothing may have been appended since."""

    def __post_init__(self) -> None:
        typed(self, _REQUEST_TYPES, "compaction_request_invalid")
        members = (
            (str, (*self.completed_steps, *self.pending_calls)),
            (EvidenceLocator, self.evidence),
            (VerificationReceipt, self.receipts),
        )
        said = not blank(self.next_step) and (self.pending_step is None or not blank(self.pending_step))
        if not said or not all(isinstance(one, kind) for kind, all_of in members for one in all_of):
            raise refuse("compaction_request_invalid", "a field of the request is blank or of another type")
        steps = (self.next_step, self.pending_step or "", *self.completed_steps, *self.pending_calls)
        places = (word for one in self.evidence for word in (one.locator_id, one.kind, one.ref))
        if shapes("\n".join((*steps, *places))):
            raise refuse("secret_request", "a step or a locator holds a secret, which is never written; use an id")


_REQUEST_TYPES: tuple[tuple[str, type | UnionType], ...] = (
    ("seed", CompactionSeed),
    *((name, tuple) for name in ("completed_steps", "pending_calls", "evidence", "receipts")),
    ("optional_locators", frozenset),
    ("trigger", Trigger | None),
)


def _silent(step: int) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    """One host's commits. `workspace` says the digest of the workspace as it is when it is asked."""

    gate: Boundaries
    store: Store
    workspace: Callable[[], str]
    operator: str
    resolvers: Mapping[str, Resolver] = field(default_factory=dict)
    strategy: Strategy = field(default_factory=Structured)
    namespace: str = MAIN
    told: Callable[[int], None] = _silent
    """Called with the number of each step that is done."""

    def __post_init__(self) -> None:
        # Before anything is committed: the audit of a commit is written last, and could not be.
        require(((self.operator, "blank_operator"), (self.namespace, "blank_namespace")))

    @property
    def log(self) -> TaskLog:
        """The log that is compacted."""
        return TaskLog(store=self.store)

    def compact(self, run: Run, request: Request) -> Committed:
        """Takes the run over a boundary with its meaning; nothing runs in it until it is rehydrated.

        Raises `ActionBlocked` when no boundary is permitted or the pair may not be committed (then `recover` the run:
        the last committed pair is in force), `LongTaskError` for a log that cannot be compacted.
        """
        started = time.monotonic_ns()
        tenant = run.identity.tenant_id or ""
        try:
            done = self._steps(run, request, tenant)
        except GateError as exc:
            self._note(run, tenant, request, outcome=_code(exc), started=started)
            raise
        self._note(run, tenant, request, outcome="ok", started=started, done=done)
        return done

    def _steps(self, run: Run, request: Request, tenant: str) -> Committed:
        pair = self.store.committed_pair(tenant, run.run_id)
        cursor = frozen_cursor(request.trigger, self.log.cursor(tenant, run.run_id))
        self.told(1)
        parent = _parent(pair, needed=not request.from_log)
        first = 1 if request.from_log or parent is None else parent[0].source_event_range[1] + 1
        events = self.log.read(tenant, run.run_id, first=first, last=cursor)
        # Before the boundary opens: a compactor that is slow or fails holds up nobody, and what is appended meanwhile
        # is after the frozen cursor, and is merged when the context is rebuilt.
        if request.migrated is None:
            artifact, lineage = self._build(events, request, None if request.from_log else parent)
            before = None if parent is None else facts.parent_facts(*parent)
        else:
            artifact, lineage, before = _taken_over(request.migrated, pair)
        text = body_of(artifact)
        self.told(2)
        boundary = self.gate.prepare_boundary(run, request.reason)
        row = self._row(tenant, artifact, lineage, text)
        checkpoint = RunCheckpoint(
            run_id=run.run_id,
            checkpoint_id=f"cp-{boundary.envelope_id}",
            next_step=request.next_step,
            completed_steps=request.completed_steps,
            pending_step=request.pending_step,
            event_cursor=cursor,
            workspace_digest=artifact.workspace_digest,
            artifact_id=artifact.artifact_id,
        )
        found = resolve(artifact.evidence_locators, self.resolvers, events=events)
        section = self._section(request, artifact, lineage, row, checkpoint, events, parent, found) | {"parent": before}
        decision = self.gate.decide_meaning(boundary, section).enforce()
        self.told(3)
        self.store.persist_artifact(row, places(artifact, found), envelope_id=boundary.envelope_id)
        self.told(4)
        self.gate.commit_meaning(
            boundary, decision, checkpoint_row(tenant, checkpoint, row, envelope_id=boundary.envelope_id), text
        )
        self.told(5)
        return Committed(
            envelope_id=boundary.envelope_id,
            artifact=artifact,
            checkpoint=checkpoint,
            artifact_digest=row.digest,
            generation=lineage.generation,
            bytes_before=serialized_bytes(tuple(events)),
            bytes_after=serialized_bytes(artifact.items),
        )

    def _build(
        self,
        events: Sequence[EventRecord],
        request: Request,
        parent: tuple[CompactionArtifact, TaskArtifact] | None,
    ) -> tuple[CompactionArtifact, Lineage]:
        if parent is None:
            made = self._prepared(events, request.seed)
            if made is None:
                raise refuse("strategy_makes_no_artifact", f"`{self.strategy.strategy}` makes no artifact")
        else:
            made = carried_forward(parent[0], events, request.seed)
        made = named(replace(made, evidence_locators=(*made.evidence_locators, *request.evidence)))
        name, _, version = self.strategy.strategy.rpartition("-")
        return made, Lineage(
            generation=1 if parent is None else parent[1].generation + 1,
            parent_artifact_id=None if parent is None else parent[1].artifact_id,
            parent_digest=None if parent is None else parent[1].digest,
            direct_source="event_log" if parent is None else "artifact",
            generator=name or self.strategy.strategy,
            generator_version=version or "v1",
            items_digest=items_digest(made),
        )

    def _prepared(self, events: Sequence[EventRecord], seed: CompactionSeed) -> CompactionArtifact | None:
        try:
            return self.strategy.prepare(events, seed).artifact
        except GateError:
            raise
        except Exception as exc:
            # A host's own strategy may raise anything; that it failed is counted like any other failure.
            raise refuse("strategy_failed", "the strategy raised an error") from exc

    def _row(self, tenant: str, artifact: CompactionArtifact, lineage: Lineage, text: str) -> TaskArtifact:
        return artifact_row(tenant, artifact, lineage, text, namespace=self.namespace)

    def _section(
        self,
        request: Request,
        artifact: CompactionArtifact,
        lineage: Lineage,
        row: TaskArtifact,
        checkpoint: RunCheckpoint,
        events: Sequence[EventRecord],
        parent: tuple[CompactionArtifact, TaskArtifact] | None,
        found: Mapping[str, LocatorResult],
    ) -> dict[str, Any]:
        live = workspace_now(self.workspace)
        verified = self._verified(request, artifact, events, parent, live)
        carried = set() if request.from_log or parent is None else sources_of(parent[0])
        sources = sources_of(artifact)
        known = {event.event_id for event in events} | carried
        since = 0 if parent is None else parent[0].source_event_range[1]
        drifts: tuple[drift.Drift, ...] = ()
        if lineage.direct_source == "event_log":
            # What the host located itself is no observation of the log; resolvers read it again.
            observed = tuple(one for one in artifact.evidence_locators if one.kind == "payload_ref")
            drifts = drift.from_log(replace(artifact, evidence_locators=observed), events, request.seed)
        return {
            "phase": "commit",
            "namespace": self.namespace,
            "checkpoint": facts.checkpoint_facts(checkpoint, artifact_digest=row.digest, intact=True),
            "artifact": facts.artifact_facts(artifact, row, digest_now=row.digest, known_ids=known),
            "source": facts.source_facts(events, run_id=checkpoint.run_id, named=sources, carried=carried),
            "frozen_cursor": checkpoint.event_cursor,
            "workspace_digest": live,
            "seed": {"required_keys": sorted(request.seed.required_keys | {request.seed.goal_key})},
            "said": facts.said_facts(events, request.seed, None if parent is None else parent[0]),
            "verifications": facts.verification_facts(verified),
            "user_updates": facts.updated_keys(event for event in events if event.sequence > since),
            "pending_calls": list(request.pending_calls),
            "locators": facts.locator_facts(artifact.evidence_locators, found, request.optional_locators),
            "drifts": [{"kind": str(one.kind), "code": one.code, "key": one.key} for one in drifts],
        }

    def _verified(
        self,
        request: Request,
        artifact: CompactionArtifact,
        events: Sequence[EventRecord],
        parent: tuple[CompactionArtifact, TaskArtifact] | None,
        live: str,
    ) -> tuple[Verified, ...]:
        issues = {item.key for item in artifact.open_issues} | request.seed.open_issue_keys
        if parent is not None:
            issues |= {item.key for item in parent[0].open_issues}
        return verify(issues, events=events, receipts=request.receipts, live_workspace_digest=live)

    def _note(
        self, run: Run, tenant: str, request: Request, *, outcome: str, started: int, done: Committed | None = None
    ) -> None:
        """The audit of one compaction: what it was made of, by what and why; no content."""
        if self.store.run(tenant, run.run_id) is None:
            return
        audit: dict[str, Any] = {
            "trigger": request.reason if request.trigger is None else request.trigger.as_audit(),
            "strategy": self.strategy.strategy,
            "schema_version": SCHEMA_VERSION,
        }
        if done is not None:
            audit |= {
                "envelope_id": done.envelope_id,
                "artifact_id": done.artifact.artifact_id,
                "artifact_digest": done.artifact_digest,
                "generation": done.generation,
                "event_range": list(done.artifact.source_event_range),
                "source_digest": done.artifact.source_digest,
                "workspace_digest": done.artifact.workspace_digest,
                "selected_keys": sorted(item.key for item in done.artifact.items),
                "checkpoint_id": done.checkpoint.checkpoint_id,
            }
        self.store.log_task(
            LedgerEntry(
                tenant_id=tenant,
                run_id=run.run_id,
                kind="compaction",
                outcome=outcome,
                operator=self.operator,
                audit=canonical.canonical_bytes(audit).decode("utf-8"),
                bytes_before=0 if done is None else done.bytes_before,
                bytes_after=0 if done is None else done.bytes_after,
                duration_ms=(time.monotonic_ns() - started) // 1_000_000,
            )
        )


def _parent(pair: CommittedPair | None, *, needed: bool) -> tuple[CompactionArtifact, TaskArtifact] | None:
    """The committed artifact; Rego sees its status and digest.

    One that cannot be read is nothing to go on from (`needed`), and nothing to compare a replay of the log with.
    """
    if pair is None or pair.artifact is None or pair.artifact.body is None:
        return None
    try:
        return artifact_from(pair.artifact.body), pair.artifact
    except LongTaskError:
        if needed:
            raise
        return None


def _taken_over(
    migrated: Migrated, pair: CommittedPair | None
) -> tuple[CompactionArtifact, Lineage, dict[str, Any] | None]:
    """A migrated artifact with the lineage it says, and the committed one as its row has it, for Rego to compare."""
    row = None if pair is None else pair.artifact
    lineage = Lineage(
        generation=1 if row is None else row.generation,
        parent_artifact_id=migrated.parent_artifact_id,
        parent_digest=migrated.parent_digest,
        direct_source="migration",
        generator="migration",
        generator_version=migrated.artifact.schema_version,
        items_digest=items_digest(migrated.artifact),
    )
    # Its items are in a schema that nobody reads; those of the migrated one are held against the log itself.
    before = None if row is None else facts.row_facts(row) | {"items": []}
    return migrated.artifact, lineage, before


def _code(error: GateError) -> str:
    if isinstance(error, ActionBlocked):
        against = (reason.code for reason in error.decision.reasons if reason.verdict is not Verdict.ALLOW)
        return next(against, error.code)
    return error.code
