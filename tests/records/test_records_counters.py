from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from records_support import EFFECT, TENANT, Place, at_once, claim_of, error_code, run_record

from gate.errors import InputError
from gate.records import (
    ISOLATION_LEVELS,
    Claim,
    CounterRecord,
    CounterUse,
    EffectStatus,
    ReconcileOutcome,
    Store,
)

NAME = "refunds:EUR:2026-11-30"


def _use(amount: int = 60, *, read: int = 0, limit: int = 100, name: str = NAME) -> CounterUse:
    return CounterUse(name=name, amount=amount, limit=limit, read=read)


def _spending(number: int, *uses: CounterUse, **changes: Any) -> Claim:
    fields = {"business_key": f"order-{number}", "idempotency_key": f"key-{number}", "owner": f"w-{number}"}
    return claim_of(counters=uses, **{**fields, **changes})


def _value(store: Store) -> int:
    return store.counter(TENANT, NAME).value


def _settle(store: Store, number: int, status: EffectStatus) -> None:
    key = {**EFFECT, "business_key": f"order-{number}"}
    store.settle(TENANT, **key, fencing=1, owner=f"w-{number}", status=status)


def test_counter_that_nothing_was_counted_on_is_zero(store: Store) -> None:
    assert store.counter(TENANT, NAME) == CounterRecord(tenant_id=TENANT, name=NAME, value=0, version=0)


def test_claim_counts_what_it_spends_up_to_the_limit_and_not_past_it(store: Store) -> None:
    store.claim(_spending(1, _use(60)))
    assert store.counter(TENANT, NAME) == CounterRecord(tenant_id=TENANT, name=NAME, value=60, version=2)
    assert error_code(lambda: store.claim(_spending(2, _use(41, read=60)))) == "counter_exceeded"
    store.claim(_spending(3, _use(40, read=60)))
    assert _value(store) == 100
    assert error_code(lambda: store.claim(_spending(4, _use(1, read=100)))) == "counter_exceeded"
    assert store.effect(TENANT, **{**EFFECT, "business_key": "order-4"}) is None
    assert store.wrong_counters() == []


def test_claim_on_a_counter_that_changed_is_refused_and_takes_nothing(store: Store) -> None:
    store.claim(_spending(1, _use(10)))
    assert error_code(lambda: store.claim(_spending(2, _use(10)))) == "counter_changed"
    assert store.effect(TENANT, **{**EFFECT, "business_key": "order-2"}) is None
    assert _value(store) == 10


def test_claim_counts_on_all_its_counters_or_on_none(store: Store) -> None:
    uses = (_use(10, name="b"), _use(10), _use(10, name="a", limit=5))
    assert error_code(lambda: store.claim(_spending(1, *uses))) == "counter_exceeded"
    assert [store.counter(TENANT, name).version for name in ("a", "b", NAME)] == [0, 0, 0]
    store.claim(_spending(1, _use(10, name="b"), _use(10), _use(5, name="a", limit=5)))
    assert [store.counter(TENANT, name).value for name in ("a", "b", NAME)] == [5, 10, 10]


def test_counters_of_two_tenants_are_apart(store: Store) -> None:
    store.claim(_spending(1, _use(60)))
    store.claim(_spending(1, _use(60), tenant_id="globex"))
    assert [store.counter(tenant, NAME).value for tenant in (TENANT, "globex")] == [60, 60]


def test_effect_that_failed_before_it_happened_gives_back_once(store: Store) -> None:
    store.claim(_spending(1, _use(60)))
    _settle(store, 1, EffectStatus.FAILED_BEFORE_EFFECT)
    assert _value(store) == 0
    assert error_code(lambda: _settle(store, 1, EffectStatus.FAILED_BEFORE_EFFECT)) == "effect_transition_illegal"
    assert _value(store) == 0
    store.claim(_spending(1, _use(60), effect_version=2, owner="w-2"))
    assert _value(store) == 60
    assert store.wrong_counters() == []


@pytest.mark.parametrize("status", [EffectStatus.COMMITTED, EffectStatus.UNKNOWN, EffectStatus.PARTIAL])
def test_effect_that_may_have_happened_keeps_what_it_spent(store: Store, status: EffectStatus) -> None:
    store.claim(_spending(1, _use(60)))
    _settle(store, 1, status)
    assert _value(store) == 60


@pytest.mark.parametrize(
    ("outcome", "left"),
    [(ReconcileOutcome.COMMITTED, 60), (ReconcileOutcome.PARTIAL, 60), (ReconcileOutcome.NOT_COMMITTED, 0)],
)
def test_unknown_effect_gives_back_only_when_reconciled_as_not_committed(
    store: Store, outcome: ReconcileOutcome, left: int
) -> None:
    store.claim(_spending(1, _use(60)))
    _settle(store, 1, EffectStatus.UNKNOWN)
    key = {**EFFECT, "business_key": "order-1"}
    store.reconcile(TENANT, **key, expected_version=2, outcome=outcome, evidence_ref="ticket-7", reconciled_by="mira")
    assert _value(store) == left
    assert store.wrong_counters() == []


def test_failure_reported_after_the_lease_ran_out_gives_nothing_back(store: Store, place: Place) -> None:
    store.claim(_spending(1, _use(60)))
    place.raw("UPDATE effects SET lease_expires_at_ms = 1")
    assert error_code(lambda: _settle(store, 1, EffectStatus.FAILED_BEFORE_EFFECT)) == "lease_expired"
    assert _value(store) == 60


def test_events_say_which_counters_but_not_how_much(store: Store) -> None:
    store.claim(_spending(1, _use(60)))
    _settle(store, 1, EffectStatus.FAILED_BEFORE_EFFECT)
    claimed, settled = store.events(TENANT, "run-1")[-2:]
    assert [entry["name"] for entry in claimed.payload["counters"]] == [NAME]
    assert settled.payload["counters_returned"] == claimed.payload["counters"]
    assert set(claimed.payload["counters"][0]) == {"name", "use_digest"}


@pytest.mark.parametrize(
    "uses",
    [
        (_use(0),),
        (_use(-1),),
        (_use(True),),
        (_use(1.5),),  # type: ignore[arg-type]
        (_use(1, limit=-1),),
        (_use(1, read=-1),),
        (_use(1, limit=2**53),),
        (_use(1, name=" "),),
        (_use(1), _use(2)),
        [_use(1)],
        ("x",),
        tuple(_use(1, name=f"n{n}") for n in range(33)),
    ],
)
def test_use_that_no_counter_can_hold_is_refused(store: Store, uses: Any) -> None:
    with pytest.raises(InputError):
        store.claim(claim_of(counters=uses))
    assert store.effects(TENANT) == []


def test_counter_edited_behind_the_gate_is_named(store: Store, place: Place) -> None:
    store.claim(_spending(1, _use(60)))
    place.raw("UPDATE counters SET value = 0")
    assert store.wrong_counters(TENANT) == [(TENANT, NAME)]
    assert store.wrong_counters("globex") == []


@pytest.mark.parametrize("isolation", ISOLATION_LEVELS)
@pytest.mark.parametrize("other_run", [False, True])
def test_two_calls_of_60_under_a_limit_of_100_spend_60(place: Place, isolation: str, other_run: bool) -> None:
    with Store.open(place.url, isolation=isolation) as store:
        for name in ("run-1", "run-2"):
            store.create_run(run_record(name))
        runs = ("run-1", "run-2" if other_run else "run-1")
        codes = at_once(2, lambda n: store.claim(_spending(n, _use(60), run_id=runs[n])))
        assert sorted(codes) == ["", "counter_changed"]
        assert _value(store) == 60
        again = codes.index("counter_changed")
        code = error_code(lambda: store.claim(_spending(again, _use(60, read=60), run_id=runs[again])))
        assert (code, _value(store)) == ("counter_exceeded", 60)


@pytest.mark.parametrize("isolation", ISOLATION_LEVELS)
def test_twenty_calls_that_decide_again_never_pass_the_limit(place: Place, isolation: str) -> None:
    with Store.open(place.url, isolation=isolation, busy_timeout_ms=60_000) as store:
        for number in range(20):
            store.create_run(run_record(f"run-{number}"))

        def call(number: int) -> None:
            code = "counter_changed"
            while code == "counter_changed":
                wanted = _spending(number, _use(9, read=_value(store)), run_id=f"run-{number}")
                code = error_code(partial(store.claim, wanted))
            assert code in ("", "counter_exceeded")

        assert at_once(20, call) == [""] * 20
        assert _value(store) == 99
        assert (len(store.effects(TENANT)), store.wrong_counters()) == (11, [])
