"""Who approved: signatures, reviewers, quorum, and nobody for himself (issue 2 point 6; DESIGN 8, 15)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from enforcement_support import (
    KEYS,
    TENANT,
    TICKET,
    UNLISTED,
    World,
    error_code,
    key_of,
    raw,
    vote_on,
)

from gate.canonical import digest
from gate.decision import ActionBlocked
from gate.enforcement.gate import system_clock_ms
from gate.errors import InputError
from gate.records import ApprovalRecord, RunStatus, StoredVote, VoteDecision

CREATE = ("configured_with_approval",)
ALLOWED = "operation_allowed"


def test_vote_of_a_named_reviewer_approves(any_world: World) -> None:
    approval = any_world.ask()

    moved = any_world.vote(approval)

    assert (str(moved.status), any_world.attempt().verdict, any_world.runs) == ("approved", "allow", 1)


def by(name: str, **changes: Any) -> Callable[[ApprovalRecord], StoredVote]:
    return lambda approval: vote_on(
        approval, private_key=KEYS[name][0], **{"reviewer": name, "key_id": f"{name}-key", **changes}
    )


def tampered(approval: ApprovalRecord) -> StoredVote:
    sound = vote_on(approval)
    return StoredVote(sound.payload.replace(approval.approval_id.encode(), b"apr-0000000000000000"), sound.signature)


# Nothing of a vote whose signature does not hold is believed, so nothing of it fits.
UNREADABLE = (
    "approval_reviewer_invalid",
    "approval_self_approved",
    "approval_signature_invalid",
    "transition_not_allowed",
)
# What is handed in for a pending approval, and the reasons it is refused for.
BAD_VOTES: dict[str, tuple[Callable[[ApprovalRecord], StoredVote], tuple[str, ...]]] = {
    "signed with a key nobody listed": (
        lambda a: vote_on(a, private_key=UNLISTED[0]),
        UNREADABLE,
    ),
    "changed after signing": (
        tampered,
        UNREADABLE,
    ),
    "no bytes of a vote": (
        lambda a: StoredVote(b"approved", b"x" * 64),
        UNREADABLE,
    ),
    "of another environment": (by("mira", environment="staging"), ("approval_signature_invalid",)),
    "over another action": (by("mira", action_digest=digest("other")), ("approval_signature_invalid",)),
    "over another contract": (by("mira", contract_digest=digest("other")), ("approval_signature_invalid",)),
    "over another approval": (by("mira", approval_id="apr-0"), ("approval_signature_invalid",)),
    "over another nonce": (by("mira", nonce="other"), ("approval_signature_invalid",)),
    "issued in the future": (by("mira", issued_at_ms=2**52, expires_at_ms=2**53 - 1), ("approval_signature_invalid",)),
    "expired": (
        by("mira", issued_at_ms=1, expires_at_ms=2),
        ("approval_reviewer_invalid", "approval_signature_invalid"),
    ),
    "by a reviewer without the role": (by("vic"), ("approval_reviewer_invalid",)),
    "with an expired key": (by("past"), ("approval_reviewer_invalid",)),
    "with a key of the future": (by("future"), ("approval_reviewer_invalid",)),
    "in the name of another reviewer": (by("vic", reviewer="mira"), ("approval_reviewer_invalid",)),
    "by a reviewer nobody knows": (by("mira", reviewer="nobody"), ("approval_reviewer_invalid",)),
    "by the principal": (by("self"), ("approval_self_approved",)),
    "that says rejected": (by("mira", decision=VoteDecision.REJECTED), ("transition_not_allowed",)),
}


@pytest.mark.parametrize("name", BAD_VOTES)
def test_vote_that_does_not_hold_is_refused_and_not_kept(any_world: World, name: str) -> None:
    vote, codes = BAD_VOTES[name]
    approval = any_world.ask()

    outcome = any_world.hand_in(approval, vote(approval))

    assert outcome.verdict == "deny"
    assert set(outcome.codes) - {ALLOWED} == set(codes)
    assert any_world.store.approval(TENANT, approval.approval_id) == approval
    assert (any_world.attempt().codes, any_world.runs) == (("approval_pending", *CREATE), 0)


def test_vote_for_one_approval_approves_no_other(world: World) -> None:
    first, second = world.ask(), world.ask({**TICKET, "title": "Another"}, idempotency_key="key-2")
    vote = vote_on(first)
    assert world.hand_in(first, vote).verdict == "approved"

    assert world.hand_in(second, vote).codes == ("approval_signature_invalid", ALLOWED)
    assert world.attempt(arguments={**TICKET, "title": "Another"}, idempotency_key="key-2").verdict != "allow"


# What somebody with the database file writes there, and why it approves nothing.
FORGERIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "a row that says approved": ("UPDATE approvals SET status = 'approved'", ("approval_quorum_not_met",)),
    "a row that says consumed": ("UPDATE approvals SET status = 'consumed'", ("approval_consumed",)),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_row_written_by_hand_approves_nothing(world: World, name: str) -> None:
    statement, codes = FORGERIES[name]
    world.ask()
    raw(world.path, statement)

    outcome = world.attempt()

    assert (outcome.verdict, outcome.codes, world.runs) == ("require_approval", (*codes, *CREATE), 0)


def test_signed_vote_moved_to_another_row_approves_nothing(world: World) -> None:
    first, second = world.approved(), world.ask({**TICKET, "title": "Another"}, idempotency_key="key-2")
    raw(
        world.path,
        "INSERT INTO approval_votes SELECT tenant_id, ?, vote_no, payload_digest, payload, signature, cast_at_ms"
        " FROM approval_votes WHERE approval_id = ?",
        second.approval_id,
        first.approval_id,
    )
    raw(world.path, "UPDATE approvals SET status = 'approved' WHERE approval_id = ?", second.approval_id)

    outcome = world.attempt(arguments={**TICKET, "title": "Another"}, idempotency_key="key-2")

    assert outcome.verdict == "require_approval"
    assert {"approval_quorum_not_met", "approval_signature_invalid"} <= set(outcome.codes)
    assert world.runs == 0


@pytest.mark.parametrize(
    ("column", "code"),
    [
        ("action_digest", "approval_digest_mismatch"),
        ("contract_digest", "approval_contract_mismatch"),
        ("principal_id", "approval_binding_mismatch"),
        ("session_id", "approval_binding_mismatch"),
        ("agent_id", "approval_binding_mismatch"),
        ("bundle_version", "approval_binding_mismatch"),
        ("release_identity", "approval_binding_mismatch"),
        ("nonce", "approval_signature_invalid"),
    ],
)
def test_approved_row_with_one_field_changed_approves_nothing(world: World, column: str, code: str) -> None:
    approval = world.approved()
    raw(world.path, f"UPDATE approvals SET {column} = ?", digest("other"))

    outcome = world.attempt(approval_id=approval.approval_id)

    assert outcome.verdict == "require_approval"
    assert code in outcome.codes
    assert world.runs == 0


def test_quorum_of_two_needs_two_humans(make_world: Callable[..., World]) -> None:
    world = make_world("quorum2")
    approval = world.vote(world.ask(), "mira")
    assert (str(approval.status), world.attempt().codes) == ("pending", ("approval_pending", *CREATE))

    approval = world.vote(approval, "otto")

    assert (str(approval.status), world.attempt().verdict, world.runs) == ("approved", "allow", 1)


@pytest.mark.parametrize("again", ["mira", "mira-laptop"])
def test_one_human_does_not_make_a_quorum_of_two_under_any_name(make_world: Callable[..., World], again: str) -> None:
    world = make_world("quorum2")
    approval = world.vote(world.ask(), "mira")

    with pytest.raises(ActionBlocked) as refused:
        world.vote(approval, again)

    assert refused.value.decision.codes == ("approval_vote_repeated", ALLOWED)
    raw(world.path, "UPDATE approvals SET status = 'approved'")
    assert world.attempt().codes == ("approval_quorum_not_met", *CREATE)
    assert world.runs == 0


def test_vote_over_an_approval_that_changed_meanwhile_is_a_conflict(
    make_world: Callable[..., World],
) -> None:
    world = make_world("quorum2")
    approval = world.ask()
    world.vote(approval, "mira")
    found = world.store.approval(TENANT, approval.approval_id)
    assert found is not None

    code = error_code(
        lambda: world.store.add_vote(
            TENANT,
            approval.approval_id,
            expected_version=approval.version,
            vote=vote_on(found, reviewer="otto", key_id="otto-key", private_key=KEYS["otto"][0]),
            to_status=found.status,
        )
    )

    assert code == "approval_changed"


def test_vote_after_the_expiry_is_refused(make_world: Callable[..., World]) -> None:
    later = [0]
    world = make_world(clock_ms=lambda: system_clock_ms() + later[0])
    approval = world.ask()
    vote = vote_on(approval)
    later[0] = approval.expires_at_ms - system_clock_ms()

    outcome = world.hand_in(approval, vote)

    assert set(outcome.codes) == {"approval_expired", "approval_signature_invalid", ALLOWED}
    assert world.store.approval(TENANT, approval.approval_id) == approval


def test_approval_after_a_rejection_is_refused(any_world: World) -> None:
    world = any_world
    approval = world.vote(world.ask(), decision="rejected")
    assert str(approval.status) == "rejected"

    with pytest.raises(ActionBlocked) as refused:
        world.vote(approval, "otto")

    assert "transition_not_allowed" in refused.value.decision.codes
    assert world.runs == 0


def test_rejection_stops_the_run_and_stands_in_a_new_one(any_world: World) -> None:
    world = any_world
    world.vote(world.ask(), decision="rejected")

    outcome = world.search()
    assert (outcome.verdict, outcome.codes) == ("deny", ("configured_allow", "run_not_running"))
    again = world.start(trace_id="trace-2")
    assert world.search(run=again).verdict == "allow"
    outcome = world.attempt(run=again)
    assert (outcome.verdict, set(outcome.codes)) == ("deny", {"approval_rejected", *CREATE})
    outcome = world.attempt(run=again, idempotency_key="a-fresh-key")
    assert outcome.verdict == "deny"
    assert "approval_rejected" in outcome.codes
    assert [e.status for e in world.store.effects(TENANT)] == []


def test_rejection_of_one_intent_leaves_others_alone(world: World) -> None:
    world.vote(world.ask(), decision="rejected")

    world.approved({**TICKET, "title": "Another"}, run=world.start(), idempotency_key="key-2")

    outcome = world.attempt(arguments={**TICKET, "title": "Another"}, run=world.start(), idempotency_key="key-2")
    assert outcome.verdict == "allow"


def test_rejection_in_a_contract_that_goes_on_refuses_the_action_only(make_world: Callable[..., World]) -> None:
    world = make_world("goes_on")
    world.vote(world.ask(), decision="rejected")

    assert world.search().verdict == "allow"
    outcome = world.attempt()
    assert (outcome.verdict, "approval_rejected" in outcome.codes) == ("deny", True)


def test_rejection_of_a_run_that_was_paused_meanwhile_still_stops_it(world: World) -> None:
    approval = world.ask()
    record = world.store.run(TENANT, world.run.run_id)
    assert record is not None
    reviews = world.gate.reviews
    vote = reviews.sign(approval, decision="rejected", key=key_of("mira"))
    original = reviews.point

    class Pausing:
        """Pauses the run between the decision and what it obliges to."""

        def facts(self, agent_id: str) -> Any:
            return original.facts(agent_id)

        def decide(self, document: Any) -> Any:
            reply = original.decide(document)
            world.store.set_run_status(
                TENANT, world.run.run_id, expected_version=record.version, status=RunStatus.PAUSED, reason="host"
            )
            return reply

    replace(reviews, point=Pausing()).vote(  # type: ignore[arg-type]
        TENANT, approval.approval_id, vote, decision="rejected", reviewer="mira"
    )

    found = world.store.run(TENANT, world.run.run_id)
    assert found is not None
    assert found.status is RunStatus.STOPPED


def test_rejection_of_a_run_that_has_ended_is_kept(world: World) -> None:
    approval = world.ask()
    world.gate.end_run(world.run)

    moved = world.vote(approval, decision="rejected")

    assert str(moved.status) == "rejected"
    found = world.store.run(TENANT, world.run.run_id)
    assert found is not None
    assert str(found.status) == "completed"


@pytest.mark.parametrize("word", ["approve", "APPROVED", "yes", "", "authorized_by_summary"])
def test_vote_with_another_word_is_the_callers_error(world: World, word: str) -> None:
    approval = world.ask()

    with pytest.raises(InputError) as refused:
        world.gate.reviews.vote(TENANT, approval.approval_id, vote_on(approval), decision=word, reviewer="mira")

    assert refused.value.code == "vote_decision_unknown"


def test_vote_on_an_approval_of_another_tenant_finds_none(world: World) -> None:
    approval = world.ask()

    with pytest.raises(InputError) as refused:
        world.gate.reviews.vote("globex", approval.approval_id, vote_on(approval), decision="approved", reviewer="mira")

    assert refused.value.code == "approval_unknown"
