from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from records_support import ACTION, EFFECT, OTHER, TENANT, Place, approved, at_once, claim_of, error_code

from gate import canonical
from gate.records import (
    ActionRef,
    ApprovalStatus,
    BoundaryRecord,
    BoundaryStatus,
    EffectStatus,
    ReconcileOutcome,
    RunSnapshot,
    RunStatus,
    Store,
)

SUMMARY = canonical.digest("summary")


def snapshot(store: Store, **options: Any) -> RunSnapshot:
    found = store.snapshot(TENANT, "run-1", **options)
    assert found is not None
    return found


def new_boundary(seen: RunSnapshot, **changes: Any) -> BoundaryRecord:
    fields: dict[str, Any] = {
        "tenant_id": TENANT,
        "envelope_id": "ce-1",
        "run_id": "run-1",
        "session_id": "session-1",
        "source_trace_id": "trace-1",
        "reason": "context_compaction",
        "status": BoundaryStatus.OPEN,
        "requested": True,
        "epoch": seen.run.epoch,
        "first_seq": seen.range.first_seq,
        "last_seq": seen.range.last_seq,
        "body": '{"envelope_id":"ce-1"}',
        "seal": "{}",
        "summary_sha256": None,
        "written_at_ms": seen.now_ms,
        "version": 1,
    }
    return BoundaryRecord(**{**fields, **changes})


def write(store: Store, seen: RunSnapshot | None = None, **changes: Any) -> BoundaryRecord:
    seen = seen or snapshot(store)
    supersedes = changes.pop("supersedes", False)
    written, event = store.write_boundary(
        new_boundary(seen, **changes), run_version=seen.run.version, frozen=seen.range, supersedes=supersedes
    )
    assert (event.event_type, event.payload["envelope_id"]) == ("boundary_written", written.envelope_id)
    return written


def seal(store: Store, boundary: BoundaryRecord) -> BoundaryRecord:
    body = '{"envelope_id":"ce-1","summary_sha256":"x"}'
    sealed, _ = store.seal_boundary(
        TENANT,
        boundary.envelope_id,
        expected_version=boundary.version,
        body=body,
        summary_sha256=SUMMARY,
        sealed_with="{}",
    )
    return sealed


def resume(store: Store, boundary: BoundaryRecord, seen: RunSnapshot | None = None) -> int:
    seen = seen or snapshot(store)
    _, epoch, _ = store.resume_boundary(
        TENANT,
        boundary.envelope_id,
        expected_version=boundary.version,
        run_version=seen.run.version,
        head=seen.head,
        resumed_by="user-1",
    )
    return epoch


def test_new_run_is_in_epoch_one_at_no_boundary(store: Store) -> None:
    seen = snapshot(store)

    assert (seen.run.epoch, seen.run.boundary_id, seen.boundary, seen.boundaries) == (1, None, None, 0)
    assert (seen.range.first_seq, seen.range.last_seq, seen.tail_holds) == (1, 1, True)
    assert (seen.actions, seen.constraints, seen.in_flight) == ((), (), False)


def test_snapshot_of_another_tenants_run_is_nothing(store: Store) -> None:
    assert store.snapshot("initech", "run-1") is None
    assert store.boundary(OTHER, "ce-1") is None


def test_written_boundary_stops_claims_and_resume_starts_the_next_epoch(store: Store) -> None:
    written = write(store)

    assert snapshot(store).boundary == written
    assert error_code(lambda: store.claim(claim_of(run_version=2))) == "boundary_open"

    sealed = seal(store, written)
    assert (sealed.status, sealed.summary_sha256, sealed.version) == (BoundaryStatus.SEALED, SUMMARY, 2)
    assert resume(store, sealed) == 2
    seen = snapshot(store)
    assert (seen.run.epoch, seen.run.boundary_id, seen.run.version) == (2, None, 3)
    assert (seen.range.first_seq, seen.boundaries) == (written.last_seq + 1, 1)
    assert [event.event_type for event in store.events(TENANT, "run-1")] == [
        "run_created",
        "boundary_written",
        "boundary_sealed",
        "boundary_resumed",
    ]
    assert store.verify_run(TENANT, "run-1") == 4
    assert store.claim(claim_of(run_version=3)).effect.status is EffectStatus.IN_FLIGHT


def test_paused_run_at_a_boundary_cannot_be_set_running(store: Store) -> None:
    store.set_run_status(TENANT, "run-1", expected_version=1, status=RunStatus.PAUSED, reason="")
    write(store)

    moved = error_code(
        lambda: store.set_run_status(TENANT, "run-1", expected_version=3, status=RunStatus.RUNNING, reason="")
    )

    assert moved == "boundary_open"


def test_boundary_over_records_that_moved_is_refused(store: Store) -> None:
    seen = snapshot(store)
    store.append_event(TENANT, "run-1", "note", {})

    assert error_code(lambda: write(store, seen)) == "run_changed"
    assert snapshot(store).boundary is None


def test_second_boundary_is_refused_and_a_superseding_one_abandons_the_first(store: Store) -> None:
    first = write(store)

    assert error_code(lambda: write(store, envelope_id="ce-2")) == "boundary_open"
    second = write(store, envelope_id="ce-2", requested=False, supersedes=True)

    abandoned = store.boundary(TENANT, first.envelope_id)
    assert abandoned is not None
    assert abandoned.status is BoundaryStatus.ABANDONED
    assert snapshot(store).boundary == second
    assert error_code(lambda: seal(store, first)) == "boundary_changed"


def test_requested_boundary_is_refused_while_a_claim_is_in_flight_and_an_unrequested_one_is_not(store: Store) -> None:
    store.claim(claim_of())

    assert snapshot(store).in_flight
    assert error_code(lambda: write(store)) == "claim_in_flight"
    assert write(store, requested=False).status is BoundaryStatus.OPEN


def test_boundary_of_a_closed_run_is_refused(store: Store) -> None:
    store.set_run_status(TENANT, "run-1", expected_version=1, status=RunStatus.STOPPED, reason="")

    assert error_code(lambda: write(store)) == "run_closed"


def test_open_boundary_is_not_resumed(store: Store) -> None:
    written = write(store)

    assert error_code(lambda: resume(store, written)) == "boundary_changed"


def test_resume_over_records_that_moved_is_refused(store: Store) -> None:
    sealed = seal(store, write(store))
    seen = snapshot(store)
    store.append_event(TENANT, "run-1", "note", {})

    assert error_code(lambda: resume(store, sealed, seen)) == "run_changed"
    assert snapshot(store).run.epoch == 1


def test_of_ten_resumes_at_once_one_wins(store: Store) -> None:
    sealed = seal(store, write(store))
    seen = snapshot(store)

    codes = at_once(10, lambda _: resume(store, sealed, seen))

    assert sorted(codes) == ["", *["boundary_changed"] * 9]
    assert snapshot(store).run.epoch == 2


def test_status_that_was_set_back_makes_no_room_for_a_second_resume(store: Store, place: Place) -> None:
    sealed = seal(store, write(store))
    resume(store, sealed)
    place.raw("UPDATE boundaries SET status = 'sealed', version = 2, resumed_by = NULL WHERE envelope_id = ?", "ce-1")

    assert error_code(lambda: resume(store, sealed)) == "boundary_changed"


def proof(store: Store, **options: Any) -> Any:
    boundary = store.boundary(TENANT, "ce-1")
    assert boundary is not None
    seen = options.pop("frozen")
    return store.prove_boundary(boundary, seen)


def test_proof_of_an_untouched_boundary_is_intact(store: Store) -> None:
    seen = snapshot(store)
    seal(store, write(store, seen))
    store.append_event(TENANT, "run-1", "note", {})

    found = proof(store, frozen=seen.range)

    assert (found.intact, found.source_trace_id) == (True, "trace-1")
    assert [event["event_type"] for event in found.events] == ["boundary_written", "boundary_sealed", "note"]


@pytest.mark.parametrize(
    ("damage", "values"),
    [
        ("UPDATE events SET payload = '{}' WHERE seq = 1 AND tenant_id = ?", (TENANT,)),
        ("UPDATE events SET payload = 'not json' WHERE seq = 2 AND tenant_id = ?", (TENANT,)),
        ("UPDATE events SET event_type = 'note' WHERE seq = 3 AND tenant_id = ?", (TENANT,)),
        ("DELETE FROM events WHERE seq = 4 AND tenant_id = ?", (TENANT,)),
        ("UPDATE boundaries SET body = '{}' WHERE tenant_id = ?", (TENANT,)),
        ("UPDATE boundaries SET body = substr(body, 1, 10) WHERE tenant_id = ?", (TENANT,)),
    ],
)
def test_edited_or_truncated_rows_break_the_proof(store: Store, place: Place, damage: str, values: Any) -> None:
    seen = snapshot(store)
    seal(store, write(store, seen))
    store.append_event(TENANT, "run-1", "note", {})
    place.raw(damage, *values)

    assert not proof(store, frozen=seen.range).intact


def test_proof_against_another_head_hash_or_a_later_range_is_broken(store: Store) -> None:
    seen = snapshot(store)
    seal(store, write(store, seen))

    assert not proof(store, frozen=replace(seen.range, head_hash=canonical.digest("x"))).intact
    assert not proof(store, frozen=replace(seen.range, last_seq=99)).intact
    assert not proof(store, frozen=replace(seen.range, first_seq=50, last_seq=99)).intact


def test_tail_that_was_edited_is_seen_without_reading_the_chain(store: Store, place: Place) -> None:
    for number in range(20):
        store.append_event(TENANT, "run-1", "note", {"n": number})
    place.raw("UPDATE events SET payload = '{}' WHERE seq = 2 AND tenant_id = ?", TENANT)
    assert snapshot(store).tail_holds

    place.raw("UPDATE events SET payload = '{}' WHERE seq = 20 AND tenant_id = ?", TENANT)
    assert not snapshot(store).tail_holds


def test_actions_are_the_open_approvals_and_unsettled_effects(store: Store) -> None:
    approval = approved(store, idempotency_key="key-1", business_key="order-1", capability_version="v1")
    waiting = snapshot(store).actions
    store.claim(claim_of(approval))
    flying = snapshot(store).actions

    assert [(a.approval_id, str(a.approval_status), a.side_effect_status, a.idempotency_key) for a in waiting] == [
        (approval.approval_id, "approved", EffectStatus.NOT_STARTED, "key-1")
    ]
    assert [(a.approval_id, str(a.approval_status), a.side_effect_status, a.action_digest) for a in flying] == [
        (approval.approval_id, "consumed", EffectStatus.IN_FLIGHT, ACTION)
    ]


def test_effect_whose_lease_ran_out_reads_as_unknown(store: Store, place: Place) -> None:
    store.claim(claim_of())
    place.raw("UPDATE effects SET lease_expires_at_ms = 1 WHERE tenant_id = ?", TENANT)

    seen = snapshot(store)

    assert not seen.in_flight
    assert [a.side_effect_status for a in seen.actions] == [EffectStatus.UNKNOWN]


def test_reconciled_effect_is_found_when_it_is_named_and_not_otherwise(store: Store) -> None:
    claimed = store.claim(claim_of()).effect
    store.settle(TENANT, **EFFECT, fencing=claimed.fencing, owner=claimed.owner, status=EffectStatus.UNKNOWN)
    store.reconcile(
        TENANT,
        **EFFECT,
        expected_version=2,
        outcome=ReconcileOutcome.COMMITTED,
        evidence_ref="ticket:1",
        reconciled_by="ops",
    )
    ref = ActionRef(approval_id=None, capability="create_ticket", idempotency_key="key-1")

    assert snapshot(store).actions == ()
    assert [a.side_effect_status for a in snapshot(store, named=[ref]).actions] == [EffectStatus.COMMITTED]


def test_approval_remembers_the_epoch_of_its_first_vote_and_is_closed_when_a_later_one_is_asked_for(
    store: Store,
) -> None:
    first = approved(store)
    resume(store, seal(store, write(store)))

    kept = store.request_approval(_request(), max_wait_ms=1000)
    again = store.request_approval(_request(), max_wait_ms=1000, min_epoch=2)

    old = store.approval(TENANT, first.approval_id)
    assert (kept.approval_id, kept.epoch) == (first.approval_id, 1)
    assert (again.epoch, again.status) == (2, ApprovalStatus.PENDING)
    assert old is not None
    assert old.status is ApprovalStatus.REVOKED


def _request() -> Any:
    from records_support import approval_request

    return approval_request()


def test_events_of_a_boundary_hold_ids_and_digests_only(store: Store) -> None:
    seal(store, write(store, body=json.dumps({"envelope_id": "ce-1", "objective": "hush"})))

    assert all("hush" not in json.dumps(event.payload) for event in store.events(TENANT, "run-1"))
