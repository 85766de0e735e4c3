"""What long tasks cost as their log grows: one append, one boundary over the events since, one resume.

Measures and asserts nothing; the figures are of this machine. Memory is the process's own high-water mark.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gate.evidence import Run
from gate.lab.longtask import stage
from gate.lab.longtask.stage import Stage
from gate.longtask.events import EventRecord
from gate.longtask.log import TaskLog
from gate.longtask.vocabulary import EventType

BATCH = 5000
"""Events appended in one transaction while the log is filled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Figures at one length of the log; milliseconds, and mebibytes of memory."""

    events: int
    append_ms: float
    """Median of single appends, each its own transaction."""
    fill_ms_per_event: float
    """While the log was filled up to here, `BATCH` in a transaction."""
    boundary_ms: float
    """A compaction of the committed artifact and the events since."""
    resume_ms: float
    memory_mib: float


def growth(lengths: tuple[int, ...]) -> Iterator[Growth]:
    """The figures at each length, in a throw-away SQLite store."""
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as name:
        root = Path(name)
        with stage.opened(stage.exercise_point(root), f"sqlite:///{root}/records.sqlite") as play:
            run, last = play.start(), 24
            play.append(run)
            first = play.coordinator().compact(run, stage.request(run))
            run = _resumed(play, run, first.envelope_id)
            for length in lengths:
                filling, added = 0.0, max(0, length - last)
                while last < length:
                    upto = min(last + _RANGE, length)
                    started = time.perf_counter()
                    for start in range(last + 1, upto + 1, BATCH):
                        _append(play, run, start, min(start + BATCH - 1, upto))
                    filling += time.perf_counter() - started
                    last = upto
                    made = play.coordinator().compact(run, stage.request(run, from_log=False))
                    run = _resumed(play, run, made.envelope_id)
                yield _measured(play, run, last, filling * 1000 / added if added else 0.0)
                last += _SINGLE
                run = _current(play, run)


_RANGE = 20_000
# Events between two boundaries while the log is filled: what a boundary reads, and holds in memory.

_SINGLE = 20


def _current(play: Stage, run: Run) -> Run:
    """The run in the epoch that its records have."""
    record = play.store.run(play.tenant, run.run_id)
    epoch = run.epoch if record is None else record.epoch
    return Run(
        agent_id=run.agent_id,
        session_id=run.session_id,
        run_id=run.run_id,
        trace_id=run.trace_id,
        identity=run.identity,
        epoch=epoch,
        role=run.role,
    )


def _measured(play: Stage, run: Run, last: int, fill_ms: float) -> Growth:
    singles = []
    for sequence in range(last + 1, last + 1 + _SINGLE):
        started = time.perf_counter()
        _append(play, run, sequence, sequence)
        singles.append((time.perf_counter() - started) * 1000)
    started = time.perf_counter()
    done = play.coordinator().compact(run, stage.request(run, from_log=False))
    compacted = time.perf_counter()
    _resumed(play, run, done.envelope_id)
    return Growth(
        events=last + _SINGLE,
        append_ms=statistics.median(singles),
        fill_ms_per_event=fill_ms,
        boundary_ms=(compacted - started) * 1000,
        resume_ms=(time.perf_counter() - compacted) * 1000,
        memory_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _append(play: Stage, run: Run, first: int, last: int) -> None:
    TaskLog(store=play.store).append(
        play.tenant,
        run.run_id,
        [
            EventRecord(
                event_id=f"bench-{n}",
                run_id=run.run_id,
                sequence=n,
                event_type=EventType.OBSERVATION,
                workspace_digest=play.live,
            )
            for n in range(first, last + 1)
        ],
    )


def _resumed(play: Stage, run: Run, envelope_id: str) -> Run:
    found = play.rehydrator().rehydrate(run, envelope_id, stage.material())
    return run if found.run is None else found.run
