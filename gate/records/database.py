"""Transactions over one database: begun safely, all or nothing, every failure a `StoreError`.

Knows no table. What is particular to a database is behind `Backend`; threads and forks are in
`gate.records.turnstile`.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from gate.errors import StoreError
from gate.records.dialect import Location
from gate.records.postgresql import PostgresBackend
from gate.records.sqlite import SqliteBackend
from gate.records.turnstile import Turnstile

ISOLATION_LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
"""Levels a PostgreSQL store can be opened with. SQLite is always serializable."""

CONTENDED = "store_contended"
"""Code of the `ConflictError` for a transaction that was undone because others changed what it stood on."""

_CONFLICT_ROUNDS = 3
_T = TypeVar("_T")


class Backend(Protocol):
    """What the two databases do differently."""

    location: Location
    reader: Engine
    writer: Engine
    migrator: Engine
    one_writer: bool
    migration_lock: str

    def check(self) -> None:
        """Raises `StoreError` when the database is no longer the one that was opened."""

    def store_error(self, exc: DBAPIError) -> StoreError:
        """The error of this package for one of the driver."""

    def commit_unknown(self, exc: DBAPIError, connection: Connection) -> bool:
        """True when a failed commit may have happened."""


class _ConnectionLost(StoreError):
    """The connection died before the commit was asked for, so the transaction is undone."""


class Database:
    """One open database. Safe to share between threads and with forked children."""

    def __init__(self, location: Location, *, busy_timeout_ms: int, isolation: str, pool_size: int) -> None:
        self.location = location
        self._busy_seconds = busy_timeout_ms / 1000
        self.backend: Backend
        if location.url is None:
            self.backend = SqliteBackend(location, busy_timeout_ms=busy_timeout_ms)
        else:
            self.backend = PostgresBackend(
                location, busy_timeout_ms=busy_timeout_ms, isolation=isolation, pool_size=pool_size
            )
        in_memory = location.path is None
        self._one_at_a_time = in_memory
        self._turnstile = Turnstile(
            timeout_ms=busy_timeout_ms, close_connections=None if in_memory else self.backend.reader.dispose
        )

    def reading(self, body: Callable[[Connection], _T]) -> _T:
        """What `body` returns for one consistent snapshot; asked a second time when a pooled connection was dead."""
        try:
            with self.read() as tx:
                return body(tx)
        except _ConnectionLost:
            with self.read() as tx:
                return body(tx)

    def writing(self, body: Callable[[Connection], _T]) -> _T:
        """What `body` returns, committed; run anew, up to the busy timeout, while others get in its way.

        Only a transaction that is known to be undone is run anew. Raises `StoreError`: `store_commit_unknown`
        when the commit may or may not have happened; `ConflictError`: `store_contended`, `store_conflict`.
        """
        deadline = time.monotonic() + self._busy_seconds
        conflicts = losses = attempt = 0
        while True:
            try:
                with self.write() as tx:
                    return body(tx)
            except StoreError as exc:
                conflicts += exc.code == "store_conflict"
                losses += isinstance(exc, _ConnectionLost)
                again = exc.code in (CONTENDED, "store_conflict") or (isinstance(exc, _ConnectionLost) and losses < 2)
                if not again or conflicts >= _CONFLICT_ROUNDS or time.monotonic() >= deadline:
                    raise
            attempt += 1
            # Apart at random, or those who collided collide again.
            time.sleep(random.uniform(0, 0.001 * 2 ** min(attempt, 5)))  # noqa: S311 - not a secret

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent snapshot, for reading only."""
        with self._translated(), self._turnstile.inside(alone=self._one_at_a_time):
            self.backend.check()
            with self.backend.reader.connect() as connection, connection.begin():
                yield connection

    @contextmanager
    def write(self, *, migrating: bool = False) -> Iterator[Connection]:
        """One write transaction; any exception undoes all of it. `migrating` ones exclude each other."""
        with self._translated(), self._turnstile.inside(alone=self.backend.one_writer):
            self.backend.check()
            if self.location.read_only:
                raise StoreError(
                    "the store was opened for reading only",
                    code="store_read_only",
                    hint="open it without `mode=ro`",
                )
            with (self.backend.migrator if migrating else self.backend.writer).connect() as connection:
                transaction = connection.begin()
                try:
                    if migrating and self.backend.migration_lock:
                        connection.exec_driver_sql(self.backend.migration_lock)
                    yield connection
                except BaseException:
                    # The first error says more than a rollback that found the connection dead.
                    with suppress(SQLAlchemyError):
                        transaction.rollback()
                    raise
                self._commit(connection)

    def flush_erased(self) -> None:
        """Takes what was erased out of SQLite's write-ahead log too; a server vacuums of itself."""
        if self.location.url is not None or self.location.path is None:
            return
        with (
            self._translated(),
            self._turnstile.inside(alone=self.backend.one_writer),
            self.backend.writer.connect() as connection,
        ):
            driver = connection.connection.driver_connection
            if isinstance(driver, sqlite3.Connection):
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Closes every connection; later calls raise `StoreError`."""
        self._turnstile.close()
        self.backend.reader.dispose()

    def _commit(self, connection: Connection) -> None:
        try:
            connection.commit()
        except DBAPIError as exc:
            if self.backend.commit_unknown(exc, connection):
                connection.invalidate()
                raise StoreError(
                    "the database did not say whether the change was recorded",
                    code="store_commit_unknown",
                    hint="a claim counts as made: read the records again, and reconcile an effect that is in flight",
                ) from exc
            with suppress(SQLAlchemyError):
                connection.rollback()
            raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as exc:
            error = self.backend.store_error(exc)
            if self.location.url is None:
                raise error from exc
            if exc.connection_invalidated:
                error = _ConnectionLost(error.message, code=error.code, hint=error.hint)
            # PostgreSQL quotes the offending row in its errors: the cause would carry argument values into a log.
            raise error from None
        except PoolTimeout as exc:
            raise StoreError(
                "every connection of this store is in use",
                code="store_busy",
                hint="try again, or open the store with a larger `pool_size`",
            ) from exc
        except (SQLAlchemyError, OSError) as exc:
            raise StoreError(
                "the store could not be used", code="store_unavailable", hint="open the store again"
            ) from exc
