"""The four recovery drills, played on a copy of a store: what is refused, by which code, and what is gone back to.

Nothing of the user's own store is changed: what the tenant has there is read in one snapshot and written into a SQLite
file of the drill's own, and the drills' runs exist in that file only. Each drill checks reason code, order of the trace
and the recovery point, not only that something started again.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gate import canonical
from gate.errors import InputError
from gate.evidence import Run
from gate.lab.longtask import stage
from gate.lab.longtask.stage import Stage
from gate.longtask.checklists import LISTS
from gate.longtask.commit import Committed
from gate.longtask.rehydrate import Rehydrated
from gate.longtask.runbook import FORBIDDEN, RUNBOOK, entry
from gate.longtask.signals import collect, kept_runs
from gate.longtask.surfaces import SURFACES
from gate.records import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """One drill and what it showed."""

    name: str
    expected: str
    """Reason code that had to come out."""
    observed: tuple[str, ...]
    recovery_point: str | None
    """Checkpoint that was gone back to afterwards; None when there is none to go back to."""
    lifecycle: tuple[str, ...]
    """`stage/reason` of the lifecycle trace, in order, without repeats."""
    checks: tuple[tuple[str, bool], ...]
    runbook: tuple[str, str]
    """Who is called, and what they do."""

    @property
    def passed(self) -> bool:
        """Everything that was checked holds."""
        return all(held for _, held in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All four drills, and how the user's own runs stand in the copy."""

    drills: tuple[Drill, ...]
    signals: dict[str, Any]
    own_runs: tuple[tuple[str, str, bool], ...]
    """(run, newest checkpoint, recoverable) of every run that was in the store."""

    @property
    def passed(self) -> bool:
        """Every drill did; how the user's own runs stand is theirs to judge."""
        return all(drill.passed for drill in self.drills)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "passed": self.passed,
            "drills": [{**asdict(drill), "passed": drill.passed} for drill in self.drills],
            "own_runs": [
                {"run_id": run, "checkpoint_id": checkpoint, "recoverable": held}
                for run, checkpoint, held in self.own_runs
            ],
            "signals": self.signals,
            "forbidden": list(FORBIDDEN),
        }

    def as_markdown(self) -> str:
        """The report for people."""
        lines = ["# Recovery drills", "", "| drill | expected | observed | back to | result |", "|---|---|---|---|---|"]
        for drill in self.drills:
            observed = ", ".join(drill.observed)
            result = "passed" if drill.passed else "FAILED"
            lines.append(f"| {drill.name} | {drill.expected} | {observed} | {drill.recovery_point} | {result} |")
            lines += [f"| | | not held: {name} | | |" for name, held in drill.checks if not held]
        lines += ["", "## Own runs, as the copy has them", ""]
        lines += [
            f"- `{run}`, checkpoint `{checkpoint}`: {'recoverable' if held else 'NOT recoverable'}"
            for run, checkpoint, held in self.own_runs
        ] or ["None has a checkpoint."]
        lines += ["", "## Runbook by reason code", "", "| code | call | do |", "|---|---|---|"]
        lines += [f"| {code} | {one.owner} | {one.action} |" for code, one in sorted(RUNBOOK.items())]
        lines += ["", "Never:", *(f"- {rule}" for rule in FORBIDDEN)]
        lines += ["", "## State surfaces", "", "| surface | holds | written by | verified by | when it fails |"]
        lines += ["|---|---|---|---|---|"]
        lines += [
            f"| {one.name} | {one.holds} | {one.written_by} | {one.verified_by} | {one.when_invalid} |"
            for one in SURFACES
        ]
        for title, checks in LISTS:
            lines += ["", f"## {title}", "", "| what holds | what is told otherwise |", "|---|---|"]
            lines += [f"| {check.statement} | {', '.join(check.codes)} |" for check in checks]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Writes `drills.json` and `drills.md`. Raises `InputError` (`report_unwritable`)."""
        texts = {"drills.json": json.dumps(self.as_dict(), indent=2) + "\n", "drills.md": self.as_markdown()}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                (folder / name).write_text(text, "utf-8")
        except OSError as exc:
            raise InputError("the report cannot be written", code="report_unwritable") from exc
        return tuple(folder / name for name in texts)


def run(source: Store | None, *, tenant: str, engine: str = "embedded") -> Report:
    """Plays all four on a copy of what `tenant` has in `source`, or on an empty store.

    `engine`: embedded, or opa for a sidecar of its own. Raises `StoreError` for a store that cannot be copied,
    `ToolchainError` for an engine that is not there.
    """
    with tempfile.TemporaryDirectory(prefix="gate-drill-") as name:
        root = Path(name)
        path = root / "copy.sqlite"
        if source is not None:
            with Store.open(f"sqlite:///{path}") as copy:
                source.copy_tenant(tenant, copy)
        with (
            stage.point_on(engine, root) as point,
            stage.opened(point, f"sqlite:///{path}", tenant=tenant) as play,
        ):
            own = tuple(_own(play, run_id) for run_id in kept_runs(play.store, tenant))
            drills = tuple(one(play, path) for one in _DRILLS)
            return Report(drills=drills, own_runs=own, signals=collect(play.store, tenant).as_dict())


def crash_before_checkpoint(play: Stage, path: Path) -> Drill:
    """Step 4 is done, step 5 is not: the artifact is an orphan and the pair before it stays in force."""
    first, again = _committed_twice(play, crash_after=4)
    mine = first.checkpoint.run_id
    orphans = [one for one in play.store.orphans(play.tenant) if one.run_id == mine]
    young = play.store.clean_orphans(play.tenant, grace_ms=86_400_000)
    cleaned = play.store.clean_orphans(play.tenant, grace_ms=0)
    return _drill(
        "crash after artifact, before checkpoint",
        "continuity_validated",
        again,
        ("the pair before it is in force", again.checkpoint == first.checkpoint),
        ("the artifact is an orphan", len(orphans) == 1),
        ("an orphan is cleaned up, once nothing is on its way", set(_ids(orphans)) <= set(_ids(cleaned))),
        ("nothing within the grace period is cleaned up", not set(_ids(orphans)) & set(_ids(young))),
    )


def lost_artifact(play: Stage, path: Path) -> Drill:
    """The committed artifact is gone: its checkpoint is not recoverable, and its next step alone is not enough."""
    done, run = _committed(play)
    _sql(path, "UPDATE task_artifacts SET body = NULL WHERE artifact_id = ?", done.artifact.artifact_id)
    again = play.rehydrator().recover(run, stage.material())
    return _drill(
        "committed artifact deleted",
        "checkpoint_artifact_mismatch",
        again,
        ("nothing was built", again.built is None),
        ("no packet was recorded", play.store.task_packets(play.tenant, run.run_id) == ()),
    )


def changed_workspace(play: Stage, path: Path) -> Drill:
    """The world moved on: refused before anything is built, and good again after a new observation."""
    done, run = _committed(play)
    before = play.live
    play.live = "workspace-changed-by-somebody"
    refused = play.rehydrator().rehydrate(run, done.envelope_id, stage.material())
    built = play.store.task_packets(play.tenant, run.run_id)
    play.live = before
    return _drill(
        "workspace changed",
        "stale_workspace_digest",
        refused,
        ("nothing was built", refused.built is None and built == ()),
        (
            "the same pair resumes in the workspace it was made for",
            play.rehydrator().rehydrate(run, done.envelope_id, stage.material()).reason == "continuity_validated",
        ),
    )


def newer_schema(play: Stage, path: Path) -> Drill:
    """An artifact of a schema this gate does not know: refused whole, and the log is replayed."""
    done, run = _committed(play)
    stored = play.store.task_artifact(play.tenant, done.artifact.artifact_id)
    body = {} if stored is None else json.loads(stored.body or "{}")
    text = canonical.canonical_bytes({**body, "schema_version": "2.0"}).decode("utf-8")
    digest = canonical.digest_bytes(text.encode())
    name = done.artifact.artifact_id
    _sql(path, "UPDATE task_artifacts SET body = ?, digest = ? WHERE artifact_id = ?", text, digest, name)
    _sql(path, "UPDATE task_checkpoints SET artifact_digest = ? WHERE artifact_id = ?", digest, name)
    boundary = play.gate.recover(run)
    refused = play.rehydrator().rehydrate(run, boundary.envelope_id, stage.material())
    # Authority goes on alone; the meaning is made again of the log, under an id and a digest of its own.
    resumed = play.gate.resume(boundary.envelope_id, None, run)
    replayed = None
    if resumed.run is not None:
        play.append(resumed.run, first=25, last=25)
        made = play.coordinator().compact(resumed.run, stage.request(resumed.run))
        replayed = play.rehydrator().rehydrate(resumed.run, made.envelope_id, stage.material())
    return _drill(
        "artifact schema upgraded",
        "artifact_rejected_schema",
        refused,
        ("nothing was built", refused.built is None),
        ("the log was replayed", replayed is not None and replayed.reason == "continuity_validated"),
    )


_DRILLS: tuple[Callable[[Stage, Path], Drill], ...] = (
    crash_before_checkpoint,
    lost_artifact,
    changed_workspace,
    newer_schema,
)


def _committed(play: Stage) -> tuple[Committed, Run]:
    run = play.start()
    play.append(run)
    return play.coordinator().compact(run, stage.request(run)), run


def _committed_twice(play: Stage, *, crash_after: int) -> tuple[Committed, Rehydrated]:
    first, run = _committed(play)
    back = play.rehydrator().rehydrate(run, first.envelope_id, stage.material())
    if back.run is None:
        raise InputError(f"a sound pair was refused: {back.reason}", code="drill_unfit")

    def told(step: int) -> None:
        if step == crash_after:
            # The process ends here: nothing that catches errors may get to tidy up.
            raise SystemExit

    play.append(back.run, first=25, last=25)
    with contextlib.suppress(SystemExit):
        play.coordinator(told=told).compact(back.run, stage.request(back.run))
    return first, play.rehydrator().recover(back.run, stage.material())


def _drill(name: str, expected: str, found: Rehydrated, *checks: tuple[str, bool]) -> Drill:
    observed = tuple(code for code in found.decision.codes if code != "operation_allowed")
    told = tuple(dict.fromkeys(f"{one.stage}/{one.reason}" for one in found.lifecycle))
    order = [stages.split("/")[0] for stages in told]
    who = entry(expected)
    return Drill(
        name=name,
        expected=expected,
        observed=observed,
        recovery_point=None if found.checkpoint is None else found.checkpoint.checkpoint_id,
        lifecycle=told,
        checks=(
            ("the reason code is the expected one, alone", observed == (expected,)),
            ("the trace is in order", order == sorted(order, key=["workspace", "selection", "packet"].index)),
            *checks,
        ),
        runbook=(who.owner, who.action) if expected in RUNBOOK else ("nobody", "go on: every action is decided afresh"),
    )


def _own(play: Stage, run_id: str) -> tuple[str, str, bool]:
    pair = play.store.committed_pair(play.tenant, run_id)
    if pair is None:
        return run_id, "none", False
    row = pair.artifact
    held = (
        row is not None
        and row.body is not None
        and canonical.digest_bytes(row.body.encode("utf-8")) == row.digest == pair.checkpoint.artifact_digest
        and play.store.task_source_holds(play.tenant, run_id, first=row.first_sequence, last=row.last_sequence)
    )
    return run_id, pair.checkpoint.checkpoint_id, held


def _ids(rows: Any) -> list[str]:
    return [row.artifact_id for row in rows]


def _sql(path: Path, statement: str, *values: object) -> None:
    """Damages the copy behind the store's back."""
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute(statement, values)
        other.commit()
