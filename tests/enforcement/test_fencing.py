"""A worker that is paused with a claim in its hand, and wakes up in a world that went on without it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from desk_support import REASON, TENANT, Desk, desk_copy, desk_point, refund_of
from enforcement_support import error_code

from gate.enforcement import EffectNotStarted
from gate.evidence import Run

SPAWN = multiprocessing.get_context("spawn")


def claim_and_sleep(bundle: str, url: str, run: Run, told: Any) -> None:
    """Body of a spawned process: claims, is stopped by its own signal, and goes on when it is woken."""
    desk = Desk.open(desk_point(Path(bundle)), url)
    arguments = refund_of(2500, "ch-1")
    codes = {}

    def work() -> None:
        options = {"idempotency_key": "key-1", "reason": REASON}
        with desk.gate.tool_call(run, "issue_refund", arguments, **options) as call:
            token = call.token
            told.put("claimed")
            os.kill(os.getpid(), signal.SIGSTOP)
            codes["dispatch"] = error_code(
                lambda: desk.gate.verify_call(token, tenant_id=TENANT, capability="issue_refund", arguments=arguments)
            )
            if codes["dispatch"]:
                raise EffectNotStarted("the tool refused")
            call.complete({"refund": "from the grave"})

    codes["settle"] = error_code(work)
    told.put(codes)
    desk.store.close()


@pytest.mark.parametrize("outcome", ["committed", "not_committed"])
def test_worker_that_wakes_after_its_effect_was_reconciled_neither_starts_nor_settles(
    repo: Path, tmp_path: Path, outcome: str
) -> None:
    bundle = desk_copy(repo, tmp_path, ("capabilities.yaml", "timeout_seconds: 10", "timeout_seconds: 1"))
    url = f"sqlite:///{tmp_path / 'records.sqlite'}"
    desk, told = Desk.open(desk_point(bundle), url), SPAWN.Queue()
    worker = SPAWN.Process(target=claim_and_sleep, args=(str(bundle), url, desk.run, told))
    worker.start()
    assert told.get(timeout=120) == "claimed"
    (effect,) = desk.store.effects(TENANT)
    # While the lease lasts nobody may say what became of it, and at no age does it become a go by itself.
    assert desk.refund(2500, "ch-1", key="key-1")[0] == "blocked_on_reconciliation"
    while desk.store.now_ms() <= effect.lease_expires_at_ms:
        time.sleep(0.1)
    assert desk.refund(2500, "ch-1", key="key-1")[0] == "blocked_on_reconciliation"
    desk.gate.reviews.reconcile(
        effect, outcome=outcome, evidence_ref="billing:search", reconciled_by="ops", owner_fenced=True
    )
    os.kill(worker.pid or 0, signal.SIGCONT)
    codes = told.get(timeout=60)
    worker.join(30)
    assert codes == {"dispatch": "claim_fenced", "settle": "side_effect_unknown"}
    (settled,) = desk.store.effects(TENANT)
    expected = "side_effect_committed" if outcome == "committed" else "failed_before_effect"
    assert (str(settled.status), settled.receipt, settled.late_receipt) == (expected, None, None)
    assert desk.store.verify_run(TENANT, desk.run.run_id) == 3
    desk.store.close()


def test_no_age_turns_an_unknown_or_committed_effect_back_into_a_go(repo: Path, tmp_path: Path) -> None:
    now = [1_780_315_200_000]
    desk = Desk.open(
        desk_point(desk_copy(repo, tmp_path)), f"sqlite:///{tmp_path / 'records.sqlite'}", clock_ms=lambda: now[0]
    )
    assert desk.refund(10, "ch-done") == ("allow", "configured_allow")
    assert desk.refund(10, "ch-lost", fails=TimeoutError()) == ("TimeoutError",)
    ten_years = 10 * 366 * 86_400_000
    for _ in range(3):
        now[0] += ten_years
        assert desk.refund(10, "ch-done") == ("receipt", "ch-done")
        assert desk.refund(10, "ch-done", key="fresh")[0] == "deny"
        assert desk.refund(10, "ch-lost")[0] == "blocked_on_reconciliation"
        assert desk.refund(10, "ch-lost", key="fresh")[0] == "blocked_on_reconciliation"
    assert desk.paid == [10]
    desk.store.close()
