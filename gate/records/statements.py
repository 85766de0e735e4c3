"""Inserting a row only when its key is free, which the two databases spell differently.

Opens no transaction and knows no table.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, RowMapping, Table
from sqlalchemy.dialects import postgresql, sqlite


class InsertNew:
    """One statement for both databases, built once; waits for another transaction that inserts the same key."""

    def __init__(self, table: Table, *returning: Column[Any], **computed: ColumnElement[Any]) -> None:
        columns = returning or tuple(table.c)
        self._statements = {
            name: insert(table).values(computed).on_conflict_do_nothing().returning(*columns)
            for name, insert in (("postgresql", postgresql.insert), ("sqlite", sqlite.insert))
        }

    def __call__(self, tx: Connection, values: dict[str, Any]) -> RowMapping | None:
        """The columns `returning` of the new row; None, and no row, when its key is taken."""
        return tx.execute(self._statements[tx.dialect.name], values).mappings().one_or_none()
