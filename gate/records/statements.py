"""Statements that the two databases spell differently, as one call.

Opens no transaction and knows no table.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Connection, RowMapping, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_new(tx: Connection, table: Table, values: dict[str, Any], *returning: Column[Any]) -> RowMapping | None:
    """Inserts a row and returns the columns `returning` of it; None, and no row, when its key is taken.

    Waits for another transaction that is inserting the same key.
    """
    insert = postgresql.insert if tx.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table).values(values).on_conflict_do_nothing().returning(*(returning or table.c))
    return tx.execute(statement).mappings().one_or_none()
