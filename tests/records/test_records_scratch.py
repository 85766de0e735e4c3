"""What a tenant has is copied as it is, into a store to play with, and nobody else's rows with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from records_support import OTHER, TENANT, Place, raw, run_record

from gate.errors import StoreError
from gate.records import NewTaskEvent, Store
from gate.records.tables import METADATA


def test_copy_holds_the_rows_of_the_tenant_as_they_are_and_no_others(
    store: Store, place: Place, tmp_path: Path
) -> None:
    store.create_run(run_record("run-2"))
    store.append_task_events(TENANT, "run-1", [NewTaskEvent(sequence=1, event_id="e", event_type="task", body="{}")])
    place.raw("UPDATE events SET payload = '{}' WHERE tenant_id = ? AND run_id = 'run-2'", TENANT)
    path = tmp_path / "copy.sqlite"
    with Store.open(f"sqlite:///{path}") as copy:
        counts = store.copy_tenant(TENANT, copy)
        assert {name: number for name, number in counts.items() if number} == {
            "constraint_versions": 1,
            "event_alterations": 1,
            "events": 3,
            "runs": 2,
            "task_events": 1,
        }
        assert copy.verify_run(TENANT, "run-1") == 2
        with pytest.raises(StoreError, match="breaks at event 1"):
            copy.verify_run(TENANT, "run-2")
        assert copy.run(OTHER, "run-1") is None
    for name in counts:
        columns = ", ".join(column.name for column in METADATA.tables[name].c)
        query = f"SELECT {columns} FROM {name} WHERE tenant_id = ?"
        assert sorted(raw(path, query, TENANT)) == sorted(place.raw(query, TENANT))


def test_copy_into_a_store_that_is_not_empty_changes_nothing_there(sqlite_store: Store, tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/copy.sqlite") as copy:
        sqlite_store.copy_tenant(TENANT, copy)
        with pytest.raises(StoreError):
            sqlite_store.copy_tenant(TENANT, copy)
        assert copy.verify_run(TENANT, "run-1") == 1
