"""Approvals that stand, keys that are denied and rejections that come late, as the claim sees them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from records_support import (
    ACTION,
    CONTRACT,
    HOUR,
    INTENT,
    TENANT,
    approval_request,
    approved,
    at_once,
    claim_of,
    error_code,
    run_record,
)

from gate.canonical import digest
from gate.records import (
    ApprovalRecord,
    ApprovalStatus,
    Claim,
    RunStatus,
    Store,
    StoredVote,
    VoteDecision,
    VotePayload,
    generate_key,
    sign,
)

STANDS = digest("stands")
TERMS = {"max_uses": 3, "valid_seconds": 3600, "scope": "session", "free_arguments": ["/title"]}


def standing(store: Store, **changes: object) -> ApprovalRecord:
    return approved(store, standing_digest=STANDS, standing_terms=TERMS, **changes)


def use(approval: ApprovalRecord, number: int, **changes: object) -> Claim:
    """A claim of another action, under the standing approval as it is now."""
    fields = {
        "action_digest": digest(f"action {number}"),
        "business_key": f"order-{number}",
        "idempotency_key": f"key-{number}",
        "standing_digest": STANDS,
        "max_uses": 3,
        **changes,
    }
    return claim_of(approval, **fields)


def found(store: Store, approval: ApprovalRecord) -> ApprovalRecord:
    now = store.approval(TENANT, approval.approval_id)
    assert now is not None
    return now


def test_standing_approval_is_used_as_often_as_it_may_and_then_consumed(store: Store) -> None:
    granted = standing(store)
    for number in range(3):
        store.claim(use(found(store, granted), number))
        left = found(store, granted)
        assert (left.uses, left.status) == (
            number + 1,
            ApprovalStatus.CONSUMED if number == 2 else ApprovalStatus.APPROVED,
        )
    assert error_code(lambda: store.claim(use(found(store, granted), 4))) == "approval_consumed"
    assert len(store.effects(TENANT)) == 3
    assert store.verify_run(TENANT, "run-1") == 9


def test_standing_approval_used_by_twenty_threads_at_once_is_used_three_times(store: Store) -> None:
    granted = standing(store)

    def call(number: int) -> None:
        # As the gate does: whoever met a changed record reads and claims again.
        while (code := error_code(lambda: store.claim(use(found(store, granted), number)))) == "approval_changed":
            pass
        if code:
            raise AssertionError(code)

    refused: list[str] = []

    def counted(number: int) -> None:
        try:
            call(number)
        except AssertionError as exc:
            refused.append(str(exc))

    assert at_once(20, counted) == [""] * 20
    assert refused == ["approval_consumed"] * 17
    assert (found(store, granted).uses, len(store.effects(TENANT))) == (3, 3)


def test_standing_uses_outlast_a_row_that_is_set_back(store: Store) -> None:
    granted = standing(store)
    for number in range(2):
        store.claim(use(found(store, granted), number, max_uses=2))
    again = replace(found(store, granted), status=ApprovalStatus.APPROVED)
    assert found(store, granted).status is ApprovalStatus.CONSUMED
    assert error_code(lambda: store.claim(use(again, 3, max_uses=2))) == "approval_consumed"


@pytest.mark.parametrize(
    "changes",
    [
        {"standing_digest": digest("something else")},
        {"standing_digest": None, "max_uses": 1},
    ],
)
def test_standing_approval_for_something_else_is_refused(store: Store, changes: dict[str, object]) -> None:
    granted = standing(store)
    assert error_code(lambda: store.claim(use(granted, 1, **changes))) == "approval_digest_mismatch"


def test_approval_of_one_execution_does_not_stand(store: Store) -> None:
    assert error_code(lambda: store.claim(use(approved(store), 1))) == "approval_digest_mismatch"


def test_standing_request_is_found_again_for_another_action(store: Store) -> None:
    first = standing(store)
    asked = approval_request(action_digest=digest("other"), standing_digest=STANDS, standing_terms=TERMS)
    assert store.request_approval(asked, max_wait_ms=HOUR) == first
    assert store.standing_approval(TENANT, standing_digest=STANDS, contract_digest=CONTRACT) == first
    assert store.standing_approval("tenant-other", standing_digest=STANDS, contract_digest=CONTRACT) is None


@pytest.mark.parametrize("changes", [{"standing_digest": STANDS}, {"standing_terms": TERMS}])
def test_standing_request_has_digest_and_terms(store: Store, changes: dict[str, object]) -> None:
    asked = approval_request(**changes)
    assert error_code(lambda: store.request_approval(asked, max_wait_ms=HOUR)) == "record_field_invalid"


@pytest.mark.parametrize("with_approval", [True, False])
def test_rejection_recorded_after_the_decision_loses_the_claim(store: Store, with_approval: bool) -> None:
    granted = approved(store) if with_approval else None
    other = store.request_approval(approval_request(action_digest=digest("other key")), max_wait_ms=HOUR)
    vote = StoredVote(b"no", b"s" * 64)
    store.add_vote(TENANT, other.approval_id, expected_version=1, vote=vote, to_status=ApprovalStatus.REJECTED)
    wanted = claim_of(granted, intent_digest=INTENT)
    assert error_code(lambda: store.claim(wanted)) == "approval_rejected"
    assert store.effects(TENANT) == []
    assert error_code(lambda: store.claim(replace(wanted, intent_digest=digest("another intent")))) == ""


@pytest.mark.parametrize("changes", [{"principal_id": "user-2"}, {"intent_digest": digest("another")}])
def test_rejection_of_somebody_or_something_else_loses_no_claim(store: Store, changes: dict[str, str]) -> None:
    other = store.request_approval(approval_request(action_digest=digest("other"), **changes), max_wait_ms=HOUR)
    vote = StoredVote(b"no", b"s" * 64)
    store.add_vote(TENANT, other.approval_id, expected_version=1, vote=vote, to_status=ApprovalStatus.REJECTED)
    assert error_code(lambda: store.claim(claim_of(intent_digest=INTENT))) == ""


def test_key_denied_after_the_decision_loses_the_claim(store: Store) -> None:
    asked = store.request_approval(approval_request(), max_wait_ms=HOUR)
    payload = VotePayload(
        environment="test",
        approval_id=asked.approval_id,
        nonce=asked.nonce,
        contract_digest=CONTRACT,
        action_digest=ACTION,
        decision=VoteDecision.APPROVED,
        reviewer="mira",
        key_id="mira-key",
        issued_at_ms=1,
        expires_at_ms=asked.expires_at_ms,
    )
    granted = store.add_vote(
        TENANT,
        asked.approval_id,
        expected_version=1,
        vote=sign(payload, generate_key()[0]),
        to_status=ApprovalStatus.APPROVED,
    )
    store.deny_key("tenant-other", "mira-key", reason="stolen", denied_by="ops")
    first = store.deny_key(TENANT, "mira-key", reason="stolen", denied_by="ops")
    assert error_code(lambda: store.claim(claim_of(granted))) == "approval_key_denied"
    # Denied for good, and by whoever did so first.
    assert store.deny_key(TENANT, "mira-key", reason="found again", denied_by="mira") == first
    assert store.denied_keys(TENANT) == [first]


@pytest.mark.parametrize("field", ["key_id", "reason", "denied_by"])
@pytest.mark.parametrize("value", ["", " ", "a\nb", None])
def test_denied_key_with_a_field_that_says_nothing_is_refused(store: Store, field: str, value: object) -> None:
    fields = {"key_id": "k", "reason": "stolen", "denied_by": "ops", field: value}
    assert error_code(lambda: store.deny_key(TENANT, **fields)) == "record_field_invalid"


def test_escalation_is_made_once_and_only_while_pending(store: Store) -> None:
    asked = store.request_approval(approval_request(), max_wait_ms=HOUR)
    moved = store.escalate_approval(TENANT, asked.approval_id, expected_version=1)
    assert moved == replace(asked, escalated_at_ms=moved.escalated_at_ms, version=2)
    assert asked.created_at_ms <= (moved.escalated_at_ms or 0) <= store.now_ms()

    def again(version: int) -> str:
        return error_code(lambda: store.escalate_approval(TENANT, asked.approval_id, expected_version=version))

    assert (again(1), again(2)) == ("approval_changed", "approval_transition_illegal")


def test_run_that_waits_goes_on_only_for_its_own_approval(store: Store) -> None:
    asked = store.request_approval(approval_request(), max_wait_ms=HOUR, pauses_run=True)
    waiting = store.run(TENANT, "run-1")
    assert waiting is not None
    assert (waiting.status, waiting.waiting_for) == (RunStatus.PAUSED, asked.approval_id)
    # The run asks for another thing before it noticed.
    other = store.request_approval(approval_request(action_digest=digest("other")), max_wait_ms=HOUR, pauses_run=True)
    for approval, status in ((other, RunStatus.PAUSED), (asked, RunStatus.RUNNING)):
        store.set_approval_status(
            TENANT,
            approval.approval_id,
            expected_version=1,
            to_status=ApprovalStatus.CANCELLED,
            reason="",
            resumes_run=True,
        )
        now = store.run(TENANT, "run-1")
        assert now is not None
        assert now.status is status
    assert store.run(TENANT, "run-1") == replace(
        run_record(), version=3, status_reason=f"approval {asked.approval_id} is no longer waited for"
    )
