"""An approval that is taken back, or whose signer is, between the claim that consumed it and the tool that starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from desk_support import KEYS as DESK_KEYS
from desk_support import TENANT, Desk, desk_copy, desk_point, key_of, refund_of
from new_store import new_store
from opa_point import OpaPoint
from service_support import Service, approve, claimed, serving

from gate.decision import ActionBlocked
from gate.errors import ConflictError
from gate.records import ApprovalStatus, VoteDecision

STANDING = (
    ("approvals.yaml", "      max_wait_seconds: 86400\n      on_expiry: cancel_run", "      on_expiry: request_again"),
    (
        "approvals.yaml",
        "on_reject: continue_without",
        "on_reject: continue_without\n"
        "    standing: {max_uses: 2, valid_seconds: 600, scope: session, free_arguments: [/charge_id]}",
    ),
)


@pytest.fixture(scope="module")
def point(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> OpaPoint:
    return desk_point(desk_copy(repo, tmp_path_factory.mktemp("desk")))


@pytest.fixture(scope="module")
def standing_point(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> OpaPoint:
    return desk_point(desk_copy(repo, tmp_path_factory.mktemp("standing"), *STANDING))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Callable[[OpaPoint], tuple[Desk, Service]]]:
    url = new_store(tmp_path / "records.sqlite")
    opened: list[Desk] = []
    with serving(url, tmp_path) as service:

        def make(point: OpaPoint) -> tuple[Desk, Service]:
            opened.append(Desk.open(point, url))
            return opened[-1], service

        yield make
        for desk in opened:
            desk.store.close()


def revoke(desk: Desk, approval_id: str, *, reason: str = "") -> tuple[str, ...]:
    """The status that a revocation by the support reviewer leaves, or the codes that refused it."""
    approval = desk.store.approval(TENANT, approval_id)
    assert approval is not None
    vote = desk.gate.reviews.sign(approval, decision="revoked", key=key_of("sana-support"), reason=reason)
    try:
        moved = desk.gate.reviews.revoke(TENANT, approval_id, vote, reviewer="sana-support")
    except ActionBlocked as blocked:
        return blocked.decision.codes
    return (str(moved.status), moved.status_reason)


Scene = Callable[[OpaPoint], tuple[Desk, Service]]


def test_consumed_approval_revoked_before_its_tool_started_starts_nothing(point: OpaPoint, scene: Scene) -> None:
    desk, service = scene(point)
    approval_id = approve(desk, 7800, "ch-78")
    with claimed(desk, 7800, "ch-78") as call:
        assert str(desk.store.approval(TENANT, approval_id).status) == "consumed"  # type: ignore[union-attr]
        assert desk.store.undispatched(TENANT, approval_id) == 1
        assert revoke(desk, approval_id, reason="the customer withdrew") == (
            "revoked",
            "revoked by sana-support: the customer withdrew",
        )
        assert service.call(call.token, call.arguments) == (403, "approval_revoked")
    assert service.paid == []
    assert [str(e.status) for e in desk.store.effects(TENANT)] == ["failed_before_effect"]
    # What was consumed stays consumed: the same call needs another approval, and another signature.
    answer = desk.refund(7800, "ch-78")
    assert (answer[0], "approval_revoked" in answer) == ("require_approval", True)
    assert {str(a.status) for a in desk.store.approvals(TENANT)} == {"revoked", "pending"}
    assert desk.store.verify_run(TENANT, desk.run.run_id) > 0


def test_consumed_approval_whose_tool_started_is_not_revoked(point: OpaPoint, scene: Scene) -> None:
    desk, service = scene(point)
    approval_id = approve(desk, 7800, "ch-78")
    with claimed(desk, 7800, "ch-78") as call:
        assert service.call(call.token, call.arguments) == (200, "ch-78")
        assert desk.store.undispatched(TENANT, approval_id) == 0
        assert revoke(desk, approval_id) == ("approval_call_started", "operation_allowed")
        call.complete()
    assert revoke(desk, approval_id) == ("approval_call_started", "operation_allowed")
    assert [paid["charge_id"] for paid in service.paid] == ["ch-78"]


def test_consumed_approval_whose_effect_is_settled_is_not_revoked(point: OpaPoint, scene: Scene) -> None:
    desk, _ = scene(point)
    approval_id = approve(desk, 7800, "ch-78")
    assert desk.refund(7800, "ch-78")[0] == "allow"
    assert revoke(desk, approval_id) == ("approval_call_started", "operation_allowed")


def test_revocation_that_meets_the_tools_start_in_the_records_is_refused_there(point: OpaPoint, scene: Scene) -> None:
    """Decided while the tool had not started, applied when it had: the records' own compare-and-set."""
    desk, service = scene(point)
    approval_id = approve(desk, 7800, "ch-78")
    with claimed(desk, 7800, "ch-78") as call:
        approval = desk.store.approval(TENANT, approval_id)
        assert approval is not None
        vote = desk.gate.reviews.sign(approval, decision="revoked", key=key_of("sana-support"))
        assert service.call(call.token, call.arguments) == (200, "ch-78")
        with pytest.raises(ConflictError) as raised:
            desk.store.add_vote(
                TENANT,
                approval_id,
                expected_version=approval.version,
                vote=vote,
                to_status=ApprovalStatus.REVOKED,
            )
        assert raised.value.code == "approval_dispatched"
        call.complete()
    assert str(desk.store.approval(TENANT, approval_id).status) == "consumed"  # type: ignore[union-attr]


@pytest.mark.parametrize("by", ["manager", "rejection"])
def test_consumed_approval_is_not_taken_back_by_whom_the_contract_does_not_name_or_with_another_word(
    point: OpaPoint, scene: Scene, by: str
) -> None:
    desk, service = scene(point)
    approval_id = approve(desk, 7800, "ch-78")
    with claimed(desk, 7800, "ch-78") as call:
        approval = desk.store.approval(TENANT, approval_id)
        assert approval is not None
        reviewer = "mark-manager" if by == "manager" else "sana-support"
        word = "revoked" if by == "manager" else "rejected"
        vote = desk.gate.reviews.sign(approval, decision=word, key=key_of(reviewer))
        with pytest.raises(ActionBlocked) as blocked:
            desk.gate.reviews.vote(TENANT, approval_id, vote, decision=word, reviewer=reviewer)
        expected = "approval_reviewer_invalid" if by == "manager" else "transition_not_allowed"
        assert expected in blocked.value.decision.codes
        assert service.call(call.token, call.arguments) == (200, "ch-78")
        call.complete()


def test_standing_approval_revoked_between_claim_and_start_starts_nothing(
    standing_point: OpaPoint, scene: Scene
) -> None:
    desk, service = scene(standing_point)
    approval_id = approve(desk, 7800, "ch-1")
    with claimed(desk, 7800, "ch-1") as first:
        assert service.call(first.token, first.arguments) == (200, "ch-1")
        first.complete()
    # The second use is of another charge, under the same approval, and is its last: it is consumed by then.
    with claimed(desk, 7800, "ch-2") as second:
        found = desk.store.approval(TENANT, approval_id)
        assert found is not None
        assert (str(found.status), found.uses) == ("consumed", 2)
        assert revoke(desk, approval_id)[0] == "revoked"
        assert service.call(second.token, second.arguments) == (403, "approval_revoked")
    assert service.paid == [refund_of(7800, "ch-1")]


def test_standing_approval_with_uses_left_revoked_between_claim_and_start_starts_nothing(
    standing_point: OpaPoint, scene: Scene
) -> None:
    desk, service = scene(standing_point)
    approval_id = approve(desk, 7800, "ch-1")
    with claimed(desk, 7800, "ch-1") as call:
        assert str(desk.store.approval(TENANT, approval_id).status) == "approved"  # type: ignore[union-attr]
        assert revoke(desk, approval_id)[0] == "revoked"
        assert service.call(call.token, call.arguments) == (403, "approval_revoked")
    assert service.paid == []
    assert desk.refund(7800, "ch-2")[0] == "require_approval"


def test_key_denied_as_the_very_key_under_another_id_starts_nothing(point: OpaPoint, scene: Scene) -> None:
    desk, service = scene(point)
    approve(desk, 7800, "ch-78")
    with claimed(desk, 7800, "ch-78") as call:
        public = DESK_KEYS["sana-support"][1]
        desk.store.deny_key(TENANT, "found-on-a-laptop", public_key=public, reason="stolen", denied_by="security")
        assert service.call(call.token, call.arguments) == (403, "approval_key_denied")
    assert service.paid == []


def test_reason_of_a_vote_is_under_its_signature(point: OpaPoint, scene: Scene) -> None:
    desk, _ = scene(point)
    assert desk.refund(7800, "ch-78")[0] == "require_approval"
    (asked,) = desk.store.approvals(TENANT)
    vote = desk.gate.reviews.sign(asked, decision="approved", key=key_of("sana-support"), reason="seen both receipts")
    forged = type(vote)(vote.payload.replace(b"seen both receipts", b"seen none at all!!"), vote.signature)
    assert forged.payload != vote.payload
    with pytest.raises(ActionBlocked) as blocked:
        desk.gate.reviews.vote(TENANT, asked.approval_id, forged, decision="approved", reviewer="sana-support")
    assert "approval_signature_invalid" in blocked.value.decision.codes
    moved = desk.gate.reviews.vote(TENANT, asked.approval_id, vote, decision="approved", reviewer="sana-support")
    assert (moved.status_reason, str(moved.status)) == (
        "approved by sana-support: seen both receipts",
        str(VoteDecision.APPROVED),
    )
