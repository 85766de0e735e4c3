from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from records_support import (
    ACTION,
    CONTRACT,
    HOUR,
    INTENT,
    OTHER,
    OTHER_ACTION,
    TENANT,
    VOTE,
    Place,
    approval_request,
    approved,
    at_once,
    error_code,
)

from gate.errors import InputError
from gate.records import ApprovalRecord, ApprovalStatus, RunStatus, Store, StoredVote


def _requested(store: Store, **changes: Any) -> ApprovalRecord:
    return store.request_approval(approval_request(**changes), max_wait_ms=HOUR)


def _expire(place: Place) -> None:
    place.raw("UPDATE approvals SET expires_at_ms = created_at_ms")


def test_request_is_pending_with_random_id_and_nonce_and_the_clock_of_the_database(store: Store) -> None:
    before = store.now_ms()
    asked = _requested(store)
    assert re.fullmatch(r"apr-[0-9a-f]{16}", asked.approval_id)
    assert re.fullmatch(r"[0-9a-f]{32}", asked.nonce)
    assert before <= asked.created_at_ms <= store.now_ms()
    expected = {f: getattr(approval_request(), f) for f in approval_request().__dataclass_fields__}
    # Kept in the event log only.
    del expected["request_fingerprint"]
    assert asked == ApprovalRecord(
        **expected,
        approval_id=asked.approval_id,
        nonce=asked.nonce,
        status=ApprovalStatus.PENDING,
        created_at_ms=asked.created_at_ms,
        expires_at_ms=asked.created_at_ms + HOUR,
        version=1,
    )
    assert store.approval(TENANT, asked.approval_id) == asked


def test_request_for_the_same_action_finds_the_open_one(store: Store) -> None:
    asked = _requested(store)
    assert _requested(store) == asked
    granted = approved(store)
    assert _requested(store) == granted
    assert len(store.approvals(TENANT)) == 1


@pytest.mark.parametrize(
    "changes", [{"action_digest": OTHER_ACTION}, {"contract_digest": OTHER_ACTION}, {"tenant_id": OTHER}]
)
def test_request_for_another_action_contract_or_tenant_is_another_approval(
    store: Store, changes: dict[str, str]
) -> None:
    assert _requested(store).approval_id != _requested(store, **changes).approval_id


def test_request_after_expiry_closes_the_old_one_and_opens_a_new_one(store: Store, place: Place) -> None:
    old = approved(store)
    _expire(place)
    new = _requested(store)
    closed = store.approval(TENANT, old.approval_id)
    assert closed is not None
    assert (closed.status, new.status) == (ApprovalStatus.EXPIRED, ApprovalStatus.PENDING)
    assert store.approvals(TENANT) == [new, closed]
    assert store.approval_for(TENANT, action_digest=ACTION, contract_digest=CONTRACT) == new


def test_request_from_twenty_threads_yields_one_row(store: Store) -> None:
    seen: set[str] = set()
    codes = at_once(20, lambda _: seen.add(_requested(store).approval_id))
    assert codes == [""] * 20
    assert len(seen) == len(store.approvals(TENANT)) == 1


def test_request_for_a_run_that_is_unknown_or_over_is_refused(store: Store) -> None:
    assert error_code(lambda: _requested(store, run_id="run-2")) == "run_unknown"
    store.set_run_status(TENANT, "run-1", expected_version=1, status=RunStatus.CANCELLED, reason="")
    assert error_code(lambda: _requested(store)) == "run_closed"
    assert store.approvals(TENANT) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"tenant_id": ""},
        {"principal_id": None},
        {"action_digest": "sha256:abc"},
        {"contract_digest": None},
        {"intent_digest": ACTION.upper()},
        {"view": {"a": float("inf")}},
        {"reason": 3},
        {"release_identity": "\x00"},
    ],
)
def test_request_that_no_record_can_hold_is_refused(store: Store, changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        _requested(store, **changes)


@pytest.mark.parametrize("max_wait_ms", [0, -1, None, True, 1.5, 2**60])
def test_request_with_a_waiting_time_that_is_no_positive_number_is_refused(store: Store, max_wait_ms: Any) -> None:
    with pytest.raises(InputError):
        store.request_approval(approval_request(), max_wait_ms=max_wait_ms)


VOTE_LEGAL = {*product(["pending"], ["pending", "approved", "rejected", "cancelled"]), ("approved", "revoked")}
MOVE_LEGAL = {
    ("pending", "expired"),
    ("pending", "cancelled"),
    ("approved", "revoked"),
    ("approved", "expired"),
}
CROSS = list(product(ApprovalStatus, ApprovalStatus))


def _put(store: Store, place: Place, status: str) -> ApprovalRecord:
    asked = _requested(store)
    place.raw("UPDATE approvals SET status = ?", status)
    found = store.approval(TENANT, asked.approval_id)
    assert found is not None
    return found


@pytest.mark.parametrize(("before", "after"), CROSS)
def test_vote_moves_an_approval_only_when_the_table_has_it(
    store: Store, place: Place, before: ApprovalStatus, after: ApprovalStatus
) -> None:
    found = _put(store, place, before)

    def vote() -> None:
        store.add_vote(TENANT, found.approval_id, expected_version=1, vote=VOTE, to_status=after, reason="ok")

    expected = "" if (before, after) in VOTE_LEGAL else "approval_transition_illegal"
    if (before, after) == (ApprovalStatus.CONSUMED, ApprovalStatus.REVOKED):
        # What was used is taken back only while its call is claimed and not started, and here nothing is claimed.
        expected = "approval_dispatched"
    assert error_code(vote) == expected
    moved = replace(found, status=after, version=2, votes=(VOTE,), status_reason="ok")
    assert store.approval(TENANT, found.approval_id) == (found if expected else moved)


@pytest.mark.parametrize(("before", "after"), CROSS)
def test_status_moves_an_approval_only_when_the_table_has_it(
    store: Store, place: Place, before: ApprovalStatus, after: ApprovalStatus
) -> None:
    found = _put(store, place, before)
    if after is ApprovalStatus.EXPIRED:
        _expire(place)
        found = replace(found, expires_at_ms=found.created_at_ms)

    def move() -> None:
        store.set_approval_status(TENANT, found.approval_id, expected_version=1, to_status=after, reason="no")

    expected = "" if (before, after) in MOVE_LEGAL else "approval_transition_illegal"
    assert error_code(move) == expected
    moved = replace(found, status=after, version=2, status_reason="no")
    assert store.approval(TENANT, found.approval_id) == (found if expected else moved)


def test_expiry_before_its_time_is_refused(store: Store) -> None:
    asked = _requested(store)
    code = error_code(
        lambda: store.set_approval_status(
            TENANT, asked.approval_id, expected_version=1, to_status=ApprovalStatus.EXPIRED, reason=""
        )
    )
    assert code == "approval_not_expired"


def test_votes_are_kept_in_order_and_a_repeated_one_is_refused(store: Store) -> None:
    asked = _requested(store)
    votes = [StoredVote(f"vote {n}".encode(), bytes([n + 1])) for n in range(3)]
    for version, vote in enumerate(votes, start=1):
        store.add_vote(
            TENANT,
            asked.approval_id,
            expected_version=version,
            vote=vote,
            to_status=ApprovalStatus.PENDING,
        )
    found = store.approval(TENANT, asked.approval_id)
    assert found is not None
    assert found.votes == tuple(votes)

    def again() -> None:
        store.add_vote(
            TENANT,
            asked.approval_id,
            expected_version=4,
            vote=StoredVote(votes[0].payload, b"other signature"),
            to_status=ApprovalStatus.APPROVED,
        )

    assert error_code(again) == "vote_repeated"
    assert store.approval(TENANT, asked.approval_id) == found


@pytest.mark.parametrize("before", [RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.STOPPED, RunStatus.COMPLETED])
def test_vote_ends_its_run_in_the_same_transaction_unless_it_has_ended(store: Store, before: RunStatus) -> None:
    asked = _requested(store)
    run = store.run(TENANT, asked.run_id)
    assert run is not None
    if before is not RunStatus.RUNNING:
        store.set_run_status(TENANT, run.run_id, expected_version=run.version, status=before, reason="")
    store.add_vote(
        TENANT,
        asked.approval_id,
        expected_version=asked.version,
        vote=VOTE,
        to_status=ApprovalStatus.REJECTED,
        reason="no",
        ends_run=RunStatus.STOPPED,
    )
    after = store.run(TENANT, asked.run_id)
    assert after is not None
    assert after.status is (RunStatus.COMPLETED if before is RunStatus.COMPLETED else RunStatus.STOPPED)
    store.verify_run(TENANT, asked.run_id)


def test_vote_that_is_refused_ends_no_run(store: Store) -> None:
    asked = _requested(store)
    code = error_code(
        lambda: store.add_vote(
            TENANT,
            asked.approval_id,
            expected_version=asked.version + 1,
            vote=VOTE,
            to_status=ApprovalStatus.REJECTED,
            ends_run=RunStatus.STOPPED,
        )
    )
    run = store.run(TENANT, asked.run_id)
    assert (code, run and run.status) == ("approval_changed", RunStatus.RUNNING)


def test_vote_on_an_expired_request_is_refused(store: Store) -> None:
    asked = store.request_approval(approval_request(), max_wait_ms=1)
    while store.now_ms() < asked.expires_at_ms:
        time.sleep(0.001)

    def vote() -> None:
        store.add_vote(TENANT, asked.approval_id, expected_version=1, vote=VOTE, to_status=ApprovalStatus.APPROVED)

    assert error_code(vote) == "approval_expired"


def test_vote_on_an_old_version_or_unknown_approval_is_refused(store: Store) -> None:
    asked = _requested(store)
    assert (
        error_code(
            lambda: store.add_vote(
                TENANT, asked.approval_id, expected_version=2, vote=VOTE, to_status=ApprovalStatus.APPROVED
            )
        )
        == "approval_changed"
    )
    assert (
        error_code(
            lambda: store.add_vote(TENANT, "apr-none", expected_version=1, vote=VOTE, to_status=ApprovalStatus.APPROVED)
        )
        == "approval_unknown"
    )


@pytest.mark.parametrize(
    ("payload", "signature"), [(b"", b"s"), (b"p", b""), ("p", b"s"), (b"p", None), (b"p" * 99_999, b"s")]
)
def test_vote_that_is_no_pair_of_byte_strings_is_refused(store: Store, payload: Any, signature: Any) -> None:
    asked = _requested(store)
    with pytest.raises(InputError):
        store.add_vote(
            TENANT,
            asked.approval_id,
            expected_version=1,
            vote=StoredVote(payload, signature),
            to_status=ApprovalStatus.APPROVED,
        )


def test_of_twenty_votes_on_one_version_one_is_applied(store: Store) -> None:
    asked = _requested(store)
    codes = at_once(
        20,
        lambda n: store.add_vote(
            TENANT,
            asked.approval_id,
            expected_version=1,
            vote=StoredVote(bytes([n + 1]), b"s"),
            to_status=ApprovalStatus.APPROVED,
        ),
    )
    assert sorted(codes) == [""] + ["approval_changed"] * 19


def test_rejection_is_found_by_principal_and_intent_whatever_the_action(store: Store) -> None:
    asked = _requested(store)
    assert store.rejection_for(TENANT, principal_id="user-1", intent_digest=INTENT) is None
    rejected = store.add_vote(
        TENANT, asked.approval_id, expected_version=1, vote=VOTE, to_status=ApprovalStatus.REJECTED
    )
    _requested(store, action_digest=OTHER_ACTION)
    assert store.rejection_for(TENANT, principal_id="user-1", intent_digest=INTENT) == rejected
    assert store.rejection_for(TENANT, principal_id="user-2", intent_digest=INTENT) is None
    assert store.rejection_for(TENANT, principal_id="user-1", intent_digest=ACTION) is None


def test_approvals_are_listed_newest_first_and_by_status(store: Store) -> None:
    first = approved(store)
    second = _requested(store, action_digest=OTHER_ACTION)
    assert store.approvals(TENANT) == [second, first]
    assert store.approvals(TENANT, status=ApprovalStatus.APPROVED) == [first]
    assert store.approvals(TENANT, status=ApprovalStatus.REVOKED) == []
    with pytest.raises(InputError):
        store.approvals(TENANT, status="open")  # type: ignore[arg-type]


def test_every_change_of_an_approval_is_an_event_of_its_run(store: Store) -> None:
    granted = approved(store)
    store.set_approval_status(
        TENANT,
        granted.approval_id,
        expected_version=2,
        to_status=ApprovalStatus.REVOKED,
        reason="secret words",
    )
    kinds = [e.event_type for e in store.events(TENANT, "run-1")]
    assert kinds == ["run_created", "approval_requested", "approval_vote", "approval_revoked"]
    assert "secret words" not in repr(store.events(TENANT, "run-1"))
    assert store.verify_run(TENANT, "run-1") == 4
