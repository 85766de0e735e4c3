"""The part of `Gate` that takes a run across a boundary of its context, and keeps what must not get lost there.

Each method is one call of `gate.continuity` or of the records; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gate.continuity import (
    Boundary,
    Child,
    Desk,
    Recipient,
    Resumption,
    UserConstraint,
    boundary,
    meaning,
    recovery,
    resume,
    user_constraints,
)
from gate.decision import Decision
from gate.evidence import Run
from gate.records import ConstraintRecord, OpenWork, Progress, TaskCheckpoint


class Crossing:
    """Boundaries, progress and user constraints of one gate."""

    _desk: Desk

    def prepare_boundary(
        self, run: Run, reason: str, *, envelope_id: str | None = None, to: Recipient | None = None
    ) -> Boundary:
        """Stops the run and writes its envelope; `reason` is context_compaction, context_reset, handoff or fork.

        `to`: who receives a handoff; nobody else can resume from it, and without one a handoff is refused. Raises
        `ActionBlocked` when no boundary is permitted now, `InputError` as `gate.continuity.boundary.prepare`.
        """
        return boundary.prepare(self._desk, run, reason, envelope_id=envelope_id, to=to)

    def seal_summary(self, envelope: Boundary, summary: str) -> Boundary:
        """Binds the summary that was made to the envelope; only its digest is kept.

        Raises as `gate.continuity.boundary.seal_summary` does.
        """
        return boundary.seal_summary(self._desk, envelope, summary)

    def recover(self, run: Run) -> Boundary:
        """Writes an envelope from the records after a crash; it is resumed without a summary."""
        return recovery.recover(self._desk, run)

    def note_boundary(
        self,
        run: Run,
        reason: str,
        *,
        summary: str | None = None,
        envelope_id: str | None = None,
        to: Recipient | None = None,
    ) -> Boundary:
        """Records a boundary that nobody asked for, such as a compaction by the model's provider."""
        return recovery.note(self._desk, run, reason, summary=summary, envelope_id=envelope_id, to=to)

    def decide_meaning(self, envelope: Boundary, section: Mapping[str, Any]) -> Decision:
        """Whether the artifact and checkpoint that `section` describes may be committed with the open boundary."""
        return meaning.decide(self._desk, envelope, section)

    def commit_meaning(self, envelope: Boundary, decision: Decision, checkpoint: TaskCheckpoint, text: str) -> Boundary:
        """Commits the decided checkpoint and seals the envelope over the artifact's text, as one boundary."""
        return meaning.commit(self._desk, envelope, decision, checkpoint, text)

    def resume(
        self,
        envelope_id: str,
        presented_summary: str | None,
        host: Run,
        *,
        child: Child | None = None,
        meaning: Mapping[str, Any] | None = None,
    ) -> Resumption:
        """Validates the boundary and, once, starts the next epoch; exactly three verdicts, none of which is an allow.

        `host` is the host's own handle on the run, with its verified identity. A resume of a fork also starts a run
        beside it, which is in the answer; `child` names it, and is made up when it is None. `meaning` is what is known
        of the pair that the context would be rebuilt from. Raises as `gate.continuity.resume.resume` does.
        """
        return resume.resume(self._desk, envelope_id, presented_summary, host, child=child, meaning=meaning)

    def record_constraint(self, run: Run, constraint: UserConstraint) -> ConstraintRecord:
        """Records what the user just forbade; enforced from the next decision on, whatever the context says later."""
        return user_constraints.record(self._desk, run, constraint)

    def withdraw_constraint(self, run: Run, constraint_id: str) -> ConstraintRecord:
        """Ends a constraint because its user said so to the host."""
        return user_constraints.withdraw(self._desk, run, constraint_id)

    def record_progress(
        self,
        run: Run,
        *,
        objective: str = "",
        checkpoint_ref: str | None = None,
        sandbox_snapshot_ref: str | None = None,
        budget_remaining: int | None = None,
        open_work: Iterable[tuple[str, str]] = (),
        evidence_refs: Iterable[str] = (),
    ) -> None:
        """Replaces what the records say of where the run stands.

        `open_work`: (kind, ref) of what is begun and not ended, such as (`multi_step_in_progress`, `migration-7`).
        Raises `ConflictError` `run_unknown`, `InputError` for a value that no record can hold.
        """
        self._desk.store.record_progress(
            self._desk.tenant(run),
            run.run_id,
            Progress(
                objective=objective,
                checkpoint_ref=checkpoint_ref,
                sandbox_snapshot_ref=sandbox_snapshot_ref,
                budget_remaining=budget_remaining,
                open_work=tuple(OpenWork(kind, ref) for kind, ref in open_work),
                evidence_refs=tuple(evidence_refs),
            ),
        )

    def open_obligation(self, run: Run, obligation: str) -> None:
        """Records that something is still to be done in the run. Raises `ConflictError` `run_unknown`, `InputError`."""
        self._desk.store.open_obligation(self._desk.tenant(run), run.run_id, obligation)

    def close_obligation(self, run: Run, obligation: str, *, evidence_ref: str) -> None:
        """Records that it is done, and where that can be seen. Raises `ConflictError` `obligation_unknown`."""
        self._desk.store.close_obligation(self._desk.tenant(run), run.run_id, obligation, evidence_ref=evidence_ref)
