"""The part of the store that keeps boundaries, user constraints, and how far a run has come.

Each method is one transaction, tenant first. Use it through `gate.records.Store`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from gate import canonical
from gate.records import boundaries, chains, checks, constraints, open_actions, progress, runs
from gate.records.boundaries import BoundaryRecord, BoundaryStatus, EventRange, NewChild
from gate.records.clock import now_ms
from gate.records.constraints import ConstraintRecord, NewConstraint
from gate.records.database import Database
from gate.records.model import Event, RunRecord
from gate.records.open_actions import ActionRef, ActionState
from gate.records.progress import Obligations, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """Everything of a run that a boundary writes down or a resume compares, read in one transaction."""

    run: RunRecord
    range: EventRange
    """What a boundary written now would stand on."""
    actions: tuple[ActionState, ...]
    in_flight: bool
    progress: Progress
    obligations: Obligations
    constraints: tuple[ConstraintRecord, ...]
    """Those that hold for the principal now, then those that were asked for by id and hold no longer."""
    boundary: BoundaryRecord | None
    """The one asked for, else the one that is not resumed yet."""
    boundaries: int
    """How many the run has had."""
    tail_holds: bool
    """The last events are what was hashed and end in the recorded head; the chain before them is not read again."""
    approvals_known: frozenset[str]
    """Ids among the named ones that the tenant has."""
    now_ms: int
    """The database's clock."""

    @property
    def head(self) -> tuple[int, str]:
        """Number and hash of the run's last event."""
        return self.range.last_seq, self.range.head_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryProof:
    """What the event log says about a boundary."""

    linked: bool
    """The chain holds from the first event of the range to the head, with the frozen head hash in it."""
    body_logged: bool
    """The last event about the envelope names the digest of the body that is stored."""
    source_trace_id: str | None
    """The trace under which the log says it was written; None when the log says nothing."""
    events: tuple[dict[str, object], ...] = ()
    """Payloads of the events after the range, each with its `event_type`."""

    @property
    def intact(self) -> bool:
        """Nothing of the range, of what followed or of the envelope was changed behind the gate."""
        return self.linked and self.body_logged


class ContinuityStore:
    """Boundaries, constraints, progress."""

    _database: Database

    def snapshot(
        self,
        tenant_id: str,
        run_id: str,
        *,
        envelope_id: str | None = None,
        named: Iterable[ActionRef] = (),
        constraint_ids: Iterable[str] = (),
        approval_ids: Iterable[str] = (),
    ) -> RunSnapshot | None:
        """The run as one consistent snapshot, or None when this tenant has none of that id.

        `envelope_id`, `named`, `constraint_ids` and `approval_ids`: what an envelope names, to be looked up besides.
        """
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        refs, ids, approvals = tuple(named), tuple(constraint_ids), tuple(approval_ids)

        def read(tx: Connection) -> RunSnapshot | None:
            run, head = runs.find(tx, tenant_id, run_id), runs.head(tx, tenant_id, run_id)
            if run is None or head is None:
                return None
            wanted, now = envelope_id or run.boundary_id, now_ms(tx)
            bound = constraints.active(tx, tenant_id, run.principal_id)
            active = {record.constraint_id for record in bound}
            others = (constraints.find(tx, tenant_id, each) for each in ids if each not in active)
            return RunSnapshot(
                run=run,
                range=EventRange(
                    first_seq=boundaries.next_first_seq(tx, tenant_id, run_id),
                    last_seq=int(head["head_seq"]),
                    head_hash=str(head["head_hash"]),
                ),
                actions=open_actions.find(tx, tenant_id, run_id, run.principal_id, now, refs),
                in_flight=open_actions.in_flight(tx, tenant_id, run_id, now),
                progress=progress.find(tx, tenant_id, run_id),
                obligations=progress.obligations(tx, tenant_id, run_id),
                constraints=(*bound, *(record for record in others if record is not None)),
                boundary=None if wanted is None else boundaries.find(tx, tenant_id, wanted),
                boundaries=boundaries.count(tx, tenant_id, run_id),
                tail_holds=chains.tail_holds(tx, tenant_id, run_id),
                approvals_known=open_actions.known_approvals(tx, tenant_id, approvals),
                now_ms=now,
            )

        return self._database.reading(read)

    def boundary(self, tenant_id: str, envelope_id: str) -> BoundaryRecord | None:
        """The boundary, or None when this tenant has none of that id."""
        tenant_id, envelope_id = checks.name("tenant_id", tenant_id), checks.name("envelope_id", envelope_id)
        return self._database.reading(lambda tx: boundaries.find(tx, tenant_id, envelope_id))

    def prove_boundary(self, boundary: BoundaryRecord, frozen: EventRange) -> BoundaryProof:
        """Walks the event chain from the beginning of the frozen range to its end."""

        def prove(tx: Connection) -> BoundaryProof:
            linked, later = chains.lineage(
                tx,
                boundary.tenant_id,
                boundary.run_id,
                first_seq=frozen.first_seq,
                last_seq=frozen.last_seq,
                head_hash=frozen.head_hash,
            )
            said = [event for event in later if event.get("envelope_id") == boundary.envelope_id]
            digests = [str(event["body_digest"]) for event in said if "body_digest" in event]
            trace = next((e.get("source_trace_id") for e in said if e["event_type"] == "boundary_written"), None)
            stored = canonical.digest_bytes(boundary.body.encode("utf-8", "surrogatepass"))
            return BoundaryProof(
                linked=linked,
                body_logged=bool(digests) and digests[-1] == stored,
                source_trace_id=trace if isinstance(trace, str) else None,
                events=later,
            )

        return self._database.reading(prove)

    def write_boundary(
        self, new: BoundaryRecord, *, run_version: int, frozen: EventRange, supersedes: bool = False
    ) -> tuple[BoundaryRecord, Event]:
        """Writes a boundary over exactly the records that were read; with the event that says so.

        Raises `ConflictError`: see `gate.records.boundaries.write`.
        """
        _check_boundary(new)
        return self._database.writing(
            lambda tx: boundaries.write(tx, new, run_version=run_version, frozen=frozen, supersedes=supersedes)
        )

    def seal_boundary(
        self,
        tenant_id: str,
        envelope_id: str,
        *,
        expected_version: int,
        body: str,
        summary_sha256: str,
        sealed_with: str,
    ) -> tuple[BoundaryRecord, Event]:
        """Binds the summary to an open boundary. Raises `ConflictError`: `boundary_unknown`, `boundary_changed`."""
        tenant_id, envelope_id = checks.name("tenant_id", tenant_id), checks.name("envelope_id", envelope_id)
        checks.digest("summary_sha256", summary_sha256)
        return self._database.writing(
            lambda tx: boundaries.seal(
                tx,
                tenant_id,
                envelope_id,
                expected_version=expected_version,
                body=body,
                summary_sha256=summary_sha256,
                sealed_with=sealed_with,
            )
        )

    def resume_boundary(
        self,
        tenant_id: str,
        envelope_id: str,
        *,
        expected_version: int,
        run_version: int,
        head: tuple[int, str],
        resumed_by: str,
        agent_id: str | None = None,
        child: NewChild | None = None,
    ) -> tuple[BoundaryRecord, int, Event]:
        """Resumes a sealed boundary, once; with the new epoch and the event that says so.

        Raises `ConflictError`: see `gate.records.boundaries.resume`.
        """
        tenant_id, envelope_id = checks.name("tenant_id", tenant_id), checks.name("envelope_id", envelope_id)
        resumed_by, agent_id = checks.name("resumed_by", resumed_by), checks.optional_name("agent_id", agent_id)
        if child is not None:
            checks.name("run_id", child.run_id), checks.name("session_id", child.session_id)
        return self._database.writing(
            lambda tx: boundaries.resume(
                tx,
                tenant_id,
                envelope_id,
                expected_version=expected_version,
                run_version=run_version,
                head=head,
                resumed_by=resumed_by,
                agent_id=agent_id,
                child=child,
            )
        )

    def source_events(self, tenant_id: str, run_id: str, *, first_seq: int, last_seq: int, limit: int) -> list[Event]:
        """The last `limit` events of the range that name a constraint, an approval, an effect or progress, in order."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(
            lambda tx: runs.telling_events(tx, tenant_id, run_id, first_seq=first_seq, last_seq=last_seq, limit=limit)
        )

    def record_constraint(self, tenant_id: str, run_id: str, new: NewConstraint) -> ConstraintRecord:
        """Records a user's constraint. Raises as `gate.records.constraints.record` does."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.writing(lambda tx: constraints.record(tx, tenant_id, run_id, new))

    def withdraw_constraint(self, tenant_id: str, constraint_id: str, *, withdrawn_by: str) -> ConstraintRecord:
        """Ends a constraint. Raises `ConflictError`: `constraint_unknown`, `constraint_withdrawn`."""
        tenant_id, constraint_id = checks.name("tenant_id", tenant_id), checks.name("constraint_id", constraint_id)
        withdrawn_by = checks.name("withdrawn_by", withdrawn_by)
        return self._database.writing(
            lambda tx: constraints.withdraw(tx, tenant_id, constraint_id, withdrawn_by=withdrawn_by)
        )

    def constraints(self, tenant_id: str, principal_id: str) -> tuple[ConstraintRecord, ...]:
        """The constraints of the principal that are not withdrawn, by id."""
        tenant_id, principal_id = checks.name("tenant_id", tenant_id), checks.name("principal_id", principal_id)
        return self._database.reading(lambda tx: constraints.active(tx, tenant_id, principal_id))

    def binding_constraints(self, tenant_id: str, principal_id: str) -> tuple[int, tuple[ConstraintRecord, ...]]:
        """The version of the principal's constraints and those that are not withdrawn, from one moment."""
        tenant_id, principal_id = checks.name("tenant_id", tenant_id), checks.name("principal_id", principal_id)

        def read(tx: Connection) -> tuple[int, tuple[ConstraintRecord, ...]]:
            # The version first: what is recorded in between makes the claim of this decision stale, not blind.
            version = constraints.version(tx, tenant_id, principal_id)
            return version, constraints.active(tx, tenant_id, principal_id)

        return self._database.reading(read)

    def record_progress(self, tenant_id: str, run_id: str, new: Progress) -> None:
        """Replaces what is recorded of where the run stands. Raises `ConflictError` `run_unknown`, `InputError`."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        self._database.writing(lambda tx: progress.record(tx, tenant_id, run_id, new))

    def progress(self, tenant_id: str, run_id: str) -> Progress:
        """Where the run stands, as it was recorded last."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(lambda tx: progress.find(tx, tenant_id, run_id))

    def obligations(self, tenant_id: str, run_id: str) -> Obligations:
        """What the host recorded as still to be done in the run, and as done."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        return self._database.reading(lambda tx: progress.obligations(tx, tenant_id, run_id))

    def open_obligation(self, tenant_id: str, run_id: str, obligation: str) -> None:
        """Records that something is still to be done. Raises `ConflictError` `run_unknown`, `InputError`."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        obligation = checks.name("obligation", obligation)
        self._database.writing(lambda tx: progress.open_obligation(tx, tenant_id, run_id, obligation))

    def close_obligation(self, tenant_id: str, run_id: str, obligation: str, *, evidence_ref: str) -> None:
        """Records that it is done, and where that can be seen. Raises `ConflictError` `obligation_unknown`."""
        tenant_id, run_id = checks.name("tenant_id", tenant_id), checks.name("run_id", run_id)
        obligation, evidence = checks.name("obligation", obligation), checks.name("evidence_ref", evidence_ref)
        self._database.writing(
            lambda tx: progress.close_obligation(tx, tenant_id, run_id, obligation, evidence_ref=evidence)
        )


def _check_boundary(new: BoundaryRecord) -> None:
    for field in ("tenant_id", "envelope_id", "run_id", "session_id", "source_trace_id", "reason"):
        checks.name(field, getattr(new, field))
    checks.member("status", BoundaryStatus, new.status)
    checks.whole("epoch", new.epoch, low=1)
    checks.whole("written_at_ms", new.written_at_ms)
