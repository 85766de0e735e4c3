from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from opa_point import OpaPoint

from gate.compiler import Compiled, assemble
from gate.lab.compaction.stage import Stage, Theatre, theatre
from gate.pdp import DecisionPoint


@contextmanager
def opened(compiled: Compiled) -> Iterator[DecisionPoint]:
    assembly = assemble([compiled])
    point = OpaPoint(assembly.modules, revision=assembly.revision)
    yield point
    point.close()


@pytest.fixture(scope="module")
def place() -> Iterator[Theatre]:
    with theatre(opened) as found:
        yield found


@pytest.fixture
def stage(place: Theatre, request: pytest.FixtureRequest) -> Iterator[Stage]:
    with place.stage(str(abs(hash(request.node.name)))) as found:
        yield found
