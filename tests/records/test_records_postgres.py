"""What only a server can suffer: isolation, deadlock, full pools, lost answers, SIGKILL."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from threading import Event, Thread

import postgres_support
import pytest
import records_support as support
from proxy_support import Relay
from records_support import ACTION, EFFECT, TENANT, Place, approved, at_once, claim_of, error_code, run_record
from sqlalchemy import make_url

from gate.errors import StoreError
from gate.records import ISOLATION_LEVELS, EffectStatus, Store

SPAWN = multiprocessing.get_context("spawn")
ROUNDS = int(os.environ.get("GATE_TEST_CLAIM_ROUNDS", "5"))
PROCESSES, THREADS = 4, 20


def test_settings_of_a_connection_are_durable_whatever_the_server_says(postgres: Place) -> None:
    with Store.open(postgres.url) as store:
        names = ("synchronous_commit", "lock_timeout", "transaction_isolation", "transaction_read_only")

        def settings(tx: object) -> list[str]:
            return [tx.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names]  # type: ignore[attr-defined]

        assert store._database.reading(settings) == ["on", "5s", "repeatable read", "on"]
        assert store._database.writing(settings) == ["on", "5s", "read committed", "off"]


@pytest.mark.parametrize("isolation", ISOLATION_LEVELS)
def test_writes_have_the_isolation_that_was_asked_for(postgres: Place, isolation: str) -> None:
    with Store.open(postgres.url, isolation=isolation) as store:
        found = store._database.writing(lambda tx: tx.exec_driver_sql("SHOW transaction_isolation").scalar_one())
    assert found == isolation.lower()


def test_isolation_that_is_not_offered_is_refused(sqlite: Place) -> None:
    assert error_code(lambda: Store.open(sqlite.url, isolation="READ UNCOMMITTED")) == "record_field_invalid"


@pytest.mark.parametrize("isolation", ISOLATION_LEVELS)
@pytest.mark.parametrize("shared", ["approval", "effect"])
def test_b4_twenty_threads_in_runs_of_their_own_get_one_claim(place: Place, isolation: str, shared: str) -> None:
    with Store.open(place.url, isolation=isolation, busy_timeout_ms=60_000) as store:
        for number in range(20):
            store.create_run(run_record(f"run-{number}"))
        granted = approved(store) if shared == "approval" else None

        def call(number: int) -> None:
            own = {"business_key": f"order-{number}"} if granted else {}
            fields = {"run_id": f"run-{number}", "owner": f"w-{number}", "idempotency_key": f"key-{number}", **own}
            store.claim(claim_of(granted, **fields))

        lost = "approval_consumed" if granted else "claim_lost"
        assert sorted(at_once(20, call)) == ["", *[lost] * 19]
        assert len(store.effects(TENANT)) == 1
        assert all(state.sound for state in store.inspect_chains())


@pytest.mark.parametrize("isolation", ISOLATION_LEVELS)
def test_runs_that_use_each_others_approvals_do_not_deadlock(place: Place, isolation: str) -> None:
    with Store.open(place.url, isolation=isolation, busy_timeout_ms=60_000) as store:
        for number in range(4):
            store.create_run(run_record(f"run-{number}"))
        digests = ["sha256:" + f"{n}" * 64 for n in range(4)]
        granted = [approved(store, run_id=f"run-{n}", action_digest=digests[n]) for n in range(4)]

        def call(number: int) -> None:
            other = (number + 1) % 4
            key = f"key-{number}"
            wanted = claim_of(granted[other], action_digest=digests[other], run_id=f"run-{number}")
            store.claim(support.replace(wanted, business_key=key, idempotency_key=key, owner=key))

        assert at_once(4, call) == [""] * 4
        assert all(state.sound for state in store.inspect_chains())


def test_many_runs_that_ask_for_the_same_approval_share_one(place: Place) -> None:
    with Store.open(place.url, busy_timeout_ms=60_000) as store:
        for number in range(10):
            store.create_run(run_record(f"run-{number}"))
        ask = lambda n: store.request_approval(support.approval_request(run_id=f"run-{n}"), max_wait_ms=support.HOUR)  # noqa: E731
        assert at_once(10, ask) == [""] * 10
        assert len(store.approvals(TENANT)) == 1


def test_deadlock_with_a_stranger_is_survived(postgres: Place) -> None:
    with Store.open(postgres.url, busy_timeout_ms=20_000) as store:
        store.create_run(run_record())
        store.claim(claim_of())
        with contextlib.closing(postgres_support.connect(postgres.url)) as stranger:
            stranger.autocommit = False
            # Locks in the other order: the effect first, then the run that the gate holds by then.
            stranger.execute("UPDATE effects SET attempt = attempt")
            done: list[str] = []
            settled = {"fencing": 1, "owner": "worker-1", "status": EffectStatus.COMMITTED}
            settler = Thread(target=lambda: done.append(error_code(lambda: store.settle(TENANT, **EFFECT, **settled))))
            settler.start()
            _wait_for_lock(postgres)
            with contextlib.suppress(Exception):
                stranger.execute("UPDATE runs SET version = version")
            stranger.rollback()
            settler.join()
        assert done == [""]
        assert [state.sound for state in store.inspect_chains()] == [True]


def _wait_for_lock(postgres: Place) -> None:
    deadline = time.monotonic() + 30
    while not postgres.raw("SELECT 1 FROM pg_locks WHERE NOT granted"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_row_locked_by_a_stranger_is_refused_after_the_busy_timeout(postgres: Place) -> None:
    with Store.open(postgres.url, busy_timeout_ms=50) as store:
        store.create_run(run_record())
        with contextlib.closing(postgres_support.connect(postgres.url)) as stranger:
            stranger.autocommit = False
            stranger.execute("SELECT 1 FROM runs FOR UPDATE")
            assert error_code(lambda: store.claim(claim_of())) == "store_locked"
            # A read waits for nobody.
            assert store.run(TENANT, "run-1") == run_record()
        assert error_code(lambda: store.claim(claim_of())) == ""


def test_contention_that_does_not_end_is_refused_with_its_code(postgres: Place) -> None:
    with Store.open(postgres.url, busy_timeout_ms=50, isolation="REPEATABLE READ") as store:
        store.create_run(run_record())

        def disturbed(tx: object) -> None:
            tx.exec_driver_sql("SELECT 1 FROM runs")  # type: ignore[attr-defined]
            postgres.raw("UPDATE runs SET version = version + 1")
            tx.exec_driver_sql("SELECT 1 FROM runs FOR UPDATE")  # type: ignore[attr-defined]

        assert error_code(lambda: store._database.writing(disturbed)) == "store_contended"


def test_pool_without_a_free_connection_is_refused(postgres: Place) -> None:
    with Store.open(postgres.url, busy_timeout_ms=50, pool_size=2) as store:
        store.create_run(run_record())
        inside, leave = threading.Barrier(3), Event()

        def hold() -> None:
            with store._database.read():
                inside.wait(60)
                leave.wait(60)

        holders = [Thread(target=hold) for _ in range(2)]
        for holder in holders:
            holder.start()
        inside.wait(60)
        assert error_code(lambda: store.claim(claim_of())) == "store_busy"
        leave.set()
        for holder in holders:
            holder.join()
        assert error_code(lambda: store.claim(claim_of())) == ""


def test_server_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(f"postgresql://someone:secret@/db?host={tmp_path}")
    assert caught.value.code == "store_unavailable"
    assert "secret" not in f"{caught.value}{caught.value.__cause__}{caught.value.__context__}"


def test_database_that_is_not_there_is_refused(postgres: Place) -> None:
    address = make_url(postgres.url).set(database="nowhere")
    with pytest.raises(StoreError, match=r"the database does not exist|cannot be reached") as caught:
        Store.open(postgres_support.str_url(address))
    assert caught.value.code == "store_unavailable"


def test_database_in_another_encoding_is_refused(postgres: Place) -> None:
    name = f"gate_ascii_{os.getpid()}"
    server = make_url(postgres.url)
    create = f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    postgres.raw(create)
    try:
        address = postgres_support.str_url(server.set(database=name).difference_update_query(["options"]))
        assert error_code(lambda: Store.open(address)) == "store_encoding_unsupported"
    finally:
        postgres.raw(f"DROP DATABASE {name}")


def test_error_of_the_server_that_quotes_a_row_is_not_passed_on(postgres: Place) -> None:
    with Store.open(postgres.url) as store:
        store.create_run(run_record())
        postgres.raw("ALTER TABLE effects ADD CONSTRAINT no CHECK (business_key <> 'patient Jane') NOT VALID")
        try:
            with pytest.raises(StoreError) as caught:
                store.claim(claim_of(business_key="patient Jane"))
        finally:
            postgres.raw("ALTER TABLE effects DROP CONSTRAINT no")
    assert caught.value.__suppress_context__
    assert "Jane" not in f"{caught.value}{caught.value.__cause__}"


def test_c1_lost_answer_to_a_commit_counts_as_claimed(postgres: Place) -> None:
    address = make_url(postgres.url)
    if "host" not in address.query:
        postgres_support.missing("the relay needs a server on a unix socket")
    with Relay.before(address) as (relay, through), Store.open(postgres_support.str_url(through)) as store:
        store.create_run(run_record())
        granted = approved(store)
        relay.armed.set()
        assert error_code(lambda: store.claim(claim_of(granted))) == "store_commit_unknown"
        found = store.effect(TENANT, **EFFECT)
        assert found is not None
        assert (found.status, found.owner) == (EffectStatus.IN_FLIGHT, "worker-1")
        assert error_code(lambda: store.claim(claim_of(granted))) == "approval_consumed"
        assert error_code(lambda: store.claim(claim_of())) == "claim_lost"


def test_connection_that_died_while_it_was_idle_is_replaced_without_a_word(postgres: Place) -> None:
    with Store.open(postgres.url) as store:
        store.create_run(run_record())
        postgres.raw("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        assert store.run(TENANT, "run-1") == run_record()
        postgres.raw("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        assert store.claim(claim_of()).effect.status is EffectStatus.IN_FLIGHT


def test_eighty_claims_of_one_approval_from_four_processes_have_one_winner(place: Place) -> None:
    with Store.open(place.url, busy_timeout_ms=60_000) as store:
        store.create_run(run_record())
        questions = [SPAWN.Queue() for _ in range(PROCESSES)]
        answers = SPAWN.Queue()
        arguments = [(place.url, THREADS, question, answers) for question in questions]
        workers = [SPAWN.Process(target=support.claim_each_from_threads, args=a, daemon=True) for a in arguments]
        for worker in workers:
            worker.start()
        found: Counter[str] = Counter()
        for number in range(ROUNDS):
            granted = approved(store, action_digest="sha256:" + f"{number:064x}")
            for question in questions:
                question.put(granted)
            codes = [code for _ in workers for code in answers.get(timeout=120)]
            assert codes.count("") == 1, Counter(codes)
            found.update(codes)
        for question in questions:
            question.put(None)
        for worker in workers:
            worker.join(60)
        assert found == {"": ROUNDS, "approval_consumed": ROUNDS * (PROCESSES * THREADS - 1)}
        assert len(store.effects(TENANT)) == ROUNDS
        assert all(state.sound for state in store.inspect_chains())


def test_b5_server_killed_under_load_loses_nothing_that_it_confirmed() -> None:
    with postgres_support.Server.running() as server:
        address = postgres_support.str_url(server.url)
        with Store.open(address, busy_timeout_ms=2_000) as store:
            for number in range(4):
                store.create_run(run_record(f"run-{number}"))
            won: set[str] = set()
            codes: Counter[str] = Counter()
            stop = Event()

            def load(worker: int) -> None:
                for number in range(1_000_000):
                    if stop.is_set():
                        return
                    key = f"order-{worker}-{number}"
                    wanted = claim_of(run_id=f"run-{worker}", business_key=key, idempotency_key=key, owner=key)
                    code = error_code(lambda w=wanted: store.claim(w))
                    codes[code] += 1
                    if code == "":
                        won.add(key)
                    time.sleep(0.001 if code == "" else 0.02)

            workers = [Thread(target=load, args=(n,)) for n in range(4)]
            for worker in workers:
                worker.start()
            try:
                for _ in range(3):
                    _until(codes, "", more=30)
                    server.kill()
                    _until(codes, "store_unavailable", more=4)
                    server.start()
                _until(codes, "", more=30)
            finally:
                stop.set()
                for worker in workers:
                    worker.join()
            assert set(codes) <= {"", "store_unavailable", "store_commit_unknown"}
            recorded = {effect.business_key for effect in store.effects(TENANT)}
            assert won - recorded == set()
            # What nobody confirmed may be recorded, and then it is in flight and blocks.
            assert len(recorded - won) <= codes["store_commit_unknown"]
            assert {effect.status for effect in store.effects(TENANT)} == {EffectStatus.IN_FLIGHT}
            assert all(state.sound for state in store.inspect_chains())


def _until(codes: Counter[str], code: str, *, more: int) -> None:
    wanted, deadline = codes[code] + more, time.monotonic() + 60
    while codes[code] < wanted:
        assert time.monotonic() < deadline, codes
        time.sleep(0.01)


def test_copy_made_by_pg_dump_is_restored_whole(postgres: Place, tmp_path: Path) -> None:
    folder = postgres_support.binaries()
    if folder is None or not (folder / "pg_dump").exists():
        postgres_support.missing("pg_dump and pg_restore are not installed")
    with Store.open(postgres.url) as store:
        store.create_run(run_record())
        store.claim(claim_of(approved(store)))
        before = (store.events(TENANT, "run-1"), store.effects(TENANT), store.approvals(TENANT))
    server, name = make_url(postgres.url), f"gate_restored_{os.getpid()}"
    schema = str(server.query["options"]).partition("=")[2]
    plain = server.set(drivername="postgresql").difference_update_query(["options"])
    copy = tmp_path / "copy.dump"
    dump = ["--format=custom", f"--schema={schema}", f"--file={copy}", postgres_support.str_url(plain)]
    subprocess.run([folder / "pg_dump", *dump], check=True)
    postgres.raw(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
    try:
        restored = postgres_support.str_url(plain.set(database=name))
        subprocess.run([folder / "pg_restore", "--exit-on-error", f"--dbname={restored}", copy], check=True)
        with Store.open(postgres_support.str_url(server.set(database=name)), migrate=False) as store:
            assert (store.events(TENANT, "run-1"), store.effects(TENANT), store.approvals(TENANT)) == before
            assert [state.sound for state in store.inspect_chains()] == [True]
            assert error_code(lambda: store.claim(claim_of(action_digest=ACTION))) == "claim_lost"
    finally:
        postgres.raw(f"DROP DATABASE {name}")
