"""The schema of the store and its versions: a forward-only list of steps, each in one transaction.

A released step is never edited or undone; a change is a new step. The DDL is the part that SQLite and PostgreSQL share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, inspect, select

from gate.errors import StoreError
from gate.records import ddl
from gate.records.clock import now_ms
from gate.records.database import Database
from gate.records.tables import SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from the version before to `version`."""

    version: int
    summary: str
    statements: tuple[str, ...]
    of_dialect: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What only one of the databases understands, by its name, after the common statements."""

    def statements_for(self, dialect: str) -> tuple[str, ...]:
        """Every statement of the step for that database."""
        return (*self.statements, *self.of_dialect.get(dialect, ()))


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "runs, events, approvals, votes, consumptions, effects, idempotency keys", ddl.INITIAL),
    Migration(2, "limit counters and what each effect holds of them", ddl.COUNTERS),
    Migration(3, "standing and escalated approvals, waiting runs, denied keys", ddl.APPROVAL_LIFE),
    Migration(4, "dispatches: a tool starts a claimed effect once", ddl.DISPATCHES),
    Migration(5, "boundaries, epochs, progress, obligations, user constraints", ddl.CONTINUITY),
    Migration(6, "plans of several steps, each recorded once", ddl.PLANS),
    Migration(7, "capability sessions", ddl.SESSIONS),
    Migration(8, "long tasks: events with content, artifacts, checkpoints, packets, ledger, receipts", ddl.LONG_TASKS),
    Migration(
        9,
        "lineage of forked runs, versions of constraints, notes of events that were changed behind the gate",
        ddl.ALTERATIONS,
        ddl.NOTED_BY,
    ),
    Migration(10, "what a run did, without the links of its long-task log", ddl.TOLD),
)

LATEST = MIGRATIONS[-1].version
"""The schema version this code reads and writes."""

_VERSION_TABLE = "CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_at_ms BIGINT NOT NULL)"


def migrate(database: Database, *, allowed: bool = True) -> tuple[int, int]:
    """Brings the database to `LATEST`; the versions before and after. Safe when several processes do it at once.

    Raises `StoreError`: `store_schema_newer` for a database from a newer gate, `store_foreign` for one that
    holds something else, `store_read_only` when a step is needed and cannot be taken, `store_schema_older` when
    one is needed and not `allowed`.
    """
    before = found = database.reading(current_version)
    if found < LATEST and not allowed:
        raise StoreError(
            f"the database has schema version {found}, this gate needs {LATEST}",
            code="store_schema_older",
            hint="run `gate store migrate`",
        )
    while found < LATEST:
        with database.write(migrating=True) as connection:
            # Read again: another process may have taken the step while this one waited for the lock.
            found = _take_next(connection, current_version(connection))
    return before, found


def _take_next(connection: Connection, found: int) -> int:
    if found == 0:
        connection.exec_driver_sql(_VERSION_TABLE)
    for migration in MIGRATIONS:
        if migration.version == found + 1:
            for statement in migration.statements_for(connection.dialect.name):
                connection.exec_driver_sql(statement)
            connection.execute(
                SCHEMA_VERSION.insert().values(version=migration.version, applied_at_ms=now_ms(connection))
            )
            return migration.version
    return found


def current_version(connection: Connection) -> int:
    """The version of the schema in the database, 0 for an empty one. Raises as `migrate` does."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return 0
    if SCHEMA_VERSION.name not in tables:
        raise StoreError(
            "the database holds something else than gate records",
            code="store_foreign",
            hint="give the store a file, or a PostgreSQL schema, of its own",
        )
    found = connection.execute(select(func.max(SCHEMA_VERSION.c.version))).scalar_one()
    if type(found) is not int or found < 1:
        raise StoreError("the database does not say which schema it has", code="store_corrupt", hint="restore a copy")
    if found > LATEST:
        raise StoreError(
            f"the database has schema version {found}, this gate knows up to {LATEST}",
            code="store_schema_newer",
            hint="install the newer gate that wrote it",
        )
    return found
