"""The database's clock, the only one that leases and expiries know; never the clock of this process.

An expression that compiles for either database, and the one query that reads it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Connection, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import ColumnElement


class _Now(ColumnElement[int]):
    """Milliseconds since the epoch, by the clock of the database."""

    type = BigInteger()
    inherit_cache = True
    # Nothing tells one from another, so a statement that holds it is compiled once.
    _traverse_internals = []  # noqa: RUF012 - as the base class declares it


@compiles(_Now, "sqlite")
def _sqlite(element: _Now, compiler: Any, **_: Any) -> str:
    # SQLite 3.40 has no unixepoch('subsec'); the Julian day is exact to a twentieth of a millisecond.
    return "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"


@compiles(_Now, "postgresql")
def _postgresql(element: _Now, compiler: Any, **_: Any) -> str:
    # Not now(): that is when the transaction began, and a transaction can wait for a lock past an expiry.
    return "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)"


NOW: ColumnElement[int] = _Now()
"""For the values of an INSERT or UPDATE: read when the statement runs."""

_QUERY = select(NOW.label("now_ms"))


def now_ms(connection: Connection) -> int:
    """The database's clock in milliseconds since the epoch."""
    return int(connection.execute(_QUERY).scalar_one())
