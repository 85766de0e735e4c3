"""The one place that knows SQLite: addresses, connections, clock, and what its error numbers mean.

Everything else in this room speaks SQLAlchemy Core. Nothing here knows a table.
"""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import dataclass
from urllib.parse import quote, unquote

from sqlalchemy import BigInteger, TextualSelect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError

from gate.errors import ConflictError, StoreError

BEGIN_READ = "BEGIN"
BEGIN_WRITE = "BEGIN IMMEDIATE"
"""Takes the one write lock at once: what is read afterwards cannot change before the commit."""

# SQLite 3.40 has no unixepoch('subsec'); the Julian day is exact to a twentieth of a millisecond.
NOW_MS: TextualSelect = text(
    "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) AS now_ms"
).columns(now_ms=BigInteger)

_DBMOVED = 1032
_RETRY_SECONDS = 0.01
_FAULTS = {
    3: (
        "store_unavailable",
        "the database file may not be opened",
        "check the permissions of the file and its folder",
    ),
    5: (
        "store_locked",
        "the database is locked by another writer",
        "try again when the other writer is done",
    ),
    6: (
        "store_locked",
        "the database is locked by another writer",
        "try again when the other writer is done",
    ),
    8: (
        "store_read_only",
        "the database can only be read",
        "open it as a user who may write the file and its folder",
    ),
    10: (
        "store_unavailable",
        "the database file could not be read or written",
        "check the disk the file is on",
    ),
    11: ("store_corrupt", "the database file is damaged", "restore it from a copy; do not delete it"),
    13: ("store_unavailable", "the disk is full", "make room and try again"),
    14: ("store_unavailable", "the database file could not be opened", "check that its folder exists"),
    26: ("store_corrupt", "the file is not a SQLite database", "check the address of the store"),
}


@dataclass(frozen=True, slots=True)
class Location:
    """Where a store lives."""

    path: str | None
    """Absolute path of the file; None for a store in memory."""
    mode: str
    """How SQLite opens the file: `ro`, `rw` (must exist) or `rwc` (may be created)."""

    @property
    def read_only(self) -> bool:
        """True when no write can succeed."""
        return self.mode == "ro"


def locate(url: str) -> Location:
    """Reads `sqlite:////abs/path`, `sqlite://` or `sqlite:///file:/abs/path?mode=ro&uri=true`.

    Raises `StoreError` with code `store_url_unsupported` for any other address or option: SQLite has options,
    such as `nolock`, under which one approval could be spent twice.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as exc:
        raise _unsupported("the address of the store is not a URL") from exc
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise _unsupported(f"a store at `{parsed.drivername}` is not supported")
    if parsed.host or parsed.username or parsed.port:
        raise _unsupported("the address of a SQLite store has no host")
    options = dict(parsed.query)
    as_uri = options.pop("uri", "false")
    mode = options.pop("mode", "rwc")
    if options or as_uri not in ("true", "false") or mode not in ("ro", "rw", "rwc"):
        raise _unsupported("the address of the store has an option that is not supported")
    database = parsed.database or ":memory:"
    if as_uri == "true" and database.startswith("file:"):
        database = unquote(database.removeprefix("file:"))
        database = "/" + database.lstrip("/") if database.startswith("//") else database
    elif as_uri == "true" or mode != "rwc":
        raise _unsupported("`mode` and `uri` go with `sqlite:///file:/path?mode=ro&uri=true`")
    if not database or "\x00" in database:
        raise _unsupported("the address of the store has no path")
    if database == ":memory:":
        return Location(None, "rwc")
    return Location(os.path.abspath(database), mode)


def connect(location: Location, *, busy_timeout_ms: int, first: bool) -> sqlite3.Connection:
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


def store_error(exc: DBAPIError) -> StoreError:
    """The error of this package for an error of the driver; holds no statement, no value and no path."""
    if isinstance(exc, IntegrityError):
        return ConflictError(
            "another writer recorded the same thing first",
            code="store_conflict",
            hint="read the records again",
        )
    number = getattr(exc.orig, "sqlite_errorcode", 0)
    if number == _DBMOVED:
        return moved()
    code, message, hint = _FAULTS.get(
        number & 0xFF,
        ("store_unavailable", "the database refused the operation", "check the store with `sqlite3`"),
    )
    return StoreError(message, code=code, hint=hint)


def moved() -> StoreError:
    """The error for a file that was deleted, moved or replaced under an open store."""
    return StoreError(
        "the database file is gone or was replaced while the store was open",
        code="store_unavailable",
        hint="put the file back, or open the store again: what the old file held is not in the new one",
    )


def _unsupported(message: str) -> StoreError:
    return StoreError(message, code="store_url_unsupported", hint="use `sqlite:////absolute/path.sqlite`")
