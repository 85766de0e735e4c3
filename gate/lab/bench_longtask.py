"""What long tasks cost as their log grows: one append, a boundary over few and over many events, one resume.

Measures and asserts nothing; the figures are of this machine. Memory is the process's own high-water mark. Beside the
wall clock stands the processor time of this process, which a busy machine disturbs less: what counts is that it does
not grow with the log.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gate.evidence import Run
from gate.lab.longtask import stage
from gate.lab.longtask.stage import Stage
from gate.longtask.events import EventRecord
from gate.longtask.log import TaskLog
from gate.longtask.vocabulary import EventType

BATCH = 5000
"""Events appended in one transaction while the log is filled."""

FEW, MANY = 20, 2000
"""Events since the last boundary, for the two boundaries that are timed at each length."""

BUDGETS: Mapping[str, float] = {
    "log: append cpu, longest / shortest": 1.5,
    "log: boundary cpu, longest / shortest": 1.5,
    "log: resume ms": 1000.0,
}
"""What the figures are held against; a miss is a reason to look, not a failed test."""

# Events between two boundaries while the log is filled: what a boundary reads, and holds in memory.
_RANGE = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one thing took, in milliseconds."""

    wall_ms: float
    cpu_ms: float
    """Processor time of this process alone: not of a sidecar or of a database server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogGrowth:
    """Figures at one length of the log."""

    events: int
    append: Cost
    """Medians of single appends, each its own transaction."""
    fill: Cost
    """For one event while the log was filled up to here, `BATCH` in a transaction."""
    boundary: Cost
    """A compaction of the committed artifact and the `FEW` events since."""
    long_boundary: Cost
    """The same over `MANY` events."""
    resume: Cost
    memory_mib: float


def growth(lengths: tuple[int, ...], *, engine: str = "embedded", url: str | None = None) -> Iterator[LogGrowth]:
    """The figures at each length, in the records at `url` or in a throw-away SQLite file.

    Raises `ToolchainError` when the engine is not there.
    """
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as name:
        root = Path(name)
        with (
            stage.point_on(engine, root) as point,
            stage.opened(point, url or f"sqlite:///{root}/records.sqlite") as play,
        ):
            log = _Log(play)
            for length in lengths:
                filled = log.fill(length)
                yield log.measured(filled)


class _Log:
    """One run's log, and the length that it has."""

    def __init__(self, play: Stage) -> None:
        self._play = play
        self._run: Run = play.start()
        self._last = 24
        play.append(self._run)
        self._resume([play.coordinator().compact(self._run, stage.request(self._run)).envelope_id])

    def fill(self, length: int) -> Cost:
        """Appends up to `length` events, with a boundary after each `_RANGE`; what one of them took."""
        spent, added = Cost(wall_ms=0, cpu_ms=0), max(0, length - self._last)
        while self._last < length:
            upto = min(self._last + _RANGE, length)
            for start in range(self._last + 1, upto + 1, BATCH):
                spent = _sum(spent, _timed(partial(self._append, start, min(start + BATCH - 1, upto))))
            self._cross()
        share = 1 / added if added else 0.0
        return Cost(wall_ms=spent.wall_ms * share, cpu_ms=spent.cpu_ms * share)

    def measured(self, fill: Cost) -> LogGrowth:
        """The figures at the length that the log has."""
        events, resumes, boundaries = self._last, [], []
        singles = [_timed(lambda: self._append(self._last + 1, self._last + 1)) for _ in range(FEW)]
        # Each several times, and the least: whatever else the machine does only ever adds.
        for added in (0, *[FEW] * 4, *[MANY] * 2):
            if added:
                self._append(self._last + 1, self._last + added)
            found: list[str] = []
            boundaries.append(_timed(partial(self._compact_into, found)))
            resumes.append(_timed(partial(self._resume, found)))
        return LogGrowth(
            events=events,
            append=Cost(
                wall_ms=statistics.median(one.wall_ms for one in singles),
                cpu_ms=statistics.median(one.cpu_ms for one in singles),
            ),
            fill=fill,
            boundary=_least(boundaries[:5]),
            long_boundary=_least(boundaries[5:]),
            resume=_least(resumes),
            memory_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        )

    def _append(self, first: int, last: int) -> None:
        TaskLog(store=self._play.store).append(
            self._play.tenant,
            self._run.run_id,
            [
                EventRecord(
                    event_id=f"bench-{n}",
                    run_id=self._run.run_id,
                    sequence=n,
                    event_type=EventType.OBSERVATION,
                    workspace_digest=self._play.live,
                )
                for n in range(first, last + 1)
            ],
        )
        self._last = last

    def _cross(self) -> None:
        found: list[str] = []
        self._compact_into(found)
        self._resume(found)

    def _compact_into(self, found: list[str]) -> None:
        done = self._play.coordinator().compact(self._run, stage.request(self._run, from_log=False))
        found.append(done.envelope_id)

    def _resume(self, found: list[str]) -> None:
        back = self._play.rehydrator().rehydrate(self._run, found[-1], stage.material())
        self._run = self._run if back.run is None else back.run


def ratios(figures: list[LogGrowth]) -> dict[str, float]:
    """The figures of `BUDGETS`, of at least one length."""
    shortest, longest = figures[0], figures[-1]
    return {
        "log: append cpu, longest / shortest": longest.append.cpu_ms / shortest.append.cpu_ms,
        "log: boundary cpu, longest / shortest": longest.boundary.cpu_ms / shortest.boundary.cpu_ms,
        "log: resume ms": max(one.resume.wall_ms for one in figures),
    }


def _timed(work: Callable[[], None]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(wall_ms=(time.perf_counter() - wall) * 1000, cpu_ms=(time.process_time() - cpu) * 1000)


def _sum(one: Cost, other: Cost) -> Cost:
    return Cost(wall_ms=one.wall_ms + other.wall_ms, cpu_ms=one.cpu_ms + other.cpu_ms)


def _least(costs: list[Cost]) -> Cost:
    return Cost(wall_ms=min(one.wall_ms for one in costs), cpu_ms=min(one.cpu_ms for one in costs))
