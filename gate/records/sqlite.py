"""The one place that knows SQLite: connections, transactions, and what its error numbers mean.

Everything else in this room speaks SQLAlchemy Core. Nothing here knows a table.
"""

from __future__ import annotations

import os
import sqlite3
import time
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import QueuePool, StaticPool

from gate.errors import ConflictError, StoreError
from gate.records.dialect import Location

_WRITE = "gate_write"
_DBMOVED = 1032
_IOERR = 10
_RETRY_SECONDS = 0.01
_LOCKED = ("store_locked", "the database is locked by another writer", "try again when the other writer is done")
_FAULTS = {
    3: (
        "store_unavailable",
        "the database file may not be opened",
        "check the permissions of the file and its folder",
    ),
    5: _LOCKED,
    6: _LOCKED,
    8: (
        "store_read_only",
        "the database can only be read",
        "open it as a user who may write the file and its folder",
    ),
    _IOERR: (
        "store_unavailable",
        "the database file could not be read or written",
        "check the disk the file is on",
    ),
    11: ("store_corrupt", "the database file is damaged", "restore it from a copy; do not delete it"),
    13: ("store_unavailable", "the disk is full", "make room and try again"),
    14: ("store_unavailable", "the database file could not be opened", "check that its folder exists"),
    26: ("store_corrupt", "the file is not a SQLite database", "check the address of the store"),
}


class SqliteBackend:
    """SQLite in WAL mode with every commit synced: one writer at a time, so every write is serializable."""

    one_writer = True
    """Writers of one process queue up in it, where a wait is fair, rather than at the file, where it is a poll."""
    migration_lock = ""
    """None is needed: a write transaction holds the whole file."""

    def __init__(self, location: Location, *, busy_timeout_ms: int) -> None:
        self.location = location
        self._busy_timeout_ms = busy_timeout_ms
        self._identity: tuple[int, int] | None = None
        self.reader: Engine = self._engine()
        self.writer: Engine = self.reader.execution_options(**{_WRITE: True})
        self.migrator: Engine = self.writer

    def check(self) -> None:
        """Raises `StoreError` when the file is not the one that was opened."""
        # SQLite goes on writing to a deleted file without a word: claims would be made that nobody else can
        # see.
        if self._identity is None or self.location.path is None:
            return
        try:
            found = os.stat(self.location.path)
        except OSError as exc:
            raise _moved() from exc
        if (found.st_dev, found.st_ino) != self._identity:
            raise _moved()

    def store_error(self, exc: DBAPIError) -> StoreError:
        """The error of this package for an error of the driver; holds no statement, no value and no path."""
        if isinstance(exc, IntegrityError):
            return ConflictError(
                "another writer recorded the same thing first",
                code="store_conflict",
                hint="read the records again",
            )
        number = getattr(exc.orig, "sqlite_errorcode", 0)
        if number == _DBMOVED:
            return _moved()
        code, message, hint = _FAULTS.get(
            number & 0xFF,
            ("store_unavailable", "the database refused the operation", "check the store with `sqlite3`"),
        )
        return StoreError(message, code=code, hint=hint)

    def commit_unknown(self, exc: DBAPIError, connection: Connection) -> bool:
        """True when a failed commit may have happened: a log that was written and not synced can be replayed."""
        return bool(getattr(exc.orig, "sqlite_errorcode", 0) & 0xFF == _IOERR)

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
        connection = _connect(self.location, busy_timeout_ms=self._busy_timeout_ms, first=first)
        if first and self.location.path is not None:
            found = os.stat(self.location.path)
            self._identity = (found.st_dev, found.st_ino)
        return connection


def _begin(connection: Connection) -> None:
    # IMMEDIATE takes the one write lock at once: what is read afterwards cannot change before the commit.
    writing = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _connect(location: Location, *, busy_timeout_ms: int, first: bool) -> sqlite3.Connection:
    """A connection with every safety switch set; only the `first` one of a store may create the file."""
    if location.path is None:
        target = ":memory:"
    else:
        # A later connection must not quietly make an empty file where the records have been.
        mode = location.mode if first or location.read_only else "rw"
        target = f"file:{quote(location.path)}?mode={mode}"
    connection = sqlite3.connect(
        target, uri=True, timeout=busy_timeout_ms / 1000, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA trusted_schema = OFF")
        if location.read_only:
            connection.execute("PRAGMA query_only = ON")
        elif location.path is not None:
            _use_wal(connection, busy_timeout_ms)
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection, busy_timeout_ms: int) -> None:
    # SQLite does not wait for its busy timeout when the journal mode changes, so two first openers would
    # collide.
    deadline = time.monotonic() + busy_timeout_ms / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF not in (5, 6) or time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _moved() -> StoreError:
    return StoreError(
        "the database file is gone or was replaced while the store was open",
        code="store_unavailable",
        hint="put the file back, or open the store again: what the old file held is not in the new one",
    )
