"""What one tenant has in a store, written into a new SQLite store: to be played with where nobody works.

Reads the source in one snapshot and changes nothing of it; no other tenant's row is read. It is no backup: a restored
one would claim effects anew that other tenants, or a later time, know of.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from sqlalchemy import insert, select

from gate.records.database import Database
from gate.records.tables import METADATA, SCHEMA_VERSION

_ROWS_AT_ONCE = 1000


def copy_tenant(source: Database, target: Database, tenant_id: str) -> dict[str, int]:
    """Copies every row of the tenant as it is into the empty, migrated `target`; how many rows of each table.

    Raises `StoreError` for a source that cannot be read whole, and for rows that no gate would have written.
    """
    with source.read() as rows, target.write() as tx:
        # Rows come table by table, whatever refers to what; all that is referred to has to be there in the end.
        tx.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        copied = {}
        for table in METADATA.sorted_tables:
            if table is SCHEMA_VERSION:
                continue
            query = select(table).where(table.c.tenant_id == tenant_id)
            found = rows.execute(query, execution_options={"yield_per": _ROWS_AT_ONCE}).mappings()
            copied[table.name] = sum(_write(tx, table, part) for part in _parts(found))
        return copied


def _write(tx: Any, table: Any, rows: list[dict[str, Any]]) -> int:
    tx.execute(insert(table), rows)
    return len(rows)


def _parts(rows: Iterable[Any]) -> Iterable[list[dict[str, Any]]]:
    found = iter(rows)
    while part := [dict(row) for row in islice(found, _ROWS_AT_ONCE)]:
        yield part
