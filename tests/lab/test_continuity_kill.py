from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gate.cli.sources import local_point
from gate.compiler import Compiled
from gate.lab.continuity_kill import rounds
from gate.pdp import DecisionPoint


@contextmanager
def opened(compiled: Compiled) -> Iterator[DecisionPoint]:
    with local_point(compiled, None) as (_, point):
        yield point


def test_killed_processes_lose_nothing_and_run_nothing_twice() -> None:
    found = list(rounds(8, opened, seed=7))

    assert [each.number for each in found] == list(range(1, 9))
    assert [each.faults for each in found] == [()] * 8
    assert all(each.outcome for each in found)
