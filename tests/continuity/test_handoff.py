from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from continuity_support import SUMMARY, TENANT, World
from opa_point import OpaPoint

from gate.compiler import assemble, compile_bundle, write
from gate.continuity import Recipient
from gate.decision import ActionBlocked, Verdict
from gate.errors import InputError
from gate.evidence import Run
from gate.lab.continuity_bundle import AGENT, Reviewer, write_bundle

DESK = "exercise-desk"


@pytest.fixture(scope="module")
def shared_point(tmp_path_factory: pytest.TempPathFactory, reviewer: Reviewer) -> Iterator[OpaPoint]:
    """The throw-away bundle for two agents, and beside it a bundle of another agent."""
    folder = tmp_path_factory.mktemp("shared")
    write_bundle(folder / AGENT, version="1.0.0", wait_seconds=3600, reviewer=reviewer)
    other = folder / "other"
    shutil.copytree(folder / AGENT, other)
    meta = folder / AGENT / "bundle.yaml"
    text = meta.read_text("utf-8")
    meta.write_text(text.replace(f"agent_ids: [{AGENT}]", f"agent_ids: [{AGENT}, {DESK}]"), "utf-8")
    (other / "bundle.yaml").write_text(
        text.replace(f"agent_ids: [{AGENT}]", "agent_ids: [elsewhere]").replace(
            f"bundle_id: {AGENT}", "bundle_id: other"
        ),
        "utf-8",
    )
    compiled = [compile_bundle(folder / AGENT), compile_bundle(other)]
    for each in compiled:
        write(each)
    assembly = assemble(compiled)
    found = OpaPoint(assembly.modules, revision=assembly.revision)
    yield found
    found.close()


@pytest.fixture
def shared(shared_point: OpaPoint, reviewer: Reviewer, tmp_path: Path) -> Iterator[World]:
    found = World.new(shared_point, reviewer, tmp_path, tmp_path)
    yield found
    found.store.close()


def _handed(world: World, run: Run, to: Recipient | None) -> str:
    boundary = world.gate().prepare_boundary(run, "handoff", to=to)
    return world.gate().seal_summary(boundary, SUMMARY).envelope_id


def test_named_agent_in_the_named_role_goes_on_and_the_sender_does_not(shared: World) -> None:
    run = shared.start()
    envelope_id = _handed(shared, run, Recipient(agent_id=DESK, role="closer"))
    receiver = replace(run, agent_id=DESK, role="closer")

    found = shared.gate().resume(envelope_id, SUMMARY, receiver)

    assert found.validated, found.decision.codes
    assert found.run is not None
    record = shared.store.run(TENANT, run.run_id)
    assert record is not None
    assert (record.agent_id, record.epoch) == (DESK, 2)
    asked = shared.call(found.run)
    assert isinstance(asked, ActionBlocked)
    assert "approval_missing" in asked.decision.codes
    assert "agent_mismatch" not in asked.decision.codes
    late = shared.call(replace(run, epoch=2))
    assert isinstance(late, ActionBlocked)
    assert "agent_mismatch" in late.decision.codes


def test_approval_of_the_sender_is_none_of_the_receiver(shared: World) -> None:
    run = shared.start()
    approval = shared.vote(shared.ask(run))
    envelope_id = _handed(shared, run, Recipient(agent_id=DESK))
    resumed = shared.gate().resume(envelope_id, SUMMARY, replace(run, agent_id=DESK)).run
    assert resumed is not None

    asked = shared.call(resumed)

    assert isinstance(asked, ActionBlocked)
    assert asked.approval_id not in (None, approval.approval_id)
    assert shared.tickets == []


@pytest.mark.parametrize(
    ("agent_id", "role"), [(AGENT, "closer"), (DESK, None), (DESK, "opener"), (DESK, "Closer"), ("elsewhere", "closer")]
)
def test_whoever_else_presents_the_envelope_is_refused_and_the_receiver_can_still_go_on(
    shared: World, agent_id: str, role: str | None
) -> None:
    run = shared.start()
    envelope_id = _handed(shared, run, Recipient(agent_id=DESK, role="closer"))

    found = shared.gate().resume(envelope_id, SUMMARY, replace(run, agent_id=agent_id, role=role))

    assert found.status is Verdict.CONTINUITY_VALIDATION_FAILED
    assert "handoff_recipient_mismatch" in found.decision.codes
    assert shared.gate().resume(envelope_id, SUMMARY, replace(run, agent_id=DESK, role="closer")).validated


@pytest.mark.parametrize(
    ("to", "codes"),
    [
        (None, {"handoff_recipient_missing", "handoff_recipient_not_governed"}),
        (Recipient(agent_id="elsewhere"), {"handoff_recipient_not_governed"}),
        (Recipient(agent_id="nobody"), {"handoff_recipient_not_governed"}),
    ],
)
def test_handoff_to_nobody_or_out_of_the_bundle_is_refused_and_the_run_goes_on(
    shared: World, to: Recipient | None, codes: set[str]
) -> None:
    run = shared.start()

    with pytest.raises(ActionBlocked) as blocked:
        shared.gate().prepare_boundary(run, "handoff", to=to)

    assert set(blocked.value.decision.codes) - {"operation_allowed"} == codes
    assert shared.ask(run).run_id == run.run_id


def test_handoff_nobody_asked_for_that_names_nobody_is_received_by_nobody(shared: World) -> None:
    run = shared.start()
    boundary = shared.gate().note_boundary(run, "handoff", summary=SUMMARY)

    found = shared.resume(boundary)

    assert (found.status, found.reason) == (Verdict.CONTINUITY_VALIDATION_FAILED, "handoff_recipient_mismatch")


@pytest.mark.parametrize("values", [{"agent_id": ""}, {"agent_id": " "}, {"agent_id": DESK, "role": ""}])
def test_recipient_without_a_name_is_none(values: dict[str, str]) -> None:
    with pytest.raises(InputError):
        Recipient(**values)
