from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from records_support import EFFECT, TENANT, Place, approved, at_once, claim_of, error_code, raw, run_record, url
from sqlalchemy import create_engine, inspect

from gate.errors import StoreError
from gate.records import EffectStatus, Store
from gate.records.migrations import LATEST
from gate.records.tables import METADATA


def _code_of_open(address: str, **options: Any) -> str:
    with pytest.raises(StoreError) as caught:
        Store.open(address, **options)
    assert caught.value.hint != ""
    return caught.value.code


def test_store_opened_anew_has_the_latest_schema_and_safe_settings(path: Path) -> None:
    with Store.open(url(path)) as store:
        assert store.schema_version() == LATEST
        with store._database.read() as tx:
            found = {
                name: tx.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000}


def test_store_opened_again_keeps_its_records(fresh_place: Place) -> None:
    with Store.open(fresh_place.url) as store:
        store.create_run(run_record())
    with Store.open(fresh_place.url) as store:
        assert store.run(TENANT, "run-1") == run_record()
    assert fresh_place.raw("SELECT count(*) FROM schema_version") == [(LATEST,)]


def test_store_opened_by_twenty_threads_at_once_is_made_once(fresh_place: Place) -> None:
    assert at_once(20, lambda _: Store.open(fresh_place.url).close()) == [""] * 20
    assert fresh_place.raw("SELECT version FROM schema_version ORDER BY version") == [
        (version,) for version in range(1, LATEST + 1)
    ]


def test_clock_is_the_time_of_day_in_milliseconds(store: Store) -> None:
    before = time.time_ns() // 1_000_000
    now = store.now_ms()
    assert before - 1 <= now <= time.time_ns() // 1_000_000 + 1


def test_columns_of_the_queries_are_those_of_the_migrated_database(store: Store, place: Place) -> None:
    found = inspect(create_engine(place.url))
    declared = {t.name: {c.name: c.nullable for c in t.columns} for t in METADATA.sorted_tables}
    migrated = {n: {c["name"]: c["nullable"] for c in found.get_columns(n)} for n in found.get_table_names()}
    assert migrated == declared


def test_every_key_of_the_database_starts_with_the_tenant(store: Store, place: Place) -> None:
    found = inspect(create_engine(place.url))
    keys = {
        (name, tuple(key))
        for name in found.get_table_names()
        if name != "schema_version"
        for key in (
            found.get_pk_constraint(name)["constrained_columns"],
            *(u["column_names"] for u in found.get_unique_constraints(name)),
            *(i["column_names"] for i in found.get_indexes(name)),
            *(f["constrained_columns"] for f in found.get_foreign_keys(name)),
        )
    }
    assert len(keys) > 15
    assert [key for key in keys if key[1][0] != "tenant_id"] == []


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg2://user:secret@host/db",
        "postgresql://user:secret@host",
        "postgresql://user:secret@host/db?options=-csynchronous_commit%3Doff",
        "postgresql://user:secret@host/db?options=-csearch_path%3Da%20-cfsync%3Doff",
        "postgresql://user:secret@host/db?service=other",
        "postgresql://user:secret@host/db?sslmode=a&sslmode=b",
        "mysql://host/db",
        "nonsense",
        "",
        "sqlite://host/db",
        "sqlite:////tmp/x?nolock=1",
        "sqlite:////tmp/x?mode=ro",
        "sqlite:///file:/tmp/x?mode=memory&uri=true",
        "sqlite:///file:/tmp/x?immutable=1&uri=true",
        "sqlite:///file:/tmp/x?mode=ro&mode=rw&uri=true",
    ],
)
def test_address_that_is_not_supported_is_refused_without_being_repeated(address: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(address)
    assert caught.value.code == "store_url_unsupported"
    assert "secret" not in str(caught.value)


def test_folder_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    assert _code_of_open(url(tmp_path / "none" / "records.sqlite")) == "store_unavailable"
    assert list(tmp_path.iterdir()) == []


def test_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    assert _code_of_open(url(tmp_path)) == "store_unavailable"


def test_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    garbage = b"# my notes\n" * 500
    path.write_bytes(garbage)
    assert _code_of_open(url(path)) == "store_corrupt"
    assert path.read_bytes() == garbage


def test_database_of_something_else_is_refused_and_left_alone(path: Path) -> None:
    raw(path, "CREATE TABLE customers (id)")
    assert _code_of_open(url(path)) == "store_foreign"
    assert raw(path, "SELECT name FROM sqlite_master") == [("customers",)]


def test_database_of_a_newer_gate_is_refused(store: Store, place: Place) -> None:
    place.raw("INSERT INTO schema_version VALUES (?, 0)", LATEST + 1)
    assert _code_of_open(place.url) == "store_schema_newer"
    assert error_code(store.schema_version) == "store_schema_newer"


def test_database_that_lost_its_version_is_refused(store: Store, place: Place) -> None:
    place.raw("DELETE FROM schema_version")
    assert _code_of_open(place.url) == "store_corrupt"


def test_damaged_page_is_refused(path: Path) -> None:
    with Store.open(url(path)) as store:
        store.create_run(run_record())
    data = bytearray(path.read_bytes())
    data[100:] = b"\xa5" * (len(data) - 100)
    path.write_bytes(data)
    assert _code_of_open(url(path)) == "store_corrupt"


def test_write_while_another_connection_holds_the_lock_is_refused_and_writes_nothing(path: Path) -> None:
    with Store.open(url(path), busy_timeout_ms=20) as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked") as caught:
            store.create_run(run_record())
        assert caught.value.code == "store_locked"
        assert store.run(TENANT, "run-1") is None
        holder.execute("ROLLBACK")
        holder.close()
        assert store.create_run(run_record()) == run_record()


def test_open_while_another_connection_holds_the_lock_of_a_new_file_is_refused(path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert _code_of_open(url(path), busy_timeout_ms=20) == "store_locked"
    holder.close()


def _read_only(path: Path) -> str:
    return f"sqlite:///file:{path}?mode=ro&uri=true"


def test_store_opened_for_reading_reads_and_refuses_every_write(sqlite_store: Store, path: Path) -> None:
    with Store.open(_read_only(path)) as reader:
        assert reader.run(TENANT, "run-1") == run_record()
        with pytest.raises(StoreError) as caught:
            reader.create_run(run_record("run-2"))
        assert caught.value.code == "store_read_only"
        assert sqlite_store.run(TENANT, "run-2") is None


def test_store_opened_for_reading_does_not_make_a_file_or_a_schema(path: Path) -> None:
    assert _code_of_open(_read_only(path)) == "store_unavailable"
    assert not path.exists()
    path.touch()
    assert _code_of_open(_read_only(path)) == "store_read_only"
    assert path.read_bytes() == b""


def test_database_that_only_reads_refuses_a_write(sqlite_store: Store) -> None:
    # Stands for a file system mounted read-only, which a test run as root cannot have otherwise.
    with sqlite_store._database.read() as tx:
        tx.exec_driver_sql("PRAGMA query_only = ON")
    with pytest.raises(StoreError) as caught:
        sqlite_store.create_run(run_record("run-2"))
    assert caught.value.code == "store_read_only"


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_file_without_write_permission_refuses_a_write(path: Path) -> None:
    Store.open(url(path)).close()
    path.chmod(stat.S_IRUSR)
    with pytest.raises(StoreError) as caught, Store.open(url(path)) as store:
        store.create_run(run_record())
    assert caught.value.code == "store_read_only"


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced", "folder deleted"])
def test_file_that_vanished_under_an_open_store_is_refused_and_not_made_anew(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    path = folder / "records.sqlite"
    with Store.open(url(path)) as store:
        if how == "folder deleted":
            shutil.rmtree(folder)
        elif how == "moved":
            path.rename(folder / "old.sqlite")
        elif how == "replaced":
            shutil.copy(path, folder / "copy.sqlite")
            (folder / "copy.sqlite").replace(path)
        else:
            path.unlink()
        calls = (lambda: store.create_run(run_record()), lambda: store.run(TENANT, "run-1"))
        assert [error_code(call) for call in calls] == ["store_unavailable"] * 2
        assert path.exists() == (how == "replaced")


def test_table_that_is_gone_is_an_error_of_the_store_without_values(store: Store, place: Place) -> None:
    place.raw("ALTER TABLE effects RENAME TO gone")
    with pytest.raises(StoreError) as caught:
        store.effect(TENANT, **{**EFFECT, "business_key": "patient Jane"})
    assert caught.value.code == "store_unavailable"
    assert "Jane" not in f"{caught.value}{caught.value.__cause__}"


def test_store_that_is_closed_refuses(place: Place) -> None:
    store = Store.open(place.url)
    store.close()
    store.close()
    assert error_code(store.now_ms) == "store_unavailable"


def test_store_in_memory_works_from_many_threads() -> None:
    with Store.open("sqlite://") as store:
        store.create_run(run_record())
        codes = at_once(20, lambda n: store.append_event(TENANT, "run-1", "x", {"n": n}))
        assert codes == [""] * 20
        assert store.verify_run(TENANT, "run-1") == 21


def test_two_stores_in_memory_are_apart() -> None:
    with Store.open("sqlite://") as one, Store.open("sqlite://") as two:
        one.create_run(run_record())
        assert two.run(TENANT, "run-1") is None


def test_failure_in_the_middle_of_a_claim_leaves_nothing_behind(store: Store, place: Place) -> None:
    granted = approved(store)
    events = store.events(TENANT, "run-1")
    # The last step of the claim fails: its event collides with one that is there already.
    place.raw(
        "INSERT INTO events SELECT tenant_id, run_id, 5, 'x', hash, event_type, payload, at_ms FROM events "
        "WHERE tenant_id = ? AND seq = 1",
        TENANT,
    )
    with pytest.raises(StoreError) as caught:
        store.claim(claim_of(granted))
    assert caught.value.code == "store_conflict"
    place.raw("DELETE FROM events WHERE prev_hash = 'x'")
    assert store.approval(TENANT, granted.approval_id) == granted
    assert store.effects(TENANT, status=EffectStatus.IN_FLIGHT) == []
    assert store.events(TENANT, "run-1") == events
    assert place.raw("SELECT count(*) FROM approval_consumptions") == [(0,)]
