"""How long an approval lives, and what a contract says of a run that waits for one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from enforcement_support import AGENT, REASON, TENANT, TICKET, World, error_code, raw, vote_on

from gate.decision import ActionBlocked
from gate.enforcement.gate import system_clock_ms
from gate.errors import InputError
from gate.evidence import ABSENT, Identity
from gate.records import ApprovalRecord, ApprovalStatus, RunStatus

CREATE = ("configured_with_approval",)


class Clock:
    """The gate's clock, set forward by hand."""

    def __init__(self) -> None:
        self.ahead = 0

    def __call__(self) -> int:
        return system_clock_ms() + self.ahead


class Stopped:
    """A clock that stands still once it is told where."""

    def __init__(self) -> None:
        self.at: int | None = None

    def __call__(self) -> int:
        return system_clock_ms() if self.at is None else self.at


def run_status(world: World) -> str:
    found = world.store.run(TENANT, world.run.run_id)
    assert found is not None
    return str(found.status)


def wait_for_expiry(world: World, approval: ApprovalRecord) -> None:
    while world.store.now_ms() <= approval.expires_at_ms:
        time.sleep(0.02)


@pytest.mark.parametrize(("before", "verdict"), [(1, "allow"), (0, "deny"), (-1, "deny")])
def test_approval_is_expired_from_the_millisecond_of_its_expiry(
    make_world: Callable[..., World], before: int, verdict: str
) -> None:
    clock = Stopped()
    world = make_world(clock_ms=clock)
    approval = world.approved()

    clock.at = approval.expires_at_ms - before

    # A vote lives as long as its approval, so at the last millisecond both still hold.
    assert (world.attempt().verdict, world.runs) == (verdict, int(verdict == "allow"))


@pytest.mark.parametrize("vote", [False, True])
def test_expiry_under_a_contract_that_cancels_ends_the_run(make_world: Callable[..., World], vote: bool) -> None:
    clock = Clock()
    world = make_world(clock_ms=clock)
    approval = world.approved() if vote else world.ask()
    clock.ahead = approval.expires_at_ms - system_clock_ms()

    outcome = world.attempt()

    assert (outcome.verdict, outcome.approval_id, world.runs) == ("deny", None, 0)
    assert "approval_expired" in outcome.codes
    assert run_status(world) == "cancelled"
    assert world.search().codes == ("configured_allow", "run_not_running")
    assert world.gate.check(world.run, "model_call").codes == ("operation_allowed", "run_not_running")


def test_expiry_in_an_earlier_run_does_not_end_a_new_one(make_world: Callable[..., World]) -> None:
    clock = Clock()
    world = make_world(clock_ms=clock)
    approval = world.ask()
    clock.ahead = approval.expires_at_ms - system_clock_ms()
    world.attempt()
    again = world.start()

    outcome = world.attempt(run=again)

    assert (outcome.verdict, outcome.codes) == ("require_approval", ("approval_expired", *CREATE))
    assert world.search(run=again).verdict == "allow"


def test_expiry_under_a_contract_that_asks_again_asks_anew(make_world: Callable[..., World]) -> None:
    world = make_world("request_again")
    first = world.ask()
    wait_for_expiry(world, first)

    second = world.ask()

    assert second.approval_id != first.approval_id
    assert (run_status(world), world.runs) == ("running", 0)
    found = world.store.approval(TENANT, first.approval_id)
    assert found is not None
    assert found.status is ApprovalStatus.EXPIRED


def test_approved_but_expired_approval_is_not_used_though_the_gates_clock_is_slow(
    make_world: Callable[..., World],
) -> None:
    clock = Stopped()
    world = make_world("request_again", clock_ms=clock)
    approval = world.ask()
    assert world.hand_in(approval, vote_on(approval)).verdict == "approved"
    wait_for_expiry(world, approval)
    clock.at = approval.expires_at_ms - 1

    outcome = world.attempt()

    assert (outcome.verdict, outcome.codes, world.runs) == ("deny", ("claim_contended",), 0)


def test_pending_approval_asked_for_again_stays_the_same_one(any_world: World) -> None:
    assert any_world.ask() == any_world.ask()
    assert len(any_world.store.approvals(TENANT)) == 1


INCOMPLETE = {"reason": None, "blank reason": "   "}


@pytest.mark.parametrize("name", INCOMPLETE)
def test_request_without_every_field_of_the_contract_asks_nobody(any_world: World, name: str) -> None:
    outcome = any_world.attempt(reason=INCOMPLETE[name])

    assert (outcome.verdict, outcome.approval_id) == ("deny", None)
    assert outcome.codes == ("approval_missing", "approval_request_incomplete", *CREATE)
    assert (any_world.store.approvals(TENANT), any_world.runs) == ([], 0)


def test_call_without_an_idempotency_key_asks_nobody(world: World) -> None:
    outcome = world.attempt(idempotency_key=None)

    assert outcome.verdict == "deny"
    assert {"approval_request_incomplete", "idempotency_key_missing"} <= set(outcome.codes)
    assert (world.store.approvals(TENANT), world.runs) == ([], 0)


def test_call_with_arguments_that_do_not_fit_asks_nobody(world: World) -> None:
    for arguments in ({**TICKET, "extra": 1}, {**TICKET, "queue": "sales"}, {**TICKET, "title": 5}, [], ABSENT):
        outcome = world.attempt(arguments=arguments)
        assert outcome.verdict == "deny"
        assert "arguments_invalid" in outcome.codes
    assert (world.store.approvals(TENANT), world.runs) == ([], 0)


def test_contract_without_pause_refuses_a_call_that_would_wait(make_world: Callable[..., World]) -> None:
    world = make_world("no_pause")

    outcome = world.attempt()

    assert (outcome.verdict, outcome.approval_id) == ("deny", None)
    assert outcome.codes == ("approval_missing", "approval_pause_not_allowed", *CREATE)
    assert (world.store.approvals(TENANT), world.runs) == ([], 0)


def test_revoked_approval_is_not_used(world: World) -> None:
    approval = world.approved()
    world.store.set_approval_status(
        TENANT,
        approval.approval_id,
        expected_version=approval.version,
        to_status=ApprovalStatus.REVOKED,
        reason="changed my mind",
    )

    outcome = world.attempt(approval_id=approval.approval_id)

    assert (outcome.verdict, outcome.codes, world.runs) == ("require_approval", ("approval_revoked", *CREATE), 0)


def test_cancelled_request_is_asked_anew(world: World) -> None:
    approval = world.ask()
    world.store.set_approval_status(
        TENANT,
        approval.approval_id,
        expected_version=approval.version,
        to_status=ApprovalStatus.CANCELLED,
        reason="not needed",
    )

    assert world.attempt().codes == ("approval_cancelled", *CREATE)
    assert len(world.store.approvals(TENANT)) == 2


@pytest.mark.parametrize("status", [RunStatus.PAUSED, RunStatus.COMPLETED, RunStatus.CANCELLED, RunStatus.STOPPED])
def test_run_that_is_not_running_may_call_nothing(any_world: World, status: RunStatus) -> None:
    any_world.approved()
    if status is RunStatus.PAUSED:
        any_world.gate.pause_run(any_world.run)
    else:
        any_world.gate.end_run(any_world.run, status)

    assert any_world.attempt().codes == (*CREATE, "run_not_running")
    assert any_world.search().codes == ("configured_allow", "run_not_running")
    assert any_world.runs == 0


def test_paused_run_goes_on_when_it_is_resumed(world: World) -> None:
    world.gate.pause_run(world.run)
    assert world.search().codes == ("configured_allow", "run_not_running")
    world.gate.resume_run(world.run)
    assert world.search().verdict == "allow"


def test_run_is_not_ended_by_pausing_it(world: World) -> None:
    with pytest.raises(InputError) as caught:
        world.gate.end_run(world.run, RunStatus.PAUSED)
    assert caught.value.code == "run_status_invalid"


def test_run_that_was_never_started_may_call_nothing(world: World) -> None:
    outcome = world.search(run=replace(world.run, run_id="never"))

    assert outcome.verdict == "deny"
    assert set(outcome.codes) <= {
        "agent_mismatch", "principal_mismatch", "run_not_running", "session_mismatch", "tenant_mismatch", "run_mismatch"
    }  # fmt: skip


def test_start_of_a_run_that_exists_is_a_conflict(world: World) -> None:
    assert error_code(lambda: world.start(run_id=world.run.run_id)) == "run_exists"


@pytest.mark.parametrize(("tenant", "principal"), [(None, "u"), ("", "u"), ("t", None), ("t", "")])
def test_start_without_tenant_or_principal_is_refused(world: World, tenant: str | None, principal: str | None) -> None:
    with pytest.raises(ActionBlocked) as refused:
        world.start(identity=Identity(tenant_id=tenant, principal_id=principal), agent_id=AGENT)

    assert str(refused.value.decision.verdict) == "deny"
    assert raw(world.path, "SELECT count(*) FROM runs") == [(0,)]


def test_approval_view_shows_only_what_the_redaction_policy_lists(world: World) -> None:
    approval = world.ask({**TICKET, "body": "s3cr3t"})

    assert {pointer: next(iter(leaf)) for pointer, leaf in approval.view.items()} == {
        "/queue": "value",
        "/title": "value",
        "/requester_id": "digest",
        "/body": "digest",
    }
    assert (approval.view["/queue"], approval.view["/title"]) == (
        {"value": TICKET["queue"]},
        {"value": TICKET["title"]},
    )
    assert approval.reason == REASON
    assert "s3cr3t" not in str(approval)
