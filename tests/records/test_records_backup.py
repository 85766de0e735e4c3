from __future__ import annotations

import shutil
from pathlib import Path
from threading import Event, Thread

import pytest
from records_support import EFFECT, TENANT, Place, approved, claim_of, error_code, run_record, url

from gate.records import EffectStatus, GateKey, PublicKey, Store, generate_key


def test_backup_restored_in_the_place_of_the_store_has_every_record(sqlite_store: Store, path: Path) -> None:
    sqlite_store.claim(claim_of(approved(sqlite_store)))
    before = (sqlite_store.events(TENANT, "run-1"), sqlite_store.effects(TENANT), sqlite_store.approvals(TENANT))
    copy = path.with_name("copy.sqlite")
    sqlite_store.backup(copy)
    assert copy.stat().st_mode & 0o777 == 0o600
    sqlite_store.close()
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    shutil.copy(copy, path)
    with Store.open(url(path), migrate=False) as store:
        assert (store.events(TENANT, "run-1"), store.effects(TENANT), store.approvals(TENANT)) == before
        assert [state.sound for state in store.inspect_chains()] == [True]
        assert error_code(lambda: store.claim(claim_of())) == "claim_lost"


def test_restored_store_that_forgot_a_claim_is_seen_by_a_later_head(sqlite_store: Store, path: Path) -> None:
    private, public = generate_key()
    copy = path.with_name("copy.sqlite")
    sqlite_store.backup(copy)
    sqlite_store.claim(claim_of())
    head = sqlite_store.sign_head(TENANT, "run-1", GateKey(key_id="k", private_key=private))
    with Store.open(url(copy)) as restored:
        assert restored.effect(TENANT, **EFFECT) is None
        keys = {"k": PublicKey(public_key=public)}
        assert error_code(lambda: restored.verify_head(head, keys)) == "event_chain_cut"


def test_backup_taken_under_load_is_one_moment(sqlite_store: Store, path: Path) -> None:
    stop = Event()

    def load() -> None:
        for number in range(100_000):
            if stop.is_set():
                return
            key = f"order-{number}"
            sqlite_store.claim(claim_of(business_key=key, idempotency_key=key, owner=key))

    worker = Thread(target=load)
    worker.start()
    try:
        for number in range(5):
            copy = path.with_name(f"copy-{number}.sqlite")
            sqlite_store.backup(copy)
            with Store.open(url(copy)) as store:
                assert [state.sound for state in store.inspect_chains()] == [True]
    finally:
        stop.set()
        worker.join()


def test_backup_does_not_overwrite_and_leaves_no_half_file(sqlite_store: Store, path: Path) -> None:
    assert error_code(lambda: sqlite_store.backup(path)) == "backup_exists"
    assert error_code(lambda: sqlite_store.backup(path.parent / "none" / "x")) == "backup_unwritable"
    sqlite_store.close()
    copy = path.with_name("copy.sqlite")
    assert error_code(lambda: sqlite_store.backup(copy)) == "store_unavailable"
    assert not copy.exists()


def test_backup_of_a_postgresql_store_names_the_tool_that_makes_one(postgres: Place, tmp_path: Path) -> None:
    with Store.open(postgres.url) as store:
        assert error_code(lambda: store.backup(tmp_path / "copy")) == "backup_unsupported"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("settled", [False, True])
def test_full_disk_refuses_with_a_code_and_loses_nothing(path: Path, settled: bool) -> None:
    with Store.open(url(path)) as store:
        store.create_run(run_record())
        first = store.claim(claim_of()).effect
        # The file may not grow any more, which is what SQLite sees of a full disk.
        with store._database.write() as tx:
            pages = tx.exec_driver_sql("PRAGMA page_count").scalar_one()
        _limit(store, pages)
        codes = set()
        for number in range(200):
            key = f"order-{number}-" + "x" * 1000
            codes.add(error_code(lambda k=key: store.claim(claim_of(business_key=k, idempotency_key=k, owner=k))))
        assert codes - {""} == {"store_unavailable"}
        recorded = len(store.effects(TENANT))
        assert all(state.sound for state in store.inspect_chains())
        _limit(store, 1_000_000)
        if settled:
            store.settle(TENANT, **EFFECT, fencing=first.fencing, owner=first.owner, status=EffectStatus.COMMITTED)
        store.claim(claim_of(business_key="after", idempotency_key="after"))
        assert len(store.effects(TENANT)) == recorded + 1
        assert all(state.sound for state in store.inspect_chains())


def _limit(store: Store, pages: int) -> None:
    with store._database.read() as tx:
        tx.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
