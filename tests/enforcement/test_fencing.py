"""A worker that is paused with a claim in its hand, and wakes up in a world that went on without it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from desk_support import CALL_KEY, CALL_KEYS, REASON, TENANT, Desk, desk_copy, desk_point, refund_of
from enforcement_support import error_code
from new_store import new_store

from gate.enforcement import EffectNotStarted
from gate.enforcement.call_token import issue, read
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
            # A pipe: what is sent is on its way before the process is stopped, which a queue's thread does not promise.
            told.send("claimed")
            os.kill(os.getpid(), signal.SIGSTOP)
            said = read(token, CALL_KEYS)
            # Even a token that says it is still good does not help: the claim is another's by now.
            longer = issue(replace(said, expires_at_ms=said.expires_at_ms + 3_600_000), CALL_KEY)
            for name, text in (("dispatch", token), ("longer", longer)):
                codes[name] = error_code(
                    lambda text=text: desk.gate.verify_call(
                        text, tenant_id=TENANT, capability="issue_refund", arguments=arguments
                    )
                )
            if "" not in codes.values():
                raise EffectNotStarted("the tool refused")
            call.complete({"refund": "from the grave"})

    codes["settle"] = error_code(work)
    told.send(codes)
    desk.store.close()


@pytest.mark.parametrize("outcome", ["committed", "not_committed"])
def test_worker_that_wakes_after_its_effect_was_reconciled_neither_starts_nor_settles(
    repo: Path, tmp_path: Path, outcome: str
) -> None:
    bundle = desk_copy(repo, tmp_path, ("capabilities.yaml", "timeout_seconds: 10", "timeout_seconds: 1"))
    url = new_store(tmp_path / "records.sqlite")
    desk, (told, telling) = Desk.open(desk_point(bundle), url), SPAWN.Pipe(duplex=False)
    worker = SPAWN.Process(target=claim_and_sleep, args=(str(bundle), url, desk.run, telling))
    worker.start()
    assert told.poll(120)
    assert told.recv() == "claimed"
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
    assert told.poll(60)
    codes = told.recv()
    worker.join(30)
    assert codes == {"dispatch": "call_token_expired", "longer": "claim_fenced", "settle": "side_effect_unknown"}
    (settled,) = desk.store.effects(TENANT)
    expected = "side_effect_committed" if outcome == "committed" else "failed_before_effect"
    assert (str(settled.status), settled.receipt, settled.late_receipt) == (expected, None, None)
    assert desk.store.verify_run(TENANT, desk.run.run_id) == 3
    desk.store.close()


def test_no_age_turns_an_unknown_or_committed_effect_back_into_a_go(repo: Path, tmp_path: Path) -> None:
    now = [1_780_315_200_000]
    desk = Desk.open(
        desk_point(desk_copy(repo, tmp_path)), new_store(tmp_path / "records.sqlite"), clock_ms=lambda: now[0]
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
