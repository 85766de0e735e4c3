"""The one place that knows PostgreSQL: connections, isolation, and what its SQLSTATEs mean.

Everything else in this room speaks SQLAlchemy Core. Nothing here knows a table.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchModuleError
from sqlalchemy.pool import QueuePool

from gate.errors import ConflictError, StoreError
from gate.records.dialect import Location

_CONNECT_SECONDS = 5
_IDLE_IN_TRANSACTION_MS = 30_000
"""A worker that was paused inside a transaction loses it, and with it the locks that everybody waits for."""

_BUSY = ("store_busy", "the database has no connection left", "try again; raise `max_connections` or use smaller pools")
_DOWN = ("store_unavailable", "the database server cannot be reached", "check that it runs and accepts connections")
_LOGIN = ("store_unavailable", "the database server refused the login", "check user, password and pg_hba.conf")
_FAULTS = {
    "25006": ("store_read_only", "the database can only be read", "connect to the primary server"),
    "3D000": ("store_unavailable", "the database does not exist", "create it with `createdb`"),
    "3F000": ("store_unavailable", "the schema does not exist", "create it and grant the gate's user its use"),
    "42501": ("store_unavailable", "the database user may not do this", "grant it the tables of the store"),
    "53100": ("store_unavailable", "the disk is full", "make room and try again"),
    "53300": _BUSY,
    "55P03": ("store_locked", "the database is locked by another writer", "try again when the other writer is done"),
    "57014": ("store_unavailable", "the database cancelled the operation", "try again"),
    "XX001": ("store_corrupt", "the database is damaged", "restore it from a copy; do not delete it"),
    "XX002": ("store_corrupt", "the database is damaged", "restore it from a copy; do not delete it"),
}
_CONTENDED = frozenset({"40001", "40P01", "40002", "40003"})


class PostgresBackend:
    """PostgreSQL with durable commits; what the decision read is compared under row locks at every isolation level."""

    one_writer = False
    migration_lock = "SELECT pg_advisory_xact_lock(7165, 1)"
    """Held while a step of the schema is taken: two first openers wait for each other."""

    def __init__(self, location: Location, *, busy_timeout_ms: int, isolation: str, pool_size: int) -> None:
        self.location = location
        self._settings = (
            "SET synchronous_commit = on",
            f"SET lock_timeout = {busy_timeout_ms or 1}",
            f"SET idle_in_transaction_session_timeout = {_IDLE_IN_TRANSACTION_MS + busy_timeout_ms}",
        )
        engine = self._engine(busy_timeout_ms, pool_size, isolation)
        # A read is one snapshot and takes no lock, so nothing can make it fail to serialize.
        self.reader: Engine = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        # No option of its own: setting and resetting one costs every claim as much as a statement.
        self.writer: Engine = engine
        self.migrator: Engine = engine.execution_options(isolation_level="READ COMMITTED")

    def check(self) -> None:
        """Nothing to look at: the server answers for itself."""

    def store_error(self, exc: DBAPIError) -> StoreError:
        """The error of this package for an error of the driver; holds no statement, no value and no password."""
        state = getattr(exc.orig, "sqlstate", None) or ""
        if state in _CONTENDED:
            return ConflictError(
                "the records are being changed by too many others at once",
                code="store_contended",
                hint="read the records again and decide again",
            )
        if isinstance(exc, IntegrityError):
            return ConflictError(
                "another writer recorded the same thing first", code="store_conflict", hint="read the records again"
            )
        fault = _FAULTS.get(state)
        if fault is None and state.startswith("28"):
            fault = _LOGIN
        if fault is None and (exc.connection_invalidated or not state or state[:2] in ("08", "57")):
            fault = _DOWN
        code, message, hint = fault or (
            "store_unavailable",
            "the database refused the operation",
            "see the log of the database server",
        )
        return StoreError(message, code=code, hint=hint)

    def commit_unknown(self, exc: DBAPIError, connection: Connection) -> bool:
        """True when a failed commit may have happened: the server never said that it had not."""
        return exc.connection_invalidated or getattr(exc.orig, "sqlstate", None) is None

    def _engine(self, busy_timeout_ms: int, pool_size: int, isolation: str) -> Engine:
        options: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "client_encoding": "utf8"}
        if self.location.url is None:
            raise StoreError("the address of the store has no server", code="store_url_unsupported")
        try:
            engine = create_engine(
                self.location.url,
                isolation_level=isolation,
                poolclass=QueuePool,
                pool_size=pool_size,
                max_overflow=0,
                pool_timeout=busy_timeout_ms / 1000,
                connect_args=options,
                # Parameters can be argument values.
                hide_parameters=True,
            )
        except (ImportError, NoSuchModuleError) as exc:
            raise StoreError(
                "the PostgreSQL driver is not installed",
                code="store_driver_missing",
                hint="pip install 'agent-policy-gate[postgres]'",
            ) from exc
        event.listen(engine, "connect", self._prepare)
        return engine

    def _prepare(self, connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("; ".join(self._settings))
            encoding = cursor.execute("SHOW server_encoding").fetchone()
        connection.commit()
        if encoding != ("UTF8",):
            raise StoreError(
                "the database does not store UTF-8",
                code="store_encoding_unsupported",
                hint="create it with `createdb --encoding=UTF8 --template=template0`",
            )
