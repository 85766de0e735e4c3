"""The whole matrix: every compactor at both thresholds in every fixture and wording, over as many processes as asked.

Decides nothing. The order of the results is the order of the matrix, however many processes play it, so that two runs
report the same; how long a compaction took is kept apart from them.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import multiprocessing.util
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

from gate.compiler import Compiled
from gate.documents.compaction import CompactionContract
from gate.errors import GateError, InputError, ToolchainError
from gate.lab.compaction.compactor import Compactor
from gate.lab.compaction.fixtures import Variant, variants
from gate.lab.compaction.ground import ground, trial
from gate.lab.compaction.results import GroupResult
from gate.lab.compaction.rounds import Setting, play_group, revision_of
from gate.lab.demo import decision_point
from gate.pdp import DecisionPoint

THRESHOLDS = ("real", "tighter")
"""Of the contract: where a compaction is triggered in production, and the harder test."""

GROUPS_PER_STORE = 9
"""How many contexts share their records before new ones are made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is played."""

    compactors: tuple[Compactor, ...]
    thresholds: tuple[str, ...] = THRESHOLDS
    variants: tuple[Variant, ...] | None = None
    """None for every one of the contract."""
    rounds: int | None = None
    """None for what the contract says."""

    def settings(self, contract: CompactionContract) -> tuple[Setting, ...]:
        """Every context that is played, in the order of the report."""
        tokens = {
            "real": contract.runtime["compaction_threshold"],
            "tighter": contract.runtime["tighter_threshold"],
        }
        unknown = sorted(set(self.thresholds) - tokens.keys())
        if unknown:
            raise InputError(f"`{unknown[0]}` is no threshold", code="threshold_unknown", hint="real or tighter")
        return tuple(
            Setting(
                compactor=compactor,
                threshold=threshold,
                threshold_tokens=tokens[threshold],
                variant=variant,
                rounds=self.rounds or contract.runtime["max_compactions_tested"],
            )
            for compactor in self.compactors
            for threshold in self.thresholds
            for variant in self.variants or variants(contract)
        )


@dataclass(frozen=True, slots=True)
class Played:
    """A setting and what came of it."""

    setting: Setting
    result: GroupResult
    seconds: tuple[float, ...] = field(compare=False)
    """How long each compaction took; no part of what is compared between runs."""


def play(
    bundle: Path, plan: Plan, *, engine: str, jobs: int = 1, told: Callable[[], None] = lambda: None
) -> tuple[Played, ...]:
    """Plays `plan` on copies of `bundle`; `engine` is embedded or opa, `jobs` how many processes; `told` hears of each
    context that is done.

    Raises `BundleError`, `InputError` (`compaction_contract_missing`, `threshold_unknown`), and whatever the engine
    cannot do; `ToolchainError` (`matrix_process_lost`) for a process that was ended. With several processes a compactor
    must be one that can be pickled.
    """
    with tempfile.TemporaryDirectory(prefix="gate-matrix-") as name, trial(bundle, Path(name)) as compiled:
        contract = compiled.bundle.compaction
        if contract is None:
            raise InputError("the bundle has no compaction.yaml", code="compaction_contract_missing")
        chunks = list(_chunks(plan.settings(contract)))
    if jobs <= 1:
        with _opened(bundle, engine) as (served, point):
            found = []
            for chunk in chunks:
                for one in _play_chunk(served, point, chunk):
                    found.append(one)
                    told()
            return tuple(found)
    # Spawned: a forked child would share the parent's connections and locks.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(bundle, engine)) as pool:
        together: list[Played] = []
        try:
            for done in pool.map(_play_in_process, chunks):
                together += done
                for _ in done:
                    told()
        except BrokenProcessPool as exc:
            raise ToolchainError(
                "a process that played a part of the matrix ended before its time",
                code="matrix_process_lost",
                hint="make room on this machine, or play it in fewer processes",
            ) from exc
        return tuple(together)


def _chunks(settings: Sequence[Setting]) -> Iterator[tuple[tuple[int, Setting], ...]]:
    """Neighbours of one compactor, numbered, that share their records."""
    chunk: list[tuple[int, Setting]] = []
    for number, setting in enumerate(settings):
        if chunk and (len(chunk) == GROUPS_PER_STORE or chunk[-1][1].compactor is not setting.compactor):
            yield tuple(chunk)
            chunk = []
        chunk.append((number, setting))
    if chunk:
        yield tuple(chunk)


def _play_chunk(compiled: Compiled, point: DecisionPoint, chunk: Sequence[tuple[int, Setting]]) -> Iterator[Played]:
    with ground(compiled, point, compactor_revision=revision_of(chunk[0][1].compactor)) as place:
        for number, setting in chunk:
            seconds: list[float] = []
            result = play_group(place, setting, f"trial-{number}", told=seconds.append)
            yield Played(setting, result, tuple(seconds))


@contextlib.contextmanager
def _opened(bundle: Path, engine: str) -> Iterator[tuple[Compiled, DecisionPoint]]:
    with (
        tempfile.TemporaryDirectory(prefix="gate-trial-") as name,
        trial(bundle, Path(name)) as compiled,
        decision_point(compiled, engine, Path(name), patient=True) as (point, _),
    ):
        yield compiled, point


_process = contextlib.ExitStack()
_serving: list[tuple[Compiled, DecisionPoint]] = []
# One decision point for each process of a pool, for as long as it lives.


_unserved: list[GateError] = []
# Why this process has none: what ends an initializer would end the whole pool without a word of the reason.


def _begin(bundle: Path, engine: str) -> None:
    try:
        _serving.append(_process.enter_context(_opened(bundle, engine)))
    except GateError as exc:
        _unserved.append(exc)
    atexit.register(_process.close)
    # The pool's processes end without the interpreter's own exit handlers.
    multiprocessing.util.Finalize(None, _process.close, exitpriority=10)


def _play_in_process(chunk: tuple[tuple[int, Setting], ...]) -> tuple[Played, ...]:
    if not _serving:
        raise _unserved[0]
    compiled, point = _serving[0]
    return tuple(_play_chunk(compiled, point, chunk))
