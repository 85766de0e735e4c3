from __future__ import annotations

import time
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from records_support import (
    ACTION,
    EFFECT,
    HOUR,
    OTHER_ACTION,
    TENANT,
    Place,
    approved,
    claim_of,
    error_code,
)

from gate.errors import ConflictError, InputError
from gate.records import (
    ApprovalStatus,
    EffectRecord,
    EffectStatus,
    IdempotencyRecord,
    ReconcileOutcome,
    RunStatus,
    Store,
)

STORED = [s for s in EffectStatus if s is not EffectStatus.NOT_STARTED]


def _settle(store: Store, status: EffectStatus, **changes: Any) -> EffectRecord:
    fields: dict[str, Any] = {"fencing": 1, "owner": "worker-1", **EFFECT, **changes}
    return store.settle(TENANT, status=status, **fields)


def _reconcile(store: Store, outcome: ReconcileOutcome, version: int, **changes: Any) -> EffectRecord:
    fields: dict[str, Any] = {"evidence_ref": "ticket-7", "reconciled_by": "mira", **EFFECT, **changes}
    return store.reconcile(TENANT, expected_version=version, outcome=outcome, **fields)


def _effect(store: Store) -> EffectRecord:
    found = store.effect(TENANT, **EFFECT)
    assert found is not None
    return found


def _put(store: Store, place: Place, status: str, *, lease_over: bool = False) -> EffectRecord:
    """Puts a claimed effect into `status` past the rules."""
    store.claim(claim_of())
    place.raw("UPDATE effects SET status = ?", status)
    if lease_over:
        place.raw("UPDATE effects SET lease_expires_at_ms = 1")
    return _effect(store)


def test_claim_without_a_row_starts_the_first_attempt(store: Store) -> None:
    assert store.effect(TENANT, **EFFECT) is None
    before = store.now_ms()
    taken = store.claim(claim_of()).effect
    assert before + HOUR <= taken.lease_expires_at_ms <= store.now_ms() + HOUR
    assert taken == EffectRecord(
        tenant_id=TENANT,
        **EFFECT,
        status=EffectStatus.IN_FLIGHT,
        idempotency_key="key-1",
        action_digest=ACTION,
        run_id="run-1",
        owner="worker-1",
        fencing=1,
        attempt=1,
        lease_expires_at_ms=taken.lease_expires_at_ms,
        receipt=None,
        evidence_ref=None,
        version=1,
    )
    assert _effect(store) == taken


def test_claim_consumes_the_approval_with_it(store: Store) -> None:
    granted = approved(store)
    store.claim(claim_of(granted))
    spent = store.approval(TENANT, granted.approval_id)
    assert spent == replace(granted, status=ApprovalStatus.CONSUMED, version=granted.version + 1)
    kinds = [e.event_type for e in store.events(TENANT, "run-1")]
    assert kinds[-2:] == ["approval_consumed", "effect_claimed"]
    assert store.verify_run(TENANT, "run-1") == 5


def test_approval_cannot_be_spent_again_with_new_keys(store: Store) -> None:
    granted = approved(store)
    store.claim(claim_of(granted))
    again = claim_of(granted, business_key="order-2", idempotency_key="key-2")
    assert error_code(lambda: store.claim(again)) == "approval_consumed"
    assert store.effect(TENANT, **{**EFFECT, "business_key": "order-2"}) is None


def test_approval_set_back_by_hand_is_still_consumed(store: Store, place: Place) -> None:
    granted = approved(store)
    store.claim(claim_of(granted))
    place.raw("UPDATE approvals SET status = 'approved', version = ?", granted.version)
    again = claim_of(granted, business_key="order-2")
    assert error_code(lambda: store.claim(again)) == "approval_consumed"


@pytest.mark.parametrize("status", [s for s in ApprovalStatus if s is not ApprovalStatus.APPROVED])
def test_claim_with_an_approval_that_is_not_approved_is_refused(
    store: Store, place: Place, status: ApprovalStatus
) -> None:
    granted = approved(store)
    place.raw("UPDATE approvals SET status = ?", status.value)
    expected = "approval_consumed" if status is ApprovalStatus.CONSUMED else "approval_not_approved"
    assert error_code(lambda: store.claim(claim_of(granted))) == expected


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"run_id": "run-2"}, "run_unknown"),
        ({"run_version": 2}, "run_changed"),
        ({"approval_id": "apr-none"}, "approval_unknown"),
        ({"approval_version": 1}, "approval_changed"),
        ({"action_digest": OTHER_ACTION}, "approval_digest_mismatch"),
        ({"effect_version": 1}, "claim_lost"),
    ],
)
def test_claim_on_something_else_than_was_read_changes_nothing(
    store: Store, changes: dict[str, Any], code: str
) -> None:
    granted = approved(store)
    events = store.events(TENANT, "run-1")
    assert error_code(lambda: store.claim(claim_of(granted, **changes))) == code
    assert store.approval(TENANT, granted.approval_id) == granted
    assert store.effects(TENANT) == []
    assert store.idempotency(TENANT, principal_id="user-1", capability="create_ticket", idempotency_key="key-1") is None
    assert store.events(TENANT, "run-1") == events


def test_claim_with_an_approval_at_its_expiry_is_refused(store: Store, place: Place) -> None:
    granted = approved(store)
    place.raw("UPDATE approvals SET expires_at_ms = ?", store.now_ms())
    assert error_code(lambda: store.claim(claim_of(granted))) == "approval_expired"


@pytest.mark.parametrize("status", [s for s in RunStatus if s is not RunStatus.RUNNING])
def test_claim_in_a_run_that_does_not_run_is_refused(store: Store, status: RunStatus) -> None:
    store.set_run_status(TENANT, "run-1", expected_version=1, status=status, reason="")
    assert error_code(lambda: store.claim(claim_of(run_version=2))) == "run_not_running"


@pytest.mark.parametrize("status", STORED)
def test_claim_on_an_effect_is_won_only_after_it_failed_before_the_effect(
    store: Store, place: Place, status: EffectStatus
) -> None:
    found = _put(store, place, status)
    again = claim_of(effect_version=found.version, owner="worker-2", idempotency_key="key-2")
    if status is not EffectStatus.FAILED_BEFORE_EFFECT:
        assert error_code(lambda: store.claim(again)) == "claim_lost"
        assert _effect(store) == found
        return
    taken = store.claim(again).effect
    assert taken == replace(
        found,
        status=EffectStatus.IN_FLIGHT,
        owner="worker-2",
        idempotency_key="key-2",
        fencing=2,
        attempt=2,
        version=2,
        lease_expires_at_ms=taken.lease_expires_at_ms,
    )


@pytest.mark.parametrize("version", [None, 2])
def test_claim_on_a_failed_effect_that_was_read_differently_is_lost(
    store: Store, place: Place, version: int | None
) -> None:
    _put(store, place, EffectStatus.FAILED_BEFORE_EFFECT)
    assert error_code(lambda: store.claim(claim_of(effect_version=version))) == "claim_lost"


def test_idempotency_key_used_for_another_action_is_refused(store: Store) -> None:
    store.claim(claim_of())
    used = store.idempotency(TENANT, principal_id="user-1", capability="create_ticket", idempotency_key="key-1")
    assert used == IdempotencyRecord(idempotency_key="key-1", action_digest=ACTION)
    other = claim_of(action_digest=OTHER_ACTION, business_key="order-2")
    assert error_code(lambda: store.claim(other)) == "idempotency_conflict"


def test_idempotency_key_used_again_for_the_same_action_is_not_refused_itself(store: Store) -> None:
    store.claim(claim_of())
    _settle(store, EffectStatus.FAILED_BEFORE_EFFECT)
    assert store.claim(claim_of(effect_version=2)).effect.attempt == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"tenant_id": ""},
        {"owner": None},
        {"business_key": " "},
        {"idempotency_key": ""},
        {"run_version": True},
        {"run_version": 0},
        {"effect_version": 0},
        {"lease_ms": 0},
        {"lease_ms": 10**15},
        {"action_digest": "none"},
        {"approval_id": "apr-1"},
        {"approval_version": 1},
    ],
)
def test_claim_that_no_record_can_hold_is_refused(store: Store, changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        store.claim(claim_of(**changes))


@pytest.mark.parametrize(("before", "after"), list(product(STORED, EffectStatus)))
def test_settle_moves_an_effect_only_out_of_flight(
    store: Store, place: Place, before: EffectStatus, after: EffectStatus
) -> None:
    found = _put(store, place, before)
    code = error_code(lambda: _settle(store, after))
    if after in (EffectStatus.NOT_STARTED, EffectStatus.IN_FLIGHT):
        assert code == "record_field_invalid"
    else:
        assert code == ("" if before is EffectStatus.IN_FLIGHT else "effect_transition_illegal")
    assert _effect(store) == (found if code else replace(found, status=after, version=2))


@pytest.mark.parametrize("receipt", [{"id": 7}, "T-1", [1, None], 0, False, None])
def test_settle_keeps_the_receipt_as_it_was_given(store: Store, receipt: object) -> None:
    store.claim(claim_of())
    _settle(store, EffectStatus.COMMITTED, receipt=receipt)
    assert _effect(store).receipt == receipt


def test_settle_with_a_receipt_that_is_not_json_leaves_the_effect_in_flight(store: Store) -> None:
    store.claim(claim_of())
    with pytest.raises(InputError):
        _settle(store, EffectStatus.COMMITTED, receipt=object())
    assert _effect(store).status is EffectStatus.IN_FLIGHT


def test_settle_of_a_failure_with_a_receipt_is_refused(store: Store) -> None:
    store.claim(claim_of())
    code = error_code(lambda: _settle(store, EffectStatus.FAILED_BEFORE_EFFECT, receipt={"id": 1}))
    assert code == "receipt_without_effect"


@pytest.mark.parametrize("changes", [{"fencing": 2}, {"owner": "worker-2"}])
def test_settle_by_somebody_who_does_not_hold_the_claim_is_refused(store: Store, changes: dict[str, Any]) -> None:
    taken = store.claim(claim_of()).effect
    assert error_code(lambda: _settle(store, EffectStatus.COMMITTED, **changes)) == "claim_lost"
    assert _effect(store) == taken


def test_settle_of_an_effect_that_was_not_claimed_is_refused(store: Store) -> None:
    assert error_code(lambda: _settle(store, EffectStatus.COMMITTED)) == "effect_unknown"


@pytest.mark.parametrize("status", [EffectStatus.COMMITTED, EffectStatus.PARTIAL, EffectStatus.UNKNOWN])
def test_settle_after_the_lease_leaves_the_outcome_unknown_and_keeps_the_receipt(
    store: Store, status: EffectStatus
) -> None:
    taken = store.claim(claim_of(lease_ms=1)).effect
    while store.now_ms() < taken.lease_expires_at_ms:
        time.sleep(0.001)
    with pytest.raises(ConflictError) as caught:
        _settle(store, status, receipt={"id": "T-1"})
    assert caught.value.code == "lease_expired"
    late = replace(taken, status=EffectStatus.UNKNOWN, late_receipt={"id": "T-1"}, version=2)
    assert _effect(store) == late
    event = store.events(TENANT, "run-1")[-1]
    assert (event.event_type, event.payload["reported_status"]) == ("effect_lease_expired", status.value)
    assert "T-1" not in repr(event)
    resolved = _reconcile(store, ReconcileOutcome.COMMITTED, 2)
    assert (resolved.status, resolved.receipt) == (EffectStatus.COMMITTED, {"id": "T-1"})


AFTER = {
    ReconcileOutcome.COMMITTED: EffectStatus.COMMITTED,
    ReconcileOutcome.NOT_COMMITTED: EffectStatus.FAILED_BEFORE_EFFECT,
    ReconcileOutcome.PARTIAL: EffectStatus.PARTIAL,
}


@pytest.mark.parametrize(("before", "lease_over", "outcome"), list(product(STORED, (False, True), AFTER)))
def test_reconcile_moves_an_effect_only_out_of_an_unknown_outcome(
    store: Store, place: Place, before: EffectStatus, lease_over: bool, outcome: ReconcileOutcome
) -> None:
    found = _put(store, place, before, lease_over=lease_over)
    code = error_code(lambda: _reconcile(store, outcome, 1))
    if before is EffectStatus.IN_FLIGHT:
        expected = "" if lease_over else "effect_lease_live"
    else:
        legal = before in (EffectStatus.UNKNOWN, EffectStatus.PARTIAL)
        expected = "" if legal else "effect_transition_illegal"
    assert code == expected
    moved = replace(found, status=AFTER[outcome], fencing=2, evidence_ref="ticket-7", version=2)
    assert _effect(store) == (found if code else moved)


def test_reconcile_fences_the_worker_that_wakes_up(store: Store, place: Place) -> None:
    _put(store, place, EffectStatus.IN_FLIGHT, lease_over=True)
    _reconcile(store, ReconcileOutcome.NOT_COMMITTED, 1)
    again = store.claim(claim_of(effect_version=2)).effect
    assert (again.fencing, again.attempt) == (3, 2)
    assert error_code(lambda: _settle(store, EffectStatus.COMMITTED)) == "claim_lost"
    assert _effect(store) == again


def test_reconcile_from_an_old_version_is_refused(store: Store, place: Place) -> None:
    found = _put(store, place, EffectStatus.UNKNOWN)
    assert error_code(lambda: _reconcile(store, ReconcileOutcome.COMMITTED, 2)) == "effect_changed"
    assert _effect(store) == found


@pytest.mark.parametrize("evidence_ref", ["", "  ", "\n"])
def test_reconcile_without_evidence_is_refused(store: Store, place: Place, evidence_ref: str) -> None:
    found = _put(store, place, EffectStatus.UNKNOWN)
    code = error_code(lambda: _reconcile(store, ReconcileOutcome.COMMITTED, 1, evidence_ref=evidence_ref))
    assert code == "evidence_required"
    assert _effect(store) == found


@pytest.mark.parametrize(
    "changes", [{"evidence_ref": None}, {"reconciled_by": ""}, {"reconciled_by": None}, {"outcome": "maybe"}]
)
def test_reconcile_with_a_field_that_no_record_can_hold_is_refused(
    store: Store, place: Place, changes: dict[str, Any]
) -> None:
    found = _put(store, place, EffectStatus.UNKNOWN)
    fields = {"outcome": ReconcileOutcome.COMMITTED, "version": 1, **changes}
    with pytest.raises(InputError):
        _reconcile(store, **fields)
    assert _effect(store) == found


def test_unknown_effect_is_spent_until_reconciled_as_not_committed_and_then_asks_afresh(store: Store) -> None:
    granted = approved(store)
    store.claim(claim_of(granted))
    _settle(store, EffectStatus.UNKNOWN)
    retry = claim_of(idempotency_key="key-2", effect_version=2)
    assert error_code(lambda: store.claim(retry)) == "claim_lost"
    _reconcile(store, ReconcileOutcome.NOT_COMMITTED, 2)
    old = claim_of(granted, idempotency_key="key-2", effect_version=3)
    assert error_code(lambda: store.claim(old)) == "approval_consumed"
    fresh = approved(store)
    assert fresh.approval_id != granted.approval_id
    taken = store.claim(claim_of(fresh, idempotency_key="key-2", effect_version=3)).effect
    assert (taken.attempt, taken.fencing) == (2, 3)


def test_effects_are_listed_by_status(store: Store) -> None:
    store.claim(claim_of())
    done = _settle(store, EffectStatus.COMMITTED, receipt=1)
    flying = store.claim(claim_of(business_key="order-2")).effect
    assert {e.business_key for e in store.effects(TENANT)} == {"order-1", "order-2"}
    assert store.effects(TENANT, status=EffectStatus.COMMITTED) == [done]
    assert store.effects(TENANT, status=EffectStatus.IN_FLIGHT) == [flying]


def test_events_of_an_effect_hold_no_business_key_receipt_or_evidence(store: Store) -> None:
    store.claim(claim_of(business_key="patient Jane"))
    _settle(store, EffectStatus.UNKNOWN, business_key="patient Jane", receipt="secret")
    _reconcile(store, ReconcileOutcome.COMMITTED, 2, business_key="patient Jane", evidence_ref="said by phone")
    log = repr(store.events(TENANT, "run-1"))
    assert [word for word in ("Jane", "secret", "phone", "key-1") if word in log] == []
