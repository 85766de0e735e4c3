"""The part of the store that keeps the meaning of long tasks: events with content, artifacts, checkpoints, ledger.

Each method is one transaction, tenant first. Use it through `gate.records.Store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from gate.errors import StoreError
from gate.records import boundaries, checks, longtask_erasure, longtask_rows, runs
from gate.records.boundaries import BoundaryRecord
from gate.records.clock import now_ms
from gate.records.database import Database
from gate.records.longtask_model import (
    DeletionReceipt,
    LedgerEntry,
    LocatorResult,
    NewTaskEvent,
    TaskArtifact,
    TaskCheckpoint,
    TaskEvent,
    TaskLocator,
    TaskPacket,
)
from gate.records.model import Event
from gate.records.tables import TASK_CHECKPOINTS, TASK_LEDGER, TASK_LOCATORS, TASK_PACKETS


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedPair:
    """A checkpoint and what is stored of the artifact that it names; both unverified."""

    checkpoint: TaskCheckpoint
    artifact: TaskArtifact | None
    locators: tuple[TaskLocator, ...] = ()


class LongTaskStore:
    """Events with content, artifacts, checkpoints, packets, ledger, receipts."""

    _database: Database

    def append_task_events(self, tenant_id: str, run_id: str, new: Iterable[NewTaskEvent]) -> list[TaskEvent]:
        """Appends events, all or none. Raises as `gate.records.longtask_rows.append` does, and `InputError`."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        events = tuple(new)
        for event in events:
            checks.whole("sequence", event.sequence, low=1)
            checks.name("event_id", event.event_id)
            checks.name("event_type", event.event_type)
        return self._database.writing(lambda tx: longtask_rows.append(tx, tenant_id, run_id, events))

    def task_events(self, tenant_id: str, run_id: str, *, first: int, last: int) -> list[TaskEvent]:
        """The events of a range of sequences, each held against the run's hash chain; reads no others.

        Raises `StoreError`: `task_log_broken`, `task_log_erased`; `InputError`.
        """
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        checks.whole("first", first)
        checks.whole("last", last)
        return self._database.reading(lambda tx: longtask_rows.events(tx, tenant_id, run_id, first=first, last=last))

    def task_source_holds(self, tenant_id: str, run_id: str, *, first: int, last: int) -> bool:
        """Whether the events of a range are there, whole, and what the chain says."""
        try:
            return bool(self.task_events(tenant_id, run_id, first=first, last=last))
        except StoreError as exc:
            if exc.code in ("task_log_broken", "task_log_erased"):
                return False
            raise

    def task_runs(self, tenant_id: str) -> tuple[str, ...]:
        """The runs of the tenant that have a checkpoint, by id."""
        tenant_id = checks.name("tenant_id", tenant_id)
        query = select(TASK_CHECKPOINTS.c.run_id).where(TASK_CHECKPOINTS.c.tenant_id == tenant_id).distinct()
        rows = self._database.reading(lambda tx: tx.execute(query.order_by(TASK_CHECKPOINTS.c.run_id)).scalars().all())
        return tuple(rows)

    def retire_task_events(self, tenant_id: str, run_id: str, *, older_than_ms: int) -> int:
        """Erases the content of events that are that old and that nothing which is kept was made of; how many.

        Kept is the newest committed pair, every pair as young as that, whatever artifact is held, and everything after
        the newest checkpoint: those can be verified and made again. An older pair can then no longer be resumed from,
        and nothing is made of the whole log again; the run's chain says so and still verifies.
        """
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        checks.whole("older_than_ms", older_than_ms)
        return self._database.writing(
            lambda tx: longtask_erasure.retire(tx, tenant_id, run_id, older_than_ms=older_than_ms)
        )

    def retirable_task_events(self, tenant_id: str, run_id: str, *, older_than_ms: int) -> int:
        """How many events `retire_task_events` would erase now. Raises `ConflictError` `run_unknown`."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        checks.whole("older_than_ms", older_than_ms)
        return self._database.reading(
            lambda tx: longtask_erasure.retirable(tx, tenant_id, run_id, older_than_ms=older_than_ms)
        )

    def last_task_event(self, tenant_id: str, run_id: str) -> TaskEvent | None:
        """The newest event. Raises `StoreError` `task_log_broken` when the chain knows of a later one."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(lambda tx: longtask_rows.last_event(tx, tenant_id, run_id))

    def persist_artifact(
        self, new: TaskArtifact, locators: Iterable[TaskLocator], *, envelope_id: str | None
    ) -> TaskArtifact:
        """Step 4: stores an artifact that nothing refers to yet. Raises as `longtask_rows.persist_artifact` does."""
        for field in ("tenant_id", "artifact_id", "run_id", "namespace", "generator", "generator_version"):
            checks.name(field, getattr(new, field))
        checks.digest("digest", new.digest)
        places = tuple(locators)
        return self._database.writing(
            lambda tx: longtask_rows.persist_artifact(tx, new, places, envelope_id=envelope_id)
        )

    def commit_task(
        self,
        new: TaskCheckpoint,
        *,
        expected_version: int,
        body: str,
        summary_sha256: str,
        sealed_with: str,
    ) -> tuple[TaskCheckpoint, BoundaryRecord, Event]:
        """Step 5: the checkpoint and the sealed authority envelope of its boundary, in one transaction.

        Raises `ConflictError` as `longtask_rows.commit_checkpoint` and `boundaries.seal` do.
        """
        checks.name("checkpoint_id", new.checkpoint_id)
        envelope_id = checks.name("envelope_id", new.envelope_id)
        checks.digest("summary_sha256", summary_sha256)

        def commit(tx: Connection) -> tuple[TaskCheckpoint, BoundaryRecord, Event]:
            run = runs.locked(tx, new.tenant_id, new.run_id)
            if run.row["boundary_id"] != envelope_id:
                raise checks.conflict("boundary_changed", "the boundary was resumed or replaced by somebody else")
            sealed, event = boundaries.seal(
                tx,
                new.tenant_id,
                envelope_id,
                expected_version=expected_version,
                body=body,
                summary_sha256=summary_sha256,
                sealed_with=sealed_with,
            )
            # The seal moved the chain's head, so the run is read again under the lock that it has already.
            written = longtask_rows.commit_checkpoint(tx, runs.locked(tx, new.tenant_id, new.run_id), new)
            return written, sealed, event

        return self._database.writing(commit)

    def task_artifact(self, tenant_id: str, artifact_id: str) -> TaskArtifact | None:
        """The artifact, or None when this tenant has none of that id."""
        tenant_id, artifact_id = checks.name("tenant_id", tenant_id), checks.name("artifact_id", artifact_id)
        return self._database.reading(lambda tx: longtask_rows.artifact(tx, tenant_id, artifact_id))

    def task_locators(self, tenant_id: str, artifact_id: str) -> tuple[TaskLocator, ...]:
        """The locators of an artifact with what was found last, by id."""
        tenant_id, artifact_id = checks.name("tenant_id", tenant_id), checks.name("artifact_id", artifact_id)
        return self._database.reading(lambda tx: longtask_rows.locators(tx, tenant_id, artifact_id))

    def committed_pair(self, tenant_id: str, run_id: str, *, envelope_id: str | None = None) -> CommittedPair | None:
        """The pair committed with that boundary, else the newest of the run; never an artifact without a checkpoint.

        A checkpoint whose row is not what was hashed is passed over: the pair before it is the last committed one.
        """
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)

        def read(tx: Connection) -> CommittedPair | None:
            found = _sound(tx, tenant_id, run_id, envelope_id) if envelope_id else None
            found = found or _sound(tx, tenant_id, run_id, None)
            if found is None:
                return None
            return CommittedPair(
                checkpoint=found,
                artifact=longtask_rows.artifact(tx, tenant_id, found.artifact_id),
                locators=longtask_rows.locators(tx, tenant_id, found.artifact_id),
            )

        return self._database.reading(read)

    def steps_since_failed_compaction(self, tenant_id: str, run_id: str) -> int | None:
        """Events appended since the run's last compaction, when that failed; None when it did not."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(lambda tx: longtask_rows.steps_since_failure(tx, tenant_id, run_id))

    def pair_of_boundary(self, tenant_id: str, envelope_id: str) -> str | None:
        """Id of the checkpoint committed with that boundary, or None."""
        tenant_id, envelope_id = checks.name("tenant_id", tenant_id), checks.name("envelope_id", envelope_id)
        query = select(TASK_CHECKPOINTS.c.checkpoint_id).where(
            TASK_CHECKPOINTS.c.tenant_id == tenant_id, TASK_CHECKPOINTS.c.envelope_id == envelope_id
        )
        return self._database.reading(lambda tx: tx.execute(query).scalar_one_or_none())

    def task_checkpoints(self, tenant_id: str, run_id: str) -> tuple[TaskCheckpoint, ...]:
        """Every committed checkpoint of the run, newest first, unverified."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(lambda tx: tuple(longtask_rows.checkpoints(tx, tenant_id, run_id)))

    def note_locators(self, tenant_id: str, artifact_id: str, results: Mapping[str, LocatorResult]) -> None:
        """Records what the resolvers found now, by locator id."""
        tenant_id, artifact_id = checks.name("tenant_id", tenant_id), checks.name("artifact_id", artifact_id)
        for result in results.values():
            checks.member("result", LocatorResult, result)

        def note(tx: Connection) -> None:
            for locator_id, result in sorted(results.items()):
                tx.execute(
                    update(TASK_LOCATORS)
                    .where(TASK_LOCATORS.c.tenant_id == tenant_id, TASK_LOCATORS.c.artifact_id == artifact_id)
                    .where(TASK_LOCATORS.c.locator_id == locator_id)
                    .values(result=result.value, resolved_at_ms=now_ms(tx), version=TASK_LOCATORS.c.version + 1)
                )

        self._database.writing(note)

    def log_packet(self, new: TaskPacket) -> TaskPacket:
        """Records that a packet was built; never its content. Raises `ConflictError`."""
        checks.name("packet_digest", new.packet_digest)
        return self._database.writing(lambda tx: longtask_rows.log_packet(tx, new))

    def task_packets(self, tenant_id: str, run_id: str) -> tuple[TaskPacket, ...]:
        """The packets built in the run, oldest first."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        query = select(TASK_PACKETS).where(TASK_PACKETS.c.tenant_id == tenant_id, TASK_PACKETS.c.run_id == run_id)
        rows = self._database.reading(lambda tx: tx.execute(query.order_by(TASK_PACKETS.c.ordinal)).mappings().all())
        return tuple(TaskPacket(**row) for row in rows)

    def log_task(self, new: LedgerEntry) -> LedgerEntry:
        """Adds a line to the audit and cost ledger. Raises `ConflictError` `run_unknown`, `InputError`."""
        for field in ("tenant_id", "run_id", "kind", "outcome", "operator"):
            checks.name(field, getattr(new, field))
        for field in ("bytes_before", "bytes_after", "duration_ms"):
            checks.whole(field, getattr(new, field))
        return self._database.writing(lambda tx: longtask_rows.log(tx, new))

    def task_ledger(self, tenant_id: str, run_id: str | None = None) -> tuple[LedgerEntry, ...]:
        """The ledger of one run, or of the tenant, oldest first within a run."""
        tenant_id = checks.name("tenant_id", tenant_id)
        query = select(TASK_LEDGER).where(TASK_LEDGER.c.tenant_id == tenant_id)
        if run_id is not None:
            query = query.where(TASK_LEDGER.c.run_id == checks.name("run_id", run_id))
        ordered = query.order_by(TASK_LEDGER.c.run_id, TASK_LEDGER.c.ordinal)
        rows = self._database.reading(lambda tx: tx.execute(ordered).mappings().all())
        return tuple(LedgerEntry(**row) for row in rows)

    def freeze_session(self, tenant_id: str, session_id: str, *, requested_by: str, reason: str) -> DeletionReceipt:
        """From here on nothing is derived in any run of the session; harmless when it is frozen already."""
        tenant_id, session_id = checks.name("tenant_id", tenant_id), checks.name("session_id", session_id)
        requested_by, reason = checks.name("requested_by", requested_by), checks.text("reason", reason)
        return self._database.writing(
            lambda tx: longtask_erasure.freeze(tx, tenant_id, session_id, requested_by=requested_by, reason=reason)
        )

    def erase_session(self, tenant_id: str, session_id: str) -> DeletionReceipt:
        """Erases the content of everything derived in a frozen session; the chains of its runs still verify.

        Raises `ConflictError`: `session_not_frozen`, `session_unknown`.
        """
        tenant_id, session_id = checks.name("tenant_id", tenant_id), checks.name("session_id", session_id)
        receipt = self._database.writing(lambda tx: longtask_erasure.erase(tx, tenant_id, session_id))
        self._database.flush_erased()
        return receipt

    def deletion_receipt(self, tenant_id: str, session_id: str) -> DeletionReceipt | None:
        """The receipt, or None for a session nobody asked to forget."""
        tenant_id, session_id = checks.name("tenant_id", tenant_id), checks.name("session_id", session_id)
        return self._database.reading(lambda tx: longtask_erasure.receipt(tx, tenant_id, session_id))

    def taint_artifact(self, tenant_id: str, artifact_id: str, *, reason: str) -> longtask_erasure.Taint:
        """Taints an artifact and all that was made of it, and stops their runs. Raises `ConflictError`."""
        tenant_id, artifact_id = checks.name("tenant_id", tenant_id), checks.name("artifact_id", artifact_id)
        reason = checks.name("reason", reason)
        return self._database.writing(lambda tx: longtask_erasure.taint(tx, tenant_id, artifact_id, reason=reason))

    def hold_artifact(self, tenant_id: str, artifact_id: str, *, reason: str) -> TaskArtifact:
        """Keeps an artifact from being cleaned up. Raises `ConflictError` `artifact_unknown`."""
        tenant_id, artifact_id = checks.name("tenant_id", tenant_id), checks.name("artifact_id", artifact_id)
        reason = checks.name("reason", reason)
        return self._database.writing(lambda tx: longtask_erasure.hold(tx, tenant_id, artifact_id, reason=reason))

    def release_artifact(self, tenant_id: str, artifact_id: str) -> TaskArtifact:
        """Ends the hold on an artifact. Raises `ConflictError` `artifact_unknown` for one that is not held."""
        tenant_id, artifact_id = checks.name("tenant_id", tenant_id), checks.name("artifact_id", artifact_id)
        return self._database.writing(lambda tx: longtask_erasure.release(tx, tenant_id, artifact_id))

    def orphans(self, tenant_id: str, *, grace_ms: int = 0) -> tuple[TaskArtifact, ...]:
        """Artifacts older than `grace_ms` that no checkpoint, child or open boundary needs and nobody holds."""
        tenant_id = checks.name("tenant_id", tenant_id)
        checks.whole("grace_ms", grace_ms)
        return self._database.reading(lambda tx: longtask_erasure.orphans(tx, tenant_id, grace_ms=grace_ms))

    def clean_orphans(self, tenant_id: str, *, grace_ms: int) -> tuple[TaskArtifact, ...]:
        """Removes the content of orphans; the row stays, so that the id is never used again."""
        tenant_id = checks.name("tenant_id", tenant_id)
        checks.whole("grace_ms", grace_ms)
        return self._database.writing(lambda tx: longtask_erasure.clean(tx, tenant_id, grace_ms=grace_ms))


def _sound(tx: Connection, tenant_id: str, run_id: str, envelope_id: str | None) -> TaskCheckpoint | None:
    """The newest checkpoint whose row is what was hashed, of one boundary or of the run."""
    for each in longtask_rows.checkpoints(tx, tenant_id, run_id, envelope_id=envelope_id):
        if each.body is not None and longtask_rows.digest_of(each.body) == each.digest:
            return each
    return None
