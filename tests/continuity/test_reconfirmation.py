"""Case A8 through the gate: approvals of an earlier epoch are asked for again, hosts of another are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from continuity_support import SUMMARY, TENANT, TICKET, World
from opa_point import OpaPoint

from gate.compiler import assemble, compile_bundle, write
from gate.decision import ActionBlocked, Verdict
from gate.enforcement import AlreadyCommitted
from gate.evidence import Run
from gate.lab.continuity_bundle import AGENT, Reviewer, write_bundle
from gate.records import ApprovalStatus


@pytest.fixture(scope="module")
def strict_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("strict")


@pytest.fixture(scope="module")
def strict_point(strict_folder: Path, reviewer: Reviewer) -> Iterator[OpaPoint]:
    """The throw-away bundle with a `continuity.yaml` that wants approvals confirmed again."""
    folder = strict_folder / AGENT
    write_bundle(folder, version="1.0.0", wait_seconds=3600, reviewer=reviewer)
    meta = folder / "bundle.yaml"
    meta.write_text(meta.read_text("utf-8").replace("reviewers.yaml]", "reviewers.yaml, continuity.yaml]"), "utf-8")
    (folder / "continuity.yaml").write_text("continuity:\n  reconfirm_approval: true\n", "utf-8")
    compiled = compile_bundle(folder)
    write(compiled)
    assembly = assemble([compiled])
    found = OpaPoint(assembly.modules, revision=assembly.revision)
    yield found
    found.close()


@pytest.fixture
def strict(strict_point: OpaPoint, reviewer: Reviewer, tmp_path: Path, strict_folder: Path) -> Iterator[World]:
    found = World.new(strict_point, reviewer, tmp_path, strict_folder)
    yield found
    found.store.close()


def _next_epoch(world: World, run: Run) -> Run:
    resumed = world.resume(world.cut(run), SUMMARY).run
    assert resumed is not None
    return resumed


def test_approval_of_the_epoch_before_is_asked_for_again_and_the_new_one_lets_the_call_run_once(strict: World) -> None:
    run = strict.start()
    old = strict.vote(strict.ask(run))
    later = _next_epoch(strict, run)

    blocked = strict.call(later)

    assert isinstance(blocked, ActionBlocked)
    assert blocked.decision.verdict is Verdict.REQUIRE_APPROVAL
    assert "approval_epoch_changed" in blocked.decision.codes
    assert blocked.approval_id not in (None, old.approval_id)
    revoked = strict.store.approval(TENANT, old.approval_id)
    assert revoked is not None
    assert (revoked.status, revoked.epoch) == (ApprovalStatus.REVOKED, 1)

    new = strict.store.approval(TENANT, blocked.approval_id or "")
    assert new is not None
    assert (new.status, new.epoch) == (ApprovalStatus.PENDING, 2)
    assert isinstance(strict.call(later), ActionBlocked)
    assert strict.tickets == []
    strict.vote(new)
    assert strict.call(later) is None
    assert strict.tickets == [TICKET]
    assert isinstance(strict.call(later), AlreadyCommitted)
    assert strict.tickets == [TICKET]


def test_approval_asked_for_before_the_boundary_and_given_after_it_is_of_the_new_epoch(strict: World) -> None:
    run = strict.start()
    asked = strict.ask(run)
    boundary = strict.gate().note_boundary(run, "context_compaction", summary=SUMMARY)
    given = strict.vote(asked)
    assert given.status is ApprovalStatus.APPROVED
    # It was waited for when the context was cut, so what the envelope froze is not what the records say now.
    found = strict.resume(boundary)
    later = found.run or strict.resume(strict.gate().recover(run), None).run
    assert later is not None

    assert "approval_epoch_changed" in strict.codes(later)
    assert strict.tickets == []


def test_old_approval_named_by_the_host_is_no_way_around(strict: World) -> None:
    run = strict.start()
    old = strict.vote(strict.ask(run))
    later = _next_epoch(strict, run)

    with (
        pytest.raises(ActionBlocked) as blocked,
        strict.gate().tool_call(
            later,
            "create_ticket",
            TICKET,
            idempotency_key="ticket-intent-1",
            reason="asked for",
            approval_id=old.approval_id,
        ),
    ):
        strict.tickets.append({})

    assert blocked.value.decision.verdict is Verdict.REQUIRE_APPROVAL
    assert strict.tickets == []


@pytest.mark.parametrize(
    ("epoch", "code"), [(None, "epoch_absent"), (0, "epoch_absent"), (1, "epoch_backwards"), (3, "epoch_ahead")]
)
def test_call_of_a_host_that_is_not_in_the_epoch_of_the_records_is_denied(
    strict: World, epoch: int | None, code: str
) -> None:
    later = _next_epoch(strict, strict.start())
    assert later.epoch == 2

    blocked = strict.call(replace(later, epoch=epoch))

    assert isinstance(blocked, ActionBlocked)
    assert blocked.decision.verdict is Verdict.DENY
    assert code in blocked.decision.codes
    assert strict.tickets == []


@pytest.mark.parametrize(("epoch", "code"), [(0, "epoch_absent"), (1, "epoch_backwards"), (3, "epoch_backwards")])
def test_resume_of_a_host_that_is_not_in_the_epoch_of_the_records_fails(strict: World, epoch: int, code: str) -> None:
    later = _next_epoch(strict, strict.start())
    boundary = strict.cut(later)

    found = strict.resume(boundary, host=replace(later, epoch=epoch))

    assert found.status is Verdict.CONTINUITY_VALIDATION_FAILED
    assert code in found.decision.codes
    assert found.run is None


def test_bundle_that_does_not_want_it_takes_the_approval_across(world: World) -> None:
    run = world.start()
    world.vote(world.ask(run))

    assert world.call(_next_epoch(world, run)) is None
    assert world.tickets == [TICKET]
