from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from edge_support import ZONE_A, Edge, copied, open_edge, point_of
from opa_point import OpaPoint

from gate.compiler import compile_bundle
from gate.decision import ActionBlocked
from gate.enforcement import AlreadyCommitted
from gate.errors import ConflictError, InputError
from gate.lab.postgres_server import PostgresServer
from gate.pdp import Sidecar
from gate.release import build

WORKER = Path(__file__).with_name("plan_worker.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied("edge-deployment", tmp_path_factory.mktemp("bundle"))


@pytest.fixture(scope="module")
def point(folder: Path) -> OpaPoint:
    return point_of(folder)


@pytest.fixture
def edge(point: OpaPoint, tmp_path: Path) -> Iterator[Edge]:
    with approved(point, tmp_path) as world:
        yield world


@contextmanager
def approved(point: Any, folder: Path, **options: Any) -> Iterator[Edge]:
    """A world whose plan of two steps is approved and not begun."""
    with open_edge(point, folder, **options) as world:
        with pytest.raises(ActionBlocked) as asked, world.plan():
            pytest.fail("nobody approved it")
        world.approve(asked.value.approval_id)
        yield world


def elsewhere(edge: Edge, folder: Path, act: str, steps: list[int], *, url: str | None = None, **asked: Any) -> Any:
    """What another process did; None when it did not come back."""
    question = {
        "act": act,
        "steps": steps,
        "url": url or f"sqlite:///{edge.path}",
        "bundle": str(folder),
        "rights": edge.service.service.url,
        "run_id": edge.run.run_id,
        **asked,
    }
    path = os.pathsep.join(str(place) for place in list(WORKER.parents)[:3])
    done = subprocess.run(
        [sys.executable, str(WORKER), json.dumps(question)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode in (0, 9), done.stderr
    return json.loads(done.stdout) if done.returncode == 0 else None


def begin_and_suspend(edge: Edge) -> None:
    with edge.plan() as plan:
        with plan.step(0) as call:
            edge.bodies.append(call.arguments["worker"])
        plan.suspend()


def resume(edge: Edge, **options: Any) -> Any:
    return edge.plan(resume=True, **options)


def test_suspended_plan_is_carried_to_its_end_in_another_process(edge: Edge, folder: Path) -> None:
    begin_and_suspend(edge)
    assert edge.status("run_change_plan") == "in_flight"
    edge.rights.questions.clear()

    done = elsewhere(edge, folder, "resume", [1])

    assert done == {"found": [0], "settled": "side_effect_committed", "bodies": ["zone-a"]}
    # At the entry and before the step, the whole plan is asked about again.
    assert [len(q["requirements"]) for q in edge.rights.questions] == [2, 2]
    assert [e["completed"] for e in edge.events("plan_suspended") + edge.events("plan_resumed")] == [[0], [0]]
    with pytest.raises(AlreadyCommitted) as again, edge.plan():
        pytest.fail("it is done")
    assert again.value.receipt["completed"] == [0, 1]


def test_plan_of_a_process_that_died_between_steps_goes_on_at_the_step_the_ledger_says(
    edge: Edge, folder: Path
) -> None:
    assert elsewhere(edge, folder, "plan", [0], die_after=True) is None

    with resume(edge) as plan:
        assert plan.completed == [0]
        with plan.step(1) as call:
            edge.bodies.append(call.arguments["zone"])

    assert edge.bodies == ["zone-a"]
    assert edge.status("run_change_plan") == "side_effect_committed"


def test_plan_of_a_process_that_died_in_a_step_is_stopped_and_partial(edge: Edge, folder: Path) -> None:
    assert elsewhere(edge, folder, "plan", [0, 1], die_in=1) is None

    with pytest.raises(ActionBlocked) as blocked, resume(edge):
        edge.bodies.append("ran")

    assert "plan_step_out_of_order" in blocked.value.decision.codes
    assert (edge.bodies, edge.status("run_change_plan")) == ([], "partial_side_effect")


def test_plan_whose_process_died_after_its_last_step_is_settled_by_who_resumes_it(edge: Edge, folder: Path) -> None:
    assert elsewhere(edge, folder, "plan", [0, 1], die_after=True) is None
    assert edge.status("run_change_plan") == "in_flight"

    with resume(edge) as plan:
        assert plan.completed == [0, 1]

    assert edge.status("run_change_plan") == "side_effect_committed"


def test_right_for_the_next_step_revoked_meanwhile_stops_the_plan(edge: Edge, folder: Path) -> None:
    begin_and_suspend(edge)
    edge.rights.granted.discard(ZONE_A)

    done = elsewhere(edge, folder, "resume", [1])

    assert (done["verdict"], "plan_requirement_denied" in done["codes"], done["bodies"]) == ("deny", True, [])
    assert edge.status("run_change_plan") == "partial_side_effect"
    assert edge.status("write_route") == "not_started"


@pytest.mark.parametrize(
    ("asked", "code"), [({"version": "v9"}, "plan_changed"), ({"principal": "somebody-else"}, "principal_mismatch")]
)
def test_another_plan_or_another_principal_takes_nothing_over(
    edge: Edge, folder: Path, asked: dict[str, str], code: str
) -> None:
    begin_and_suspend(edge)

    done = elsewhere(edge, folder, "resume", [1], **asked)

    assert (done["bodies"], code in done["codes"]) == ([], True)
    assert edge.status("write_route") == "not_started"


def test_plan_that_was_never_begun_is_not_resumed(edge: Edge, folder: Path) -> None:
    assert elsewhere(edge, folder, "resume", [0], plan_ref="another-plan") == {"error": "plan_unknown", "bodies": []}
    with pytest.raises(ActionBlocked) as blocked, resume(edge):
        edge.bodies.append("ran")
    assert ("plan_not_running" in blocked.value.decision.codes, edge.bodies) == (True, [])


def test_suspended_plan_takes_no_step_and_an_uncertain_one_is_not_suspended(edge: Edge) -> None:
    with edge.plan() as plan:
        with plan.step(0), pytest.raises(InputError, match="not known to be done"):
            plan.suspend()
        plan.suspend()
        with pytest.raises(InputError, match="suspended"), plan.step(1):
            edge.bodies.append("ran")
    assert (edge.bodies, edge.status("run_change_plan")) == ([], "in_flight")


def test_two_processes_in_one_plan_run_each_step_once_and_the_first_to_end_settles_it(edge: Edge, folder: Path) -> None:
    begin_and_suspend(edge)
    seen: dict[str, Any] = {}

    def both() -> None:
        with resume(edge) as plan:
            seen.update(elsewhere(edge, folder, "resume", [1]))
            with pytest.raises(AlreadyCommitted), plan.step(1):
                edge.bodies.append("again")

    with pytest.raises(ConflictError):
        both()
    assert (seen["bodies"], edge.bodies) == (["zone-a"], ["worker-a"])
    assert edge.status("run_change_plan") == "side_effect_committed"


@pytest.mark.opa
def test_plan_over_a_real_opa_and_postgresql_goes_on_in_another_process(
    folder: Path, tmp_path: Path, opa_binary: Path
) -> None:
    built = build([compile_bundle(folder)], tmp_path / "dist", binary=opa_binary, trial=True)
    with (
        PostgresServer.running() as server,
        Sidecar.start(
            tarball=built.path, opa=opa_binary, listen=tmp_path / "run" / "s.sock", work_dir=tmp_path / "work"
        ) as sidecar,
    ):
        client = sidecar.client(timeout_ms=10_000)
        with approved(client, tmp_path, url=server.url) as edge:
            begin_and_suspend(edge)
            done = elsewhere(edge, folder, "resume", [1], url=server.url)
            assert done == {"found": [0], "settled": "side_effect_committed", "bodies": ["zone-a"]}
            assert edge.status("run_change_plan") == "side_effect_committed"
        client.close()
