"""What the tests of commits and rehydrations share: one decision point, a fresh store and the stage on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from new_store import new_store

from gate import opa
from gate.decision import ActionBlocked
from gate.errors import ToolchainError
from gate.evidence import Run
from gate.lab.longtask import stage
from gate.lab.postgres_server import PostgresServer
from gate.longtask.commit import Committed
from gate.pdp import DecisionPoint


@pytest.fixture(scope="session")
def task_point(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DecisionPoint]:
    """A real OPA that serves the exercise bundle, or the embedded engine where the pinned one is not found.

    One for the whole suite; it may be asked in forked children.
    """
    try:
        opa.find()
        engine = "opa"
    except ToolchainError:
        engine = "embedded"
    with stage.point_on(engine, tmp_path_factory.mktemp("exercise")) as point:
        yield point


@pytest.fixture(scope="session")
def databases() -> Iterator[Callable[[], str]]:
    """The address of a PostgreSQL server that is started when the first test asks for it."""
    with ExitStack() as stack:
        started: list[str] = []

        def address() -> str:
            if not started:
                started.append(stack.enter_context(PostgresServer.running()).url)
            return started[0]

        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def task_url(request: pytest.FixtureRequest, databases: Callable[[], str], tmp_path: Path) -> str:
    """The address of records of each kind; those in PostgreSQL are shared, so that runs must not mix."""
    return databases() if request.param == "postgresql" else new_store(tmp_path / "records.sqlite")


@pytest.fixture
def task(task_point: DecisionPoint, tmp_path: Path) -> Iterator[stage.Stage]:
    with stage.opened(task_point, new_store(tmp_path / "records.sqlite")) as opened:
        yield opened


def codes(blocked: pytest.ExceptionInfo[ActionBlocked]) -> set[str]:
    return set(blocked.value.decision.codes) - {"operation_allowed"}


def committed(task: stage.Stage) -> tuple[Committed, Run]:
    """The price repair up to its boundary, committed."""
    run = task.start()
    task.append(run)
    return task.coordinator().compact(run, stage.request(run)), run
