"""The one door to the records: every method is one transaction, tenant first, all or nothing.

Holds no rule about who may do what; it applies a decision by compare-and-set and refuses when the records
have moved. The methods are in five parts: runs, approvals, effects, plans, sessions.
"""

from __future__ import annotations

from pathlib import Path

from gate.errors import InputError
from gate.records import backup, checks, dialect, migrations, scratch
from gate.records.approval_store import ApprovalStore
from gate.records.clock import now_ms
from gate.records.continuity_store import ContinuityStore
from gate.records.database import ISOLATION_LEVELS, Database
from gate.records.effect_store import EffectStore
from gate.records.longtask_store import LongTaskStore
from gate.records.plan_store import PlanStore
from gate.records.run_store import RunStore
from gate.records.session_store import SessionStore


class Store(RunStore, ApprovalStore, EffectStore, ContinuityStore, PlanStore, SessionStore, LongTaskStore):
    """The systems of record. Safe to share between threads and with forked children; `close` it when done.

    Every method raises `StoreError` (`store_locked`, `store_busy`, `store_read_only`, `store_unavailable`,
    `store_corrupt`) when the database cannot be used, `ConflictError` when a record is not what the caller read
    (`store_contended` when too many others kept changing it), and `InputError` for a value that no record can
    hold. After any of them nothing was changed, with two exceptions: the one that `settle` documents, and
    `store_commit_unknown`, after which the change may have been made: a claim then counts as made.
    """

    def __init__(self, database: Database, *, versions: tuple[int, int]) -> None:
        self._database = database
        self.migrated = versions
        """Versions of the schema before and after opening."""

    @classmethod
    def open(
        cls,
        url: str,
        *,
        busy_timeout_ms: int = 5000,
        isolation: str = "READ COMMITTED",
        pool_size: int = 10,
        migrate: bool = True,
    ) -> Store:
        """Opens `sqlite:////abs/path.sqlite`, `sqlite://` (in memory), `sqlite:///file:/path?mode=ro&uri=true` or
        `postgresql://user@host/database`.

        Creates a SQLite file that is not there, and the schema unless `migrate` is False. `busy_timeout_ms` is how
        long a call waits for a lock or a connection, and keeps trying against others; `pool_size` how many
        connections a PostgreSQL store holds at most; `isolation` one of `ISOLATION_LEVELS`, at each of which the
        store is correct. Also raises `StoreError`: `store_url_unsupported`, `store_schema_newer`,
        `store_schema_older`, `store_foreign`, `store_driver_missing`, `store_encoding_unsupported`.
        """
        checks.whole("busy_timeout_ms", busy_timeout_ms, high=3_600_000)
        checks.whole("pool_size", pool_size, low=1, high=1000)
        if isolation not in ISOLATION_LEVELS:
            raise InputError(f"`isolation` is not one of {', '.join(ISOLATION_LEVELS)}", code="record_field_invalid")
        location = dialect.locate(checks.text("url", url))
        database = Database(location, busy_timeout_ms=busy_timeout_ms, isolation=isolation, pool_size=pool_size)
        try:
            versions = migrations.migrate(database, allowed=migrate)
        except BaseException:
            database.close()
            raise
        return cls(database, versions=versions)

    def close(self) -> None:
        """Closes every connection; later calls raise `StoreError`."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now_ms(self) -> int:
        """The database's clock in milliseconds since the epoch: the one that leases and expiries know."""
        return self._database.reading(now_ms)

    def schema_version(self) -> int:
        """The version of the schema in the database."""
        return self._database.reading(migrations.current_version)

    def backup(self, path: Path) -> None:
        """Copies a SQLite store to the new file `path` while it is in use. How to restore: `gate.records.backup`.

        Raises `InputError`: `backup_exists`, `backup_unwritable`; `StoreError` `backup_unsupported` for PostgreSQL.
        """
        backup.write(self._database, path)

    def copy_tenant(self, tenant_id: str, target: Store) -> dict[str, int]:
        """Copies what a tenant has into `target`, a new SQLite store to play with; how many rows of each table.

        Nothing of this store is changed, and it may be in use. Raises `InputError`, `StoreError`.
        """
        return scratch.copy_tenant(self._database, target._database, checks.name("tenant_id", tenant_id))
