"""What the two databases spell differently: inserting a row only when its key is free, two changes in one round trip.

Opens no transaction and knows no table.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Insert,
    RowMapping,
    Table,
    Update,
    bindparam,
    func,
    select,
)
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


class InsertAndUpdate:
    """An INSERT and an UPDATE, for PostgreSQL as one statement: a round trip to a server costs more than a row.

    The parameters of both have different names, as `bindparam` in each.
    """

    def __init__(self, insert: Insert, update: Update) -> None:
        self._apart = (insert, update)
        self._together = update.add_cte(insert.cte("inserted"))

    def __call__(self, tx: Connection, values: dict[str, Any]) -> None:
        """Does both."""
        for statement in (self._together,) if tx.dialect.name == "postgresql" else self._apart:
            tx.execute(statement, values)


class InsertNewPair:
    """Two tables' rows, each only when its key is free; for PostgreSQL as one statement."""

    def __init__(
        self,
        first: Table,
        second: Table,
        *,
        first_computed: dict[str, ColumnElement[Any]],
        second_computed: dict[str, ColumnElement[Any]],
    ) -> None:
        key = next(iter(first.primary_key or first.c))
        self._first = InsertNew(first, key, **first_computed)
        self._second = InsertNew(second, **second_computed)
        inserted = (
            postgresql.insert(first)
            .values({c.name: bindparam(f"first_{c.name}") for c in first.c} | first_computed)
            .on_conflict_do_nothing()
            .returning(key)
            .cte("first_row")
        )
        self._together = (
            postgresql.insert(second)
            .values({c.name: bindparam(f"second_{c.name}") for c in second.c} | second_computed)
            .on_conflict_do_nothing()
            .returning(*second.c, select(func.count()).select_from(inserted).scalar_subquery().label("first_is_new"))
            .add_cte(inserted)
        )

    def __call__(self, tx: Connection, first: dict[str, Any], second: dict[str, Any]) -> tuple[bool, RowMapping | None]:
        """Whether the first row is known to be new, and the second row; None when its key is taken."""
        if tx.dialect.name != "postgresql":
            return self._first(tx, first) is not None, self._second(tx, second)
        names = {f"first_{k}": v for k, v in first.items()} | {f"second_{k}": v for k, v in second.items()}
        row = tx.execute(self._together, {**second, **names}).mappings().one_or_none()
        return row is not None and row["first_is_new"] == 1, row
