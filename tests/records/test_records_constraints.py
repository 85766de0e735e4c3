from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from records_support import OTHER, TENANT, Place, at_once, claim_of, error_code, run_record

from gate.errors import InputError
from gate.records import NewConstraint, Obligations, OpenWork, Progress, Store
from gate.records.constraints import MAX_ACTIVE


def new_constraint(**changes: Any) -> NewConstraint:
    fields: dict[str, Any] = {
        "constraint_id": "user-constraint-017",
        "source_event": "event-17",
        "words": "Never refund more than 100.",
        "applies_to": ("refund",),
        "action": "deny",
        "predicate": "arguments.amount > 100",
        "dnf": [[{"base": "input", "path": ["request"], "kind": "number", "op": ">", "value": 100}]],
        "valid_until_ms": None,
    }
    return NewConstraint(**{**fields, **changes})


def test_recorded_constraint_holds_for_the_principal_in_every_run(store: Store) -> None:
    recorded = store.record_constraint(TENANT, "run-1", new_constraint())
    store.create_run(run_record("run-2"))

    found = store.snapshot(TENANT, "run-2")
    assert found is not None
    assert found.constraints == (recorded,)
    assert store.constraints(TENANT, "user-1") == (recorded,)
    assert store.constraints(OTHER, "user-1") == store.constraints(TENANT, "user-2") == ()
    assert (recorded.intact, recorded.status, recorded.version) == (True, "active", 1)
    assert store.events(TENANT, "run-1")[-1].event_type == "constraint_recorded"


def test_recording_makes_a_claim_decided_before_stale_in_every_run_of_the_principal_only(store: Store) -> None:
    store.create_run(run_record("run-2"))
    store.create_run(replace(run_record("run-3"), principal_id="user-2"))
    before, _ = store.binding_constraints(TENANT, "user-1")
    store.record_constraint(TENANT, "run-1", new_constraint())

    for run_id in ("run-1", "run-2"):
        stale = claim_of(run_id=run_id, business_key=run_id, idempotency_key=run_id, constraint_version=before)
        assert error_code(lambda stale=stale: store.claim(stale)) == "constraints_changed"
    assert error_code(lambda: store.claim(claim_of(run_id="run-3", principal_id="user-2"))) == ""
    after, (bound,) = store.binding_constraints(TENANT, "user-1")
    assert (before, after, bound.constraint_id) == (0, 1, "user-constraint-017")
    assert error_code(lambda: store.claim(claim_of(run_id="run-2", constraint_version=after))) == ""


def test_withdrawing_makes_a_claim_decided_before_stale_too(store: Store) -> None:
    store.record_constraint(TENANT, "run-1", new_constraint())
    version, _ = store.binding_constraints(TENANT, "user-1")
    store.withdraw_constraint(TENANT, "user-constraint-017", withdrawn_by="user-1")

    assert error_code(lambda: store.claim(claim_of(constraint_version=version))) == "constraints_changed"


def test_claims_of_one_run_that_race_a_constraint_of_another_come_before_it_or_lose(store: Store) -> None:
    store.create_run(run_record("run-2"))

    def body(number: int) -> None:
        if number == 0:
            store.record_constraint(TENANT, "run-1", new_constraint())
            return
        key = f"order-{number}"
        store.claim(claim_of(run_id="run-2", business_key=key, idempotency_key=key, constraint_version=0))

    codes = at_once(9, body)

    assert codes[0] == ""
    assert set(codes[1:]) <= {"", "constraints_changed"}
    claimed = [e for e in store.events(TENANT, "run-2") if e.event_type == "effect_claimed"]
    assert len(claimed) == codes[1:].count("")
    # And nobody claims by what was read before, however late.
    late = claim_of(run_id="run-2", business_key="late", idempotency_key="late", constraint_version=0)
    assert error_code(lambda: store.claim(late)) == "constraints_changed"


def test_principal_of_a_run_has_a_version_from_the_start(store: Store, place: Place) -> None:
    assert place.raw(
        "SELECT tenant_id, principal_id, version FROM constraint_versions WHERE tenant_id = ?", TENANT
    ) == [(TENANT, "user-1", 0)]


def test_withdrawn_constraint_holds_no_longer_and_is_still_found_by_id(store: Store) -> None:
    store.record_constraint(TENANT, "run-1", new_constraint())
    store.withdraw_constraint(TENANT, "user-constraint-017", withdrawn_by="user-1")

    assert store.constraints(TENANT, "user-1") == ()
    seen = store.snapshot(TENANT, "run-1", constraint_ids=["user-constraint-017", "nobody"])
    assert seen is not None
    assert [c.status for c in seen.constraints] == ["withdrawn"]
    again = error_code(lambda: store.withdraw_constraint(TENANT, "user-constraint-017", withdrawn_by="user-1"))
    assert again == "constraint_withdrawn"
    assert store.verify_run(TENANT, "run-1") == 3


def test_constraint_of_another_tenant_is_unknown(store: Store) -> None:
    store.record_constraint(TENANT, "run-1", new_constraint())

    code = error_code(lambda: store.withdraw_constraint(OTHER, "user-constraint-017", withdrawn_by="user-1"))

    assert code == "constraint_unknown"


def test_of_ten_records_under_one_id_at_once_one_wins(store: Store) -> None:
    codes = at_once(10, lambda _: store.record_constraint(TENANT, "run-1", new_constraint()))

    assert sorted(codes) == ["", *["constraint_exists"] * 9]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE user_constraints SET action = 'require_approval'",
        "UPDATE user_constraints SET dnf = '[]'",
        "UPDATE user_constraints SET dnf = 'not json'",
        "UPDATE user_constraints SET applies_to = '[\"nothing\"]'",
        "UPDATE user_constraints SET valid_until_ms = 1",
        "UPDATE user_constraints SET digest = 'sha256:0'",
    ],
)
def test_edited_constraint_is_handed_on_as_not_intact(store: Store, place: Place, damage: str) -> None:
    store.record_constraint(TENANT, "run-1", new_constraint())
    place.raw(damage)

    assert [c.intact for c in store.constraints(TENANT, "user-1")] == [False]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"action": "allow"}, "record_field_invalid"),
        ({"applies_to": ()}, "record_field_invalid"),
        ({"constraint_id": " "}, "record_field_invalid"),
        ({"source_event": "\n"}, "record_field_invalid"),
        ({"words": 5}, "record_field_invalid"),
        ({"valid_until_ms": 0}, "record_field_invalid"),
        ({"dnf": ["x" * 40_000]}, "constraint_too_large"),
        ({"dnf": {1: 2}}, "json_key_not_string"),
    ],
)
def test_constraint_that_no_record_can_hold_is_refused(store: Store, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as caught:
        store.record_constraint(TENANT, "run-1", new_constraint(**changes))

    assert caught.value.code == code
    assert store.constraints(TENANT, "user-1") == ()


def test_more_constraints_than_a_call_may_read_are_refused(sqlite_store: Store) -> None:
    for number in range(MAX_ACTIVE):
        sqlite_store.record_constraint(TENANT, "run-1", new_constraint(constraint_id=f"c-{number}"))

    code = error_code(lambda: sqlite_store.record_constraint(TENANT, "run-1", new_constraint()))

    assert code == "constraints_too_many"


def test_progress_is_what_was_recorded_last(store: Store) -> None:
    first = Progress(objective="help", checkpoint_ref="cp:1", budget_remaining=7)
    last = Progress(
        objective="help",
        checkpoint_ref="cp:2",
        sandbox_snapshot_ref="snap:1",
        budget_remaining=0,
        open_work=(OpenWork("incident_open", "inc-1"),),
        evidence_refs=("trace:trace-1",),
    )
    assert store.progress(TENANT, "run-1") == Progress()
    store.record_progress(TENANT, "run-1", first)
    store.record_progress(TENANT, "run-1", last)

    assert store.progress(TENANT, "run-1") == last
    assert store.progress(OTHER, "run-1") == Progress()
    assert "help" not in str([event.payload for event in store.events(TENANT, "run-1")])


@pytest.mark.parametrize(
    "new", [Progress(budget_remaining=-1), Progress(checkpoint_ref=""), Progress(open_work=(OpenWork("", "x"),))]
)
def test_progress_that_no_record_can_hold_is_refused(store: Store, new: Progress) -> None:
    assert error_code(lambda: store.record_progress(TENANT, "run-1", new)) == "record_field_invalid"


def test_obligations_open_close_with_evidence_and_open_again(store: Store) -> None:
    store.open_obligation(TENANT, "run-1", "tell the customer")
    store.open_obligation(TENANT, "run-1", "tell the customer")
    assert _obligations(store) == Obligations(open=("tell the customer",))

    store.close_obligation(TENANT, "run-1", "tell the customer", evidence_ref="mail:7")
    assert _obligations(store) == Obligations(closed=("tell the customer",))
    code = error_code(lambda: store.close_obligation(TENANT, "run-1", "tell the customer", evidence_ref="mail:7"))
    assert code == "obligation_unknown"

    store.open_obligation(TENANT, "run-1", "tell the customer")
    assert _obligations(store) == Obligations(open=("tell the customer",))
    assert store.verify_run(TENANT, "run-1") == 4


def _obligations(store: Store) -> Obligations:
    seen = store.snapshot(TENANT, "run-1")
    assert seen is not None
    return seen.obligations
