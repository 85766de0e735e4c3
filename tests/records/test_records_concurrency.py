from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import replace
from threading import Event, Thread

import records_support as support
from records_support import EFFECT, TENANT, Place, approved, at_once, claim_of, error_code, run_record

from gate.records import ApprovalStatus, EffectStatus, Store

SPAWN = multiprocessing.get_context("spawn")


def test_b4_twenty_threads_with_one_approval_get_one_claim(store: Store) -> None:
    granted = approved(store)
    # Each thread asks for an effect of its own, so that only the approval stands between them.
    codes = at_once(20, lambda n: store.claim(claim_of(granted, owner=f"w-{n}", business_key=f"order-{n}")))
    assert sorted(codes) == ["", *["approval_consumed"] * 19]
    assert len(store.effects(TENANT)) == 1


def test_b4_twenty_threads_with_one_effect_get_one_claim(store: Store) -> None:
    codes = at_once(20, lambda n: store.claim(claim_of(owner=f"w-{n}")))
    assert sorted(codes) == ["", *["claim_lost"] * 19]
    assert store.verify_run(TENANT, "run-1") == 2


def test_twenty_threads_that_retry_a_failed_effect_get_one_claim(store: Store) -> None:
    store.claim(claim_of())
    store.settle(TENANT, **EFFECT, fencing=1, owner="worker-1", status=EffectStatus.FAILED_BEFORE_EFFECT)
    codes = at_once(20, lambda n: store.claim(claim_of(owner=f"w-{n}", effect_version=2)))
    assert sorted(codes) == ["", *["claim_lost"] * 19]


def test_b4_two_processes_of_ten_threads_with_one_approval_get_one_claim(store: Store, place: Place) -> None:
    granted = approved(store)
    answers = SPAWN.Queue()
    workers = [SPAWN.Process(target=support.claim_from_threads, args=(place.url, granted, 10, answers)) for _ in "ab"]
    for worker in workers:
        worker.start()
    codes = [code for _ in workers for code in answers.get(timeout=120)]
    for worker in workers:
        worker.join(60)
    assert sorted(codes) == ["", *["approval_consumed"] * 19]
    assert len(store.effects(TENANT)) == 1


def test_b4_two_processes_of_ten_threads_with_one_effect_get_one_claim(store: Store, place: Place) -> None:
    answers = SPAWN.Queue()
    workers = [SPAWN.Process(target=support.claim_effect_from_threads, args=(place.url, 10, answers)) for _ in "ab"]
    for worker in workers:
        worker.start()
    codes = [code for _ in workers for code in answers.get(timeout=120)]
    for worker in workers:
        worker.join(60)
    assert sorted(codes) == ["", *["claim_lost"] * 19]


def test_b5_process_killed_between_claim_and_settlement_leaves_the_approval_spent(place: Place) -> None:
    with Store.open(place.url) as store:
        store.create_run(run_record())
        granted = approved(store)
    claimed = SPAWN.Event()
    worker = SPAWN.Process(target=support.claim_and_hang, args=(place.url, granted, claimed), daemon=True)
    worker.start()
    assert claimed.wait(120)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    worker.join(60)
    assert worker.exitcode == -signal.SIGKILL
    with Store.open(place.url) as store:
        found = store.effect(TENANT, **EFFECT)
        assert found is not None
        assert (found.status, found.receipt) == (EffectStatus.IN_FLIGHT, None)
        spent = store.approval(TENANT, granted.approval_id)
        assert spent == replace(granted, status=ApprovalStatus.CONSUMED, version=granted.version + 1)
        again = [claim_of(granted), claim_of(granted, business_key="order-2", idempotency_key="key-2")]
        assert [error_code(lambda c=c: store.claim(c)) for c in again] == ["approval_consumed"] * 2
        assert error_code(lambda: store.claim(claim_of(effect_version=found.version))) == "claim_lost"
        assert store.verify_run(TENANT, "run-1") == 5


def _in_forked_child(body: object) -> str:
    """The error code of `body()` run in a forked child; empty when it returned."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write_end, error_code(body).encode() or b"-")
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as answers:
        answer = answers.read().decode()
    os.waitpid(pid, 0)
    return answer.replace("-", "", 1) if answer == "-" else answer or "died"


def test_claim_in_a_forked_child_is_seen_by_the_parent_and_wins_once(store: Store) -> None:
    assert _in_forked_child(lambda: store.claim(claim_of(owner="child"))) == ""
    assert error_code(lambda: store.claim(claim_of())) == "claim_lost"
    found = store.effect(TENANT, **EFFECT)
    assert found is not None
    assert found.owner == "child"


def test_records_of_a_forked_child_survive_the_parent_closing_first(place: Place) -> None:
    # A fork copies SQLite's own view of its locks: the parent, last to close as it believes, would delete the log
    # that the child still writes to.
    store = Store.open(place.url)
    store.create_run(run_record())
    closed_read, closed_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            store.now_ms()
            os.read(closed_read, 1)
            store.claim(claim_of(owner="child"))
            code = 0
        finally:
            os._exit(code)
    store.now_ms()
    store.close()
    os.write(closed_write, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    for end in (closed_read, closed_write):
        os.close(end)
    with Store.open(place.url) as again:
        found = again.effect(TENANT, **EFFECT)
    assert found is not None
    assert found.owner == "child"


def test_store_in_memory_is_refused_in_a_forked_child() -> None:
    with Store.open("sqlite://") as store:
        store.create_run(run_record())
        assert _in_forked_child(lambda: store.claim(claim_of())) == "store_unavailable"
        assert error_code(lambda: store.claim(claim_of())) == ""


def test_store_forked_in_the_middle_of_a_transaction_is_refused_in_the_child(place: Place) -> None:
    with Store.open(place.url, busy_timeout_ms=50) as store:
        store.create_run(run_record())
        inside, leave = Event(), Event()

        def hold() -> None:
            with store._database.write():
                inside.set()
                leave.wait(60)

        holder = Thread(target=hold)
        holder.start()
        inside.wait(60)
        code = _in_forked_child(lambda: store.claim(claim_of()))
        leave.set()
        holder.join()
        assert code == "store_unavailable"
        assert error_code(lambda: store.claim(claim_of())) == ""
