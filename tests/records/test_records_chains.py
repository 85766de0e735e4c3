from __future__ import annotations

import pytest
from records_support import EFFECT, OTHER, TENANT, Place, approved, claim_of, error_code, run_record

from gate.records import ChainState, EffectStatus, Store


def _state(run_id: str = "run-1", tenant_id: str = TENANT, events: int = 1, **more: object) -> ChainState:
    return ChainState(tenant_id=tenant_id, run_id=run_id, events=events, **more)  # type: ignore[arg-type]


def _story(store: Store) -> None:
    """Every kind of record that the log speaks of."""
    store.claim(claim_of(approved(store)))
    store.settle(TENANT, **EFFECT, fencing=1, owner="worker-1", status=EffectStatus.FAILED_BEFORE_EFFECT)
    approved(store, action_digest="sha256:" + "1" * 64)


def test_chains_of_all_tenants_are_walked_in_order(store: Store) -> None:
    store.create_run(run_record("run-0"))
    assert list(store.inspect_chains()) == [_state("run-0"), _state(), _state(tenant_id=OTHER)]
    assert list(store.inspect_chains(TENANT)) == [_state("run-0"), _state()]
    assert list(store.inspect_chains(OTHER, "run-1")) == [_state(tenant_id=OTHER)]
    assert list(store.inspect_chains("nobody")) == []
    assert error_code(lambda: list(store.inspect_chains(OTHER, "run-0"))) == "run_unknown"


def test_more_runs_than_a_page_are_all_walked(store: Store, place: Place) -> None:
    place.raw(
        "INSERT INTO runs (tenant_id, run_id, agent_id, principal_id, session_id, trace_id, authorization_mode, "
        "status, status_reason, version, head_seq, head_hash) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
        "FROM n WHERE i < 1200) SELECT tenant_id, 'many-' || i, agent_id, principal_id, session_id, trace_id, "
        "authorization_mode, status, status_reason, version, head_seq, head_hash FROM n, runs WHERE run_id = 'run-1'"
    )
    found = list(store.inspect_chains())
    assert len(found) == 2402
    assert len({(state.tenant_id, state.run_id) for state in found}) == 2402


def test_records_of_a_whole_story_agree_with_the_log(store: Store) -> None:
    _story(store)
    assert [state.sound for state in store.inspect_chains()] == [True, True]


def test_broken_chain_is_named_and_the_others_are_walked(store: Store, place: Place) -> None:
    store.append_event(TENANT, "run-1", "x", {})
    place.raw("UPDATE events SET at_ms = 1 WHERE tenant_id = ? AND seq = 2", TENANT)
    assert list(store.inspect_chains()) == [_state(broken_at=2), _state(tenant_id=OTHER)]


def test_events_whose_run_is_gone_are_named(store: Store, place: Place) -> None:
    place.raw("DELETE FROM runs WHERE tenant_id = ?", TENANT)
    assert list(store.inspect_chains(TENANT)) == [_state(events=0, broken_at=1)]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE effects SET status = 'side_effect_committed'", "effect create_ticket side_effect_committed"),
        ("DELETE FROM effects", "effect create_ticket not_started"),
        ("UPDATE effects SET business_key = 'order-2'", "effect create_ticket failed_before_effect"),
        ("UPDATE approvals SET status = 'approved' WHERE status = 'consumed'", "approval ID approved"),
        ("DELETE FROM approvals WHERE status = 'consumed'", "approval ID lost"),
    ],
)
def test_record_edited_behind_the_gate_is_named(store: Store, place: Place, statement: str, named: str) -> None:
    _story(store)
    consumed = next(a.approval_id for a in store.approvals(TENANT) if a.status == "consumed")
    place.raw(statement)
    (state,) = store.inspect_chains(TENANT)
    assert state.broken_at is None
    assert named.replace("ID", consumed) in state.differs


def test_effect_that_a_later_run_claimed_is_no_difference(store: Store) -> None:
    _story(store)
    store.create_run(run_record("run-2"))
    store.claim(claim_of(run_id="run-2", effect_version=2, owner="worker-2", idempotency_key="key-2"))
    assert [state.sound for state in store.inspect_chains()] == [True, True, True]
