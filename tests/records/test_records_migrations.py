from __future__ import annotations

import multiprocessing

import pytest
from records_support import Place, at_once, error_code, run_record

from gate.records import Store, migrations
from gate.records.migrations import LATEST, MIGRATIONS

SPAWN = multiprocessing.get_context("spawn")


def _migrated_to(place: Place, version: int) -> None:
    """Leaves the database as the gate of that version did."""
    place.raw("CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_at_ms BIGINT NOT NULL)")
    for migration in MIGRATIONS[:version]:
        for statement in migration.statements_for("postgresql" if place.is_postgres else "sqlite"):
            place.raw(statement)
        place.raw("INSERT INTO schema_version VALUES (?, 0)", migration.version)


def _open(address: str, codes: object) -> None:
    """Body of a spawned process."""
    codes.put(error_code(lambda: Store.open(address).close()))  # type: ignore[attr-defined]


def test_versions_count_up_from_one_without_a_gap() -> None:
    assert [migration.version for migration in MIGRATIONS] == list(range(1, LATEST + 1))


@pytest.mark.parametrize("version", range(1, LATEST))
def test_store_of_an_older_gate_is_brought_up_and_keeps_its_records(fresh_place: Place, version: int) -> None:
    _migrated_to(fresh_place, version)
    run = run_record()
    names = ("tenant_id", "run_id", "agent_id", "principal_id", "session_id", "trace_id", "authorization_mode")
    fresh_place.raw(
        f"INSERT INTO runs ({', '.join(names)}, delegated_principal_id, delegated_scope, status, status_reason, "
        "version, head_seq, head_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', '', 1, 0, 'x')",
        *(getattr(run, name) for name in names),
        *(run.delegated_principal_id, run.delegated_scope),
    )
    assert error_code(lambda: Store.open(fresh_place.url, migrate=False)) == "store_schema_older"
    with Store.open(fresh_place.url) as store:
        assert (store.migrated, store.schema_version()) == ((version, LATEST), LATEST)
        assert store.run(run.tenant_id, run.run_id) == run
    with Store.open(fresh_place.url, migrate=False) as store:
        assert store.migrated == (LATEST, LATEST)


def test_new_database_is_not_migrated_against_the_callers_will(fresh_place: Place) -> None:
    assert error_code(lambda: Store.open(fresh_place.url, migrate=False)) == "store_schema_older"


def test_step_that_fails_is_undone_whole(fresh_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = migrations.Migration(
        LATEST + 1, "broken", ("CREATE TABLE half (a BIGINT)", "CREATE TABLE half (a BIGINT)")
    )
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, broken))
    monkeypatch.setattr(migrations, "LATEST", LATEST + 1)
    assert error_code(lambda: Store.open(fresh_place.url)) == "store_unavailable"
    monkeypatch.undo()
    with Store.open(fresh_place.url, migrate=False) as store:
        assert store.schema_version() == LATEST
    assert error_code(lambda: fresh_place.raw("CREATE TABLE half (a BIGINT)")) == ""


def test_four_processes_that_migrate_at_once_take_each_step_once(fresh_place: Place) -> None:
    codes = SPAWN.Queue()
    workers = [SPAWN.Process(target=_open, args=(fresh_place.url, codes)) for _ in range(4)]
    for worker in workers:
        worker.start()
    assert [codes.get(timeout=120) for _ in workers] == [""] * 4
    for worker in workers:
        worker.join(60)
    assert fresh_place.raw("SELECT version FROM schema_version ORDER BY version") == [(n + 1,) for n in range(LATEST)]


def test_threads_that_migrate_an_older_store_take_each_step_once(fresh_place: Place) -> None:
    _migrated_to(fresh_place, 1)
    assert at_once(8, lambda _: Store.open(fresh_place.url, busy_timeout_ms=60_000).close()) == [""] * 8
