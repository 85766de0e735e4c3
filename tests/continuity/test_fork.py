from __future__ import annotations

from dataclasses import replace
from threading import Barrier, Thread

import pytest
from continuity_support import KEY, SUMMARY, TENANT, TICKET, World

from gate.continuity import Child, Resumption
from gate.decision import ActionBlocked, Verdict
from gate.evidence import Run
from gate.records import ApprovalStatus, EffectStatus


def _forked(world: World, run: Run, child: Child | None = None) -> Resumption:
    boundary = world.gate().seal_summary(world.gate().prepare_boundary(run, "fork"), SUMMARY)
    return world.gate().resume(boundary.envelope_id, SUMMARY, run, child=child)


def _both(world: World, run: Run) -> tuple[Run, Run]:
    found = _forked(world, run)
    assert found.run is not None
    assert found.child is not None
    return found.run, found.child


def test_fork_starts_a_run_of_its_own_with_its_lineage_in_the_records_and_in_both_logs(world: World) -> None:
    run = world.start()

    parent, child = _both(world, run)

    assert (parent.run_id, parent.session_id, parent.epoch) == (run.run_id, run.session_id, 2)
    assert child.epoch == 1
    assert {child.run_id, child.session_id}.isdisjoint({run.run_id, run.session_id})
    record = world.store.run(TENANT, child.run_id)
    assert record is not None
    (boundary,) = [e for e in world.store.events(TENANT, run.run_id) if e.event_type == "boundary_resumed"]
    assert (record.parent_run_id, record.forked_from) == (run.run_id, boundary.payload["envelope_id"])
    assert boundary.payload["child_run_id"] == child.run_id
    (created, *_) = world.store.events(TENANT, child.run_id)
    assert created.payload["parent_run_id"] == run.run_id
    kept = world.store.progress(TENANT, child.run_id)
    assert (kept.objective, kept.checkpoint_ref) == ("Resolve the request.", "checkpoint:6")
    assert world.store.verify_run(TENANT, child.run_id) > 0


def test_child_inherits_no_approval_and_the_parent_keeps_its_own(world: World) -> None:
    run = world.start()
    approval = world.vote(world.ask(run))
    parent, child = _both(world, run)

    asked = world.call(child)
    assert isinstance(asked, ActionBlocked)
    assert asked.decision.verdict is Verdict.REQUIRE_APPROVAL
    assert asked.approval_id not in (None, approval.approval_id)
    with (
        pytest.raises(ActionBlocked) as named,
        world.gate().tool_call(
            child, "create_ticket", TICKET, idempotency_key=KEY, reason="asked for", approval_id=approval.approval_id
        ),
    ):
        world.tickets.append({})
    assert "approval_not_inherited" in named.value.decision.codes

    assert world.call(parent) is None
    assert world.tickets == [TICKET]
    used = world.store.approval(TENANT, approval.approval_id)
    assert used is not None
    assert used.status is ApprovalStatus.CONSUMED


def test_both_go_on_independently_with_an_approval_each(world: World) -> None:
    parent, child = _both(world, world.start())
    other = {"title": "Another invoice"}

    world.vote(world.ask(parent, key="key-parent"))
    world.vote(world.ask(child, other, key="key-child"))
    assert world.call(child, other, key="key-child") is None
    assert world.call(parent, key="key-parent") is None
    world.gate().end_run(child)

    later = world.resume(world.cut(parent)).run
    assert later is not None
    assert later.epoch == 3
    assert isinstance(world.call(child, {"title": "Third"}, key="key-3"), ActionBlocked)
    assert world.tickets == [other, TICKET]


def test_effect_of_the_parent_blocks_the_same_effect_of_the_child(world: World) -> None:
    run = world.start()
    parent, child = _both(world, run)
    world.vote(world.ask(parent))
    assert isinstance(world.call(parent, fail=True), TimeoutError)

    blocked = world.call(child, key="key-child")

    assert isinstance(blocked, ActionBlocked)
    assert blocked.decision.verdict is Verdict.BLOCKED_ON_RECONCILIATION
    assert world.effect().status is EffectStatus.UNKNOWN
    assert world.tickets == [TICKET]


@pytest.mark.parametrize("named", ["run", "session"])
def test_child_that_is_not_new_is_refused_and_the_run_stays_at_its_boundary(world: World, named: str) -> None:
    run, other = world.start(), world.start(session_id="session-other")
    child = (
        Child(run_id=other.run_id, session_id="session-new")
        if named == "run"
        else Child(run_id="run-new", session_id=run.session_id)
    )

    found = _forked(world, run, child)

    assert (found.status, found.reason) == (Verdict.CONTINUITY_VALIDATION_FAILED, "fork_child_not_new")
    assert (found.run, found.child) == (None, None)
    assert world.store.run(TENANT, "run-new") is None
    record = world.store.run(TENANT, run.run_id)
    assert record is not None
    assert (record.epoch, record.boundary_id is None) == (1, False)


def test_of_four_resumes_of_one_fork_at_once_one_starts_one_child(world: World) -> None:
    run = world.start()
    boundary = world.gate().seal_summary(world.gate().prepare_boundary(run, "fork"), SUMMARY)
    barrier, found = Barrier(4), []

    def body() -> None:
        barrier.wait()
        found.append(world.gate().resume(boundary.envelope_id, SUMMARY, run))

    threads = [Thread(target=body) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    children = [each.child for each in found if each.child is not None]
    assert len(children) == 1
    forked = [each.run_id for each in world.store.runs_of_trace(TENANT, run.trace_id) if each.parent_run_id is not None]
    assert forked == [children[0].run_id]


def test_handle_of_the_parent_is_none_of_the_child(world: World) -> None:
    parent, child = _both(world, world.start())

    assert "session_mismatch" in world.codes(replace(parent, run_id=child.run_id))
