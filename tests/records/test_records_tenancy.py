from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from records_support import (
    ACTION,
    CONTRACT,
    EFFECT,
    INTENT,
    OTHER,
    OTHER_ACTION,
    TENANT,
    VOTE,
    approval_request,
    approved,
    claim_of,
    error_code,
    run_record,
)

from gate.errors import InputError
from gate.records import ApprovalStatus, EffectStatus, ReconcileOutcome, RunStatus, Store

KEY = {"principal_id": "user-1", "capability": "create_ticket"}

READS: dict[str, tuple[Callable[[Store, str, dict[str, str]], Any], Any]] = {
    "run": (lambda s, t, ids: s.run(t, "run-2"), None),
    "events": (lambda s, t, ids: s.events(t, "run-2"), []),
    "approval": (lambda s, t, ids: s.approval(t, ids["approval"]), None),
    "approval_for": (
        lambda s, t, ids: s.approval_for(t, action_digest=ACTION, contract_digest=CONTRACT),
        None,
    ),
    "rejection_for": (
        lambda s, t, ids: s.rejection_for(t, principal_id="user-1", intent_digest=INTENT),
        None,
    ),
    "approvals": (lambda s, t, ids: s.approvals(t), []),
    "effect": (lambda s, t, ids: s.effect(t, **EFFECT), None),
    "effects": (lambda s, t, ids: s.effects(t), []),
    "idempotency": (lambda s, t, ids: s.idempotency(t, **KEY, idempotency_key="key-1"), None),
}

WRITES: dict[str, tuple[Callable[[Store, str, dict[str, str]], Any], str]] = {
    "set_run_status": (
        lambda s, t, ids: s.set_run_status(t, "run-2", expected_version=1, status=RunStatus.STOPPED, reason=""),
        "run_unknown",
    ),
    "append_event": (lambda s, t, ids: s.append_event(t, "run-2", "x", {}), "run_unknown"),
    "verify_run": (lambda s, t, ids: s.verify_run(t, "run-2"), "run_unknown"),
    "request_approval": (
        lambda s, t, ids: s.request_approval(approval_request(tenant_id=t, run_id="run-2"), max_wait_ms=1),
        "run_unknown",
    ),
    "add_vote": (
        lambda s, t, ids: s.add_vote(
            t, ids["approval"], expected_version=2, vote=VOTE, to_status=ApprovalStatus.APPROVED
        ),
        "approval_unknown",
    ),
    "set_approval_status": (
        lambda s, t, ids: s.set_approval_status(
            t, ids["approval"], expected_version=2, to_status=ApprovalStatus.REVOKED, reason=""
        ),
        "approval_unknown",
    ),
    "claim run": (lambda s, t, ids: s.claim(claim_of(tenant_id=t, run_id="run-2")), "run_unknown"),
    "claim approval": (
        lambda s, t, ids: s.claim(claim_of(tenant_id=t, approval_id=ids["approval"], approval_version=2)),
        "approval_unknown",
    ),
    "settle": (
        lambda s, t, ids: s.settle(t, **EFFECT, fencing=1, owner="worker-1", status=EffectStatus.COMMITTED),
        "effect_unknown",
    ),
    "reconcile": (
        lambda s, t, ids: s.reconcile(
            t,
            **EFFECT,
            expected_version=1,
            outcome=ReconcileOutcome.COMMITTED,
            evidence_ref="e",
            reconciled_by="mira",
        ),
        "effect_unknown",
    ),
}


@pytest.fixture
def ids(store: Store) -> dict[str, str]:
    """One of everything in the tenant `acme`; `globex` has `run-1` and nothing else."""
    store.create_run(run_record("run-2"))
    asked = store.request_approval(approval_request(action_digest=OTHER_ACTION), max_wait_ms=10_000)
    store.add_vote(TENANT, asked.approval_id, expected_version=1, vote=VOTE, to_status=ApprovalStatus.REJECTED)
    granted = approved(store)
    store.claim(claim_of())
    return {"approval": granted.approval_id}


def _everything(store: Store, ids: dict[str, str]) -> list[Any]:
    return [read(store, TENANT, ids) for read, _ in READS.values()]


@pytest.mark.parametrize("name", READS)
def test_read_in_another_tenant_finds_nothing(store: Store, ids: dict[str, str], name: str) -> None:
    read, nothing = READS[name]
    assert read(store, OTHER, ids) == nothing
    assert read(store, TENANT, ids) != nothing


@pytest.mark.parametrize("name", WRITES)
def test_write_in_another_tenant_finds_nothing_to_change(store: Store, ids: dict[str, str], name: str) -> None:
    write, code = WRITES[name]
    before = _everything(store, ids)
    assert error_code(lambda: write(store, OTHER, ids)) == code
    assert _everything(store, ids) == before


@pytest.mark.parametrize("name", [*READS, *WRITES])
@pytest.mark.parametrize("tenant", ["", " ", None, 1, "acme\x00"])
def test_call_without_a_tenant_is_refused(store: Store, ids: dict[str, str], name: str, tenant: Any) -> None:
    call = READS[name][0] if name in READS else WRITES[name][0]
    with pytest.raises(InputError):
        call(store, tenant, ids)


def test_same_keys_in_two_tenants_are_two_effects(store: Store, ids: dict[str, str]) -> None:
    theirs = store.claim(claim_of(tenant_id=OTHER, action_digest=OTHER_ACTION)).effect
    assert theirs.attempt == 1
    assert store.effects(OTHER) == [theirs]
    ours = store.idempotency(TENANT, **KEY, idempotency_key="key-1")
    assert ours is not None
    assert ours.action_digest == ACTION
