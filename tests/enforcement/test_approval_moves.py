"""What becomes of an approval besides being voted on: taken back, handed on, escalated, expired, used again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from enforcement_support import KEYS, PRINCIPAL, TENANT, TICKET, World, error_code, key_of, raw

from gate.decision import ActionBlocked
from gate.enforcement.gate import system_clock_ms
from gate.evidence import Identity, Run
from gate.records import ApprovalRecord, ApprovalStatus

MakeWorld = Callable[..., World]


class Clock:
    """The gate's clock, set forward by hand."""

    def __init__(self) -> None:
        self.ahead = 0

    def __call__(self) -> int:
        return system_clock_ms() + self.ahead


def stored(world: World, approval: ApprovalRecord) -> ApprovalRecord:
    found = world.store.approval(TENANT, approval.approval_id)
    assert found is not None
    return found


def run_of(world: World, run: Run | None = None) -> str:
    found = world.store.run(TENANT, (run or world.run).run_id)
    assert found is not None
    return str(found.status)


def codes(call: Callable[[], object]) -> set[str]:
    with pytest.raises(ActionBlocked) as blocked:
        call()
    return set(blocked.value.decision.codes) - {"operation_allowed"}


def say(
    world: World, approval: ApprovalRecord, reviewer: str, decision: str, *, delegate_to: str | None = None
) -> ApprovalRecord:
    reviews = world.gate.reviews
    now = stored(world, approval)
    vote = reviews.sign(now, decision=decision, key=key_of(reviewer), delegate_to=delegate_to)
    return reviews.vote(TENANT, approval.approval_id, vote, decision=decision, reviewer=reviewer)


def test_revoked_approval_runs_nothing_and_keeps_the_signed_word(any_world: World) -> None:
    approval = any_world.approved()

    moved = say(any_world, approval, "otto", "revoked")

    assert (moved.status, len(moved.votes), moved.status_reason) == (ApprovalStatus.REVOKED, 2, "revoked by otto")
    outcome = any_world.attempt()
    assert (outcome.verdict, outcome.ran) == ("require_approval", False)
    assert "approval_revoked" in outcome.codes


def test_revoked_row_that_was_set_back_is_refused_for_the_signed_word(world: World) -> None:
    approval = world.approved()
    say(world, approval, "otto", "revoked")

    raw(world.path, "UPDATE approvals SET status = 'approved'")

    outcome = world.attempt()
    assert (outcome.verdict, outcome.ran) == ("deny", False)
    assert "approval_rejected" in outcome.codes


def test_revocation_of_somebody_without_the_role_is_refused(world: World) -> None:
    approval = world.approved()
    assert codes(lambda: say(world, approval, "vic", "revoked")) == {"approval_reviewer_invalid"}
    assert world.attempt().ran


def test_pending_request_is_cancelled_by_a_reviewer(world: World) -> None:
    approval = world.ask()
    assert say(world, approval, "mira", "cancelled").status is ApprovalStatus.CANCELLED
    assert codes(lambda: world.vote(stored(world, approval))) == {"transition_not_allowed"}
    assert world.ask().approval_id != approval.approval_id


@pytest.mark.parametrize(
    ("variant", "principal", "tenant", "answer"),
    [
        ("requester_cancels", PRINCIPAL, TENANT, "cancelled"),
        ("requester_cancels", "user-43", TENANT, "denied"),
        ("plain", PRINCIPAL, TENANT, "denied"),
        ("requester_cancels", PRINCIPAL, "tenant-other", "unknown"),
    ],
)
def test_request_is_taken_back_only_by_whoever_asked_and_where_the_contract_says_so(
    make_world: MakeWorld, variant: str, principal: str, tenant: str, answer: str
) -> None:
    world = make_world(variant)
    approval = world.ask()
    who = Identity(tenant_id=tenant, principal_id=principal)

    def take_back() -> object:
        return world.gate.reviews.take_back(who, approval.approval_id)

    if answer == "unknown":
        assert error_code(take_back) == "approval_unknown"
    elif answer == "denied":
        assert {"approval_signature_invalid", "transition_not_by_human"} <= codes(take_back)
    else:
        take_back()
    assert stored(world, approval).status == ("cancelled" if answer == "cancelled" else "pending")


def test_expired_request_expires_with_its_run(make_world: MakeWorld) -> None:
    clock = Clock()
    world = make_world("short", clock_ms=clock)
    approval = world.ask()
    # The gate's clock alone expires nothing: the database's must agree.
    clock.ahead = 60_000
    assert error_code(lambda: world.gate.reviews.expire(TENANT, approval.approval_id)) == "approval_not_expired"
    clock.ahead = 0
    while world.store.now_ms() < approval.expires_at_ms:
        pass

    moved = world.gate.reviews.sweep(TENANT)

    assert [(a.approval_id, a.status) for a in moved] == [(approval.approval_id, ApprovalStatus.EXPIRED)]
    assert run_of(world) == "cancelled"
    assert world.gate.reviews.sweep(TENANT) == []


def test_live_request_does_not_expire(world: World) -> None:
    approval = world.ask()
    assert codes(lambda: world.gate.reviews.expire(TENANT, approval.approval_id)) == {"approval_not_expired"}
    assert (world.gate.reviews.sweep(TENANT), run_of(world)) == ([], "running")


def test_undecided_request_is_escalated_in_time_and_decided_by_the_default_reviewer(make_world: MakeWorld) -> None:
    clock = Clock()
    world = make_world("escalating", clock_ms=clock)
    approval = world.ask()
    assert codes(lambda: world.gate.reviews.escalate(TENANT, approval.approval_id)) == {"escalation_not_due"}
    assert codes(lambda: say(world, approval, "vic", "approved")) == {"approval_reviewer_invalid"}

    clock.ahead = 61_000
    (escalated,) = world.gate.reviews.sweep(TENANT)

    assert (escalated.status, escalated.escalated_at_ms is not None) == (ApprovalStatus.PENDING, True)
    assert codes(lambda: world.gate.reviews.escalate(TENANT, approval.approval_id)) == {"transition_not_allowed"}
    assert say(world, approval, "vic", "approved").status is ApprovalStatus.APPROVED
    assert world.attempt().ran


def test_vote_is_handed_to_the_delegate_and_to_nobody_else(make_world: MakeWorld) -> None:
    world = make_world("delegating")
    approval = world.ask()
    assert codes(lambda: say(world, approval, "vic", "approved")) == {"approval_reviewer_invalid"}
    assert codes(lambda: say(world, approval, "mira", "delegated", delegate_to="otto")) == {
        "approval_delegate_not_allowed"
    }

    assert say(world, approval, "mira", "delegated", delegate_to="vic").status is ApprovalStatus.PENDING

    assert codes(lambda: say(world, approval, "mira", "approved")) == {"approval_vote_repeated"}
    assert say(world, approval, "vic", "approved").status is ApprovalStatus.APPROVED
    assert world.attempt().ran


def test_each_role_must_vote(make_world: MakeWorld) -> None:
    world = make_world("each_role")
    approval = world.ask()
    assert say(world, approval, "mira", "approved").status is ApprovalStatus.PENDING
    assert say(world, approval, "otto", "approved").status is ApprovalStatus.PENDING
    assert not world.attempt().ran
    assert say(world, approval, "vic", "approved").status is ApprovalStatus.APPROVED
    assert world.attempt().ran


def test_who_approved_may_reject_while_the_quorum_is_open(make_world: MakeWorld) -> None:
    world = make_world("quorum2")
    approval = world.ask()
    say(world, approval, "mira", "approved")
    assert say(world, approval, "mira", "rejected").status is ApprovalStatus.REJECTED
    assert run_of(world) == "stopped"


@pytest.mark.parametrize(
    ("decision", "after"), [("approved", "running"), ("rejected", "running"), ("cancelled", "running")]
)
def test_run_waits_until_the_request_is_decided(make_world: MakeWorld, decision: str, after: str) -> None:
    world = make_world("pausing")
    approval = world.ask()
    assert run_of(world) == "paused"
    assert world.search().codes == ("configured_allow", "run_not_running")

    say(world, approval, "mira", decision)

    assert run_of(world) == after
    assert world.search().ran


def test_run_that_the_host_paused_is_not_resumed_by_a_vote(make_world: MakeWorld) -> None:
    world = make_world("pausing")
    approval = world.ask()
    world.gate.resume_run(world.run)
    world.gate.pause_run(world.run)
    say(world, approval, "mira", "approved")
    assert run_of(world) == "paused"


def test_standing_approval_is_good_for_its_uses_and_no_more(make_world: MakeWorld) -> None:
    world = make_world("standing")
    approval = world.approved()
    assert approval.standing_digest is not None
    outcomes = [
        world.attempt(arguments={**TICKET, "title": f"Invoice {n}"}, idempotency_key=f"key-{n}") for n in range(3)
    ]
    assert [(o.verdict, o.ran) for o in outcomes] == [("allow", True), ("allow", True), ("require_approval", False)]
    assert (stored(world, approval).status, stored(world, approval).uses) == (ApprovalStatus.CONSUMED, 2)


def test_standing_approval_stands_for_nothing_that_the_contract_does_not_leave_free(make_world: MakeWorld) -> None:
    world = make_world("standing")
    world.approved()
    other = world.attempt(arguments={**TICKET, "queue": "billing"}, idempotency_key="key-2")
    assert (other.verdict, other.ran) == ("require_approval", False)
    exact = make_world("standing_exact")
    exact.approved()
    assert not exact.attempt(arguments={**TICKET, "title": "Another"}, idempotency_key="key-2").ran


@pytest.mark.parametrize(("variant", "ran"), [("standing", False), ("standing_everywhere", True)])
def test_standing_approval_in_another_session(make_world: MakeWorld, variant: str, ran: bool) -> None:
    world = make_world(variant)
    world.approved()
    elsewhere = world.start(session_id="session-2")
    arguments = {**TICKET, "title": "Another"}
    assert world.attempt(arguments=arguments, run=elsewhere, idempotency_key="key-2").ran is ran


@pytest.mark.parametrize("field", ["tenant_id", "principal_id"])
def test_standing_approval_is_for_nobody_else(make_world: MakeWorld, field: str) -> None:
    world = make_world("standing_everywhere")
    world.approved()
    other = replace(Identity(tenant_id=TENANT, principal_id=PRINCIPAL), **{field: "another"})
    stranger = world.start(identity=other)
    outcome = world.attempt(arguments={**TICKET, "title": "Another"}, run=stranger, idempotency_key="key-2")
    assert (outcome.verdict, outcome.ran) == ("require_approval", False)


def test_standing_approval_whose_terms_were_not_signed_stands_for_nothing(make_world: MakeWorld) -> None:
    world = make_world("standing")
    approval = world.ask()
    vote = world.gate.reviews.sign(replace(approval, standing_digest=None), decision="approved", key=key_of("mira"))
    handed = world.hand_in(approval, vote)
    assert (handed.verdict, set(handed.codes)) == ("deny", {"approval_signature_invalid", "operation_allowed"})


def test_revoked_standing_approval_has_no_use_left(make_world: MakeWorld) -> None:
    world = make_world("standing")
    approval = world.approved()
    assert world.attempt().ran
    say(world, approval, "otto", "revoked")
    assert not world.attempt(arguments={**TICKET, "title": "Another"}, idempotency_key="key-2").ran


def test_denied_key_signs_nothing_any_more(any_world: World) -> None:
    approval = any_world.approved()
    any_world.store.deny_key(TENANT, "mira-key", reason="laptop stolen", denied_by="ops")

    outcome = any_world.attempt()

    assert (outcome.verdict, outcome.ran) == ("require_approval", False)
    assert "approval_key_denied" in outcome.codes
    assert stored(any_world, approval).status is ApprovalStatus.APPROVED


def test_denied_key_is_refused_under_another_id_too(world: World) -> None:
    approval = world.ask()
    world.store.deny_key(TENANT, "old-key", reason="stolen", denied_by="ops", public_key=KEYS["mira"][1])
    assert "approval_key_denied" in codes(lambda: world.vote(approval))


def test_key_denied_by_another_tenant_still_signs(world: World) -> None:
    world.store.deny_key("tenant-other", "mira-key", reason="stolen", denied_by="ops")
    assert world.approved().status is ApprovalStatus.APPROVED
