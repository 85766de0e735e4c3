"""The hand-overs of the experiments, committed and resumed through the gate: what the Rego itself says of each.

The published rows are measured without a decision point; here the same trajectory goes through real records and a real
engine, sound, broken in the three published ways and in those that a commit must refuse. Says the same on every engine
and on every run: whatever has a random id is left out. Decides nothing.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gate import canonical
from gate.decision import ActionBlocked, Decision
from gate.evidence import Run
from gate.lab.longtask import stage
from gate.lab.longtask.run import PUBLISHED
from gate.lab.longtask.scripted_policy import APPLY, VisibleSemanticState, decide
from gate.lab.longtask.stage import Stage
from gate.lab.longtask.supplement import Expectation, Section, Supplement, Value, listed
from gate.lab.longtask.trajectory import FAILING_TEST, Trajectory
from gate.longtask.artifact import CompactionArtifact, CompactionSeed
from gate.longtask.commit import Committed
from gate.longtask.events import CarryItem, EventRecord, refuse
from gate.longtask.log import TaskLog
from gate.longtask.rehydrate import Rehydrated
from gate.longtask.strategies import StrategyOutput, Structured
from gate.longtask.vocabulary import ContextKind, InstructionAuthority

FILE = "context-continuity-decided"
"""Name of the two files of this report."""

_STALE = "workspace-price-stale"
_ALLOWED = "operation_allowed"

_FORGED: Mapping[str, Mapping[str, str]] = {
    "unsupported-artifact-schema": {"schema_version": "2.0-unsupported"},
    "corrupt-artifact-source-digest": {"source_digest": "corrupt-source-digest"},
}
"""What a stored artifact says otherwise, under a digest of its own; by the published variant."""


@dataclass(frozen=True, slots=True)
class _Altered:
    """A compactor that keeps everything but for one change."""

    change: Callable[[CompactionArtifact], Mapping[str, Any]]
    strategy: str = "altered-v1"

    def prepare(self, events: Sequence[EventRecord], seed: CompactionSeed) -> StrategyOutput:
        """See `Strategy`."""
        made = Structured().prepare(events, seed)
        if made.artifact is None:
            raise refuse("missing_artifact")
        return replace(made, artifact=replace(made.artifact, **self.change(made.artifact)))


def _raised(item: CarryItem) -> CarryItem:
    return replace(item, kind=ContextKind.INSTRUCTION, authority=InstructionAuthority.SYSTEM)


_REFUSED: Mapping[str, tuple[Callable[[CompactionArtifact], Mapping[str, Any]], str]] = {
    "constraint-dropped": (lambda a: {"constraints": ()}, "missing_required_carry_items"),
    "open-issue-closed": (lambda a: {"open_issues": ()}, "open_issue_closed_without_verification"),
    "goal-rewritten": (lambda a: {"goal": replace(a.goal, content="Ship what there is.")}, "item_rewritten"),
    "authority-raised": (lambda a: {"goal": _raised(a.goal)}, "authority_raised"),
}
"""What a compactor proposes otherwise, and a code that stands against it; by variant."""


def decided(trajectory: Trajectory, engine: str) -> Supplement:
    """The report of one section, decided on `engine`: embedded, or opa for a sidecar of its own.

    Raises `ToolchainError` for an engine that is not there.
    """
    with tempfile.TemporaryDirectory(prefix="gate-lab-") as name:
        root = Path(name)
        path = root / "records.sqlite"
        with stage.point_on(engine, root) as point, stage.opened(point, f"sqlite:///{path}") as play:
            rows = [
                _sound(play, trajectory),
                _stale(play, trajectory),
                *(_forged(play, trajectory, path, variant) for variant in _FORGED),
                *(_refused(play, trajectory, variant) for variant in _REFUSED),
            ]
    return Supplement((Section(name="decided", about=_ABOUT, rows=tuple(rows), expectations=_expected(rows)),))


_ABOUT = (
    "The hand-over at the published cursor, committed and resumed through the gate: real records, and the policies on "
    "a decision point."
)


def _expected(rows: list[dict[str, Value]]) -> tuple[Expectation, ...]:
    by = {str(row["variant"]): row for row in rows}
    published = {variant: kind for (_, variant), (_, _, kind) in PUBLISHED.items() if variant in by}
    return (
        Expectation(
            "the sound hand-over is resumed, and the work goes on with the compatible patch",
            (by["rehydrated-context-v1"]["reason"], by["rehydrated-context-v1"]["next"])
            == ("continuity_validated", APPLY),
        ),
        Expectation(
            "each published refusal is made, by the one published code",
            all(f"rejected_{_kind(by[v])}" == kind for v, kind in published.items() if by[v]["next"] is None),
        ),
        Expectation(
            "nothing is built after a refusal",
            all((row["packet_items"] is None) == (row["next"] is None) for row in rows),
        ),
        Expectation(
            "a compactor that loses, closes, rewrites or raises something commits nothing",
            all(
                by[variant]["committed"] is False and code in str(by[variant]["reason"])
                for variant, (_, code) in _REFUSED.items()
            ),
        ),
    )


def _kind(row: Mapping[str, Value]) -> str:
    return str(row["reason"]).replace("artifact_rejected_", "artifact_")


def _begun(play: Stage, trajectory: Trajectory) -> Run:
    run = play.start()
    events = [replace(event, run_id=run.run_id) for event in trajectory.prefix]
    TaskLog(store=play.store).append(play.tenant, run.run_id, events)
    return run


def _committed(play: Stage, trajectory: Trajectory) -> tuple[Committed, Run]:
    run = _begun(play, trajectory)
    return play.coordinator().compact(run, stage.request(run)), run


def _sound(play: Stage, trajectory: Trajectory) -> dict[str, Value]:
    done, run = _committed(play, trajectory)
    return _resumed("rehydrated-context-v1", play.rehydrator().rehydrate(run, done.envelope_id, stage.material()))


def _stale(play: Stage, trajectory: Trajectory) -> dict[str, Value]:
    done, run = _committed(play, trajectory)
    before, play.live = play.live, _STALE
    try:
        found = play.rehydrator().rehydrate(run, done.envelope_id, stage.material())
    finally:
        play.live = before
    return _resumed("workspace-digest-mismatch", found)


def _forged(play: Stage, trajectory: Trajectory, path: Path, variant: str) -> dict[str, Value]:
    done, run = _committed(play, trajectory)
    stored = play.store.task_artifact(play.tenant, done.artifact.artifact_id)
    body = {} if stored is None else json.loads(stored.body or "{}")
    text = canonical.canonical_bytes({**body, **_FORGED[variant]}).decode("utf-8")
    forged, artifact_id = canonical.digest_bytes(text.encode()), done.artifact.artifact_id
    source = _FORGED[variant].get("source_digest")
    with contextlib.closing(sqlite3.connect(path)) as other:
        # By somebody who can write the records, and makes every digest in them fit.
        other.execute(
            "UPDATE task_artifacts SET body = ?, digest = ?, source_digest = coalesce(?, source_digest) "
            "WHERE artifact_id = ?",
            (text, forged, source, artifact_id),
        )
        other.execute("UPDATE task_checkpoints SET artifact_digest = ? WHERE artifact_id = ?", (forged, artifact_id))
        other.commit()
    boundary = play.gate.recover(run)
    return _resumed(variant, play.rehydrator().rehydrate(run, boundary.envelope_id, stage.material()))


def _refused(play: Stage, trajectory: Trajectory, variant: str) -> dict[str, Value]:
    run = _begun(play, trajectory)
    try:
        play.coordinator(strategy=_Altered(_REFUSED[variant][0])).compact(run, stage.request(run))
    except ActionBlocked as blocked:
        return _row(
            variant, _codes(blocked.decision), committed=play.store.task_checkpoints(play.tenant, run.run_id) != ()
        )
    return _row(variant, "committed", committed=True)


def _resumed(variant: str, found: Rehydrated) -> dict[str, Value]:
    row = _row(variant, _codes(found.decision), committed=True)
    if found.built is None:
        return row
    shown = frozenset(found.built.packet.selected_item_ids)
    state = VisibleSemanticState(
        visible_keys=shown,
        checkpoint_next_step="" if found.checkpoint is None else found.checkpoint.next_step,
        verification_keys=shown & {FAILING_TEST},
    )
    packet = found.built.packet
    return {**row, "packet_items": len(shown), "packet_bytes": packet.budget_used, "next": decide(state).kind}


def _row(variant: str, reason: str, *, committed: bool) -> dict[str, Value]:
    nothing: dict[str, Value] = {"packet_items": None, "packet_bytes": None, "next": None}
    return {"variant": variant, "committed": committed, "reason": reason, **nothing}


def _codes(decision: Decision) -> str:
    return listed(code for code in decision.codes if code != _ALLOWED)
