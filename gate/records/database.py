"""Transactions over one database: begun safely, all or nothing, every failure a `StoreError`.

Knows no table. The SQLite particulars are in `gate.records.dialect`, threads and forks in
`gate.records.turnstile`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool, StaticPool

from gate.errors import StoreError
from gate.records import dialect
from gate.records.turnstile import Turnstile

_WRITE = "gate_write"


class Database:
    """One open database. Safe to share between threads and with forked children."""

    def __init__(self, location: dialect.Location, *, busy_timeout_ms: int) -> None:
        self.location = location
        self._busy_timeout_ms = busy_timeout_ms
        self._identity: tuple[int, int] | None = None
        self._reader = self._engine()
        self._writer = self._reader.execution_options(**{_WRITE: True})
        in_memory = location.path is None
        self._one_at_a_time = in_memory
        self._turnstile = Turnstile(
            timeout_ms=busy_timeout_ms, close_connections=None if in_memory else self._reader.dispose
        )

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent snapshot, for reading only."""
        with _translated(), self._turnstile.inside(alone=self._one_at_a_time):
            self._check_identity()
            with self._reader.connect() as connection, connection.begin():
                yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One write transaction that holds the write lock from its start; any exception undoes all of it."""
        with _translated(), self._turnstile.inside(alone=True):
            self._check_identity()
            if self.location.read_only:
                raise StoreError(
                    "the store was opened for reading only",
                    code="store_read_only",
                    hint="open it without `mode=ro`",
                )
            with self._writer.connect() as connection, connection.begin():
                yield connection

    def close(self) -> None:
        """Closes every connection; later calls raise `StoreError`."""
        self._turnstile.close()
        self._reader.dispose()

    def _engine(self) -> Engine:
        # Threads wait for the write lock, never for a place in the pool. Parameters can be argument values.
        engine = (
            create_engine("sqlite://", creator=self._connect, poolclass=StaticPool, hide_parameters=True)
            if self.location.path is None
            else create_engine(
                "sqlite://",
                creator=self._connect,
                poolclass=QueuePool,
                pool_size=5,
                max_overflow=-1,
                hide_parameters=True,
            )
        )
        event.listen(engine, "begin", _begin)
        return engine

    def _connect(self) -> sqlite3.Connection:
        first = self._identity is None
        connection = dialect.connect(self.location, busy_timeout_ms=self._busy_timeout_ms, first=first)
        if first and self.location.path is not None:
            found = os.stat(self.location.path)
            self._identity = (found.st_dev, found.st_ino)
        return connection

    def _check_identity(self) -> None:
        # SQLite goes on writing to a deleted file without a word: claims would be made that nobody else can
        # see.
        if self._identity is None or self.location.path is None:
            return
        try:
            found = os.stat(self.location.path)
        except OSError as exc:
            raise dialect.moved() from exc
        if (found.st_dev, found.st_ino) != self._identity:
            raise dialect.moved()


def now_ms(connection: Connection) -> int:
    """The database's clock in milliseconds since the epoch."""
    return int(connection.execute(dialect.NOW_MS).scalar_one())


def _begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql(dialect.BEGIN_WRITE if writing else dialect.BEGIN_READ)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except DBAPIError as exc:
        raise dialect.store_error(exc) from exc
    except (SQLAlchemyError, OSError) as exc:
        raise StoreError("the store could not be used", code="store_unavailable", hint="open the store again") from exc
