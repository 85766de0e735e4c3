"""The schema of the store and its versions: a forward-only list of steps, each in one transaction.

A released step is never edited or undone; a change is a new step. The DDL is the part that SQLite and PostgreSQL share.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, inspect, select

from gate.errors import StoreError
from gate.records.clock import now_ms
from gate.records.database import Database
from gate.records.tables import SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from the version before to `version`."""

    version: int
    summary: str
    statements: tuple[str, ...]


_INITIAL = (
    """CREATE TABLE runs (
        tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, agent_id TEXT NOT NULL, principal_id TEXT NOT NULL,
        session_id TEXT NOT NULL, trace_id TEXT NOT NULL, authorization_mode TEXT NOT NULL,
        delegated_principal_id TEXT, delegated_scope TEXT,
        status TEXT NOT NULL CHECK (status IN ('running', 'paused', 'completed', 'cancelled', 'stopped')),
        status_reason TEXT NOT NULL, version BIGINT NOT NULL CHECK (version >= 1),
        head_seq BIGINT NOT NULL CHECK (head_seq >= 0), head_hash TEXT NOT NULL,
        PRIMARY KEY (tenant_id, run_id))""",
    """CREATE TABLE events (
        tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, seq BIGINT NOT NULL, prev_hash TEXT NOT NULL,
        hash TEXT NOT NULL, event_type TEXT NOT NULL, payload TEXT NOT NULL, at_ms BIGINT NOT NULL,
        PRIMARY KEY (tenant_id, run_id, seq), UNIQUE (tenant_id, run_id, prev_hash),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    """CREATE TABLE approvals (
        tenant_id TEXT NOT NULL, approval_id TEXT NOT NULL, ordinal BIGINT NOT NULL, run_id TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN
            ('pending', 'approved', 'rejected', 'expired', 'revoked', 'consumed', 'cancelled')),
        status_reason TEXT NOT NULL, capability TEXT NOT NULL, contract_id TEXT NOT NULL,
        contract_digest TEXT NOT NULL, action_digest TEXT NOT NULL, intent_digest TEXT NOT NULL,
        nonce TEXT NOT NULL, principal_id TEXT NOT NULL, agent_id TEXT NOT NULL, session_id TEXT NOT NULL,
        trace_id TEXT NOT NULL, requested_by TEXT NOT NULL, reason TEXT NOT NULL,
        bundle_version TEXT NOT NULL,
        release_identity TEXT NOT NULL, view TEXT NOT NULL, created_at_ms BIGINT NOT NULL,
        expires_at_ms BIGINT NOT NULL, version BIGINT NOT NULL CHECK (version >= 1),
        PRIMARY KEY (tenant_id, approval_id), UNIQUE (tenant_id, ordinal), UNIQUE (tenant_id, nonce),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    """CREATE UNIQUE INDEX approvals_one_open ON approvals (tenant_id, action_digest, contract_digest)
        WHERE status IN ('pending', 'approved')""",
    """CREATE INDEX approvals_by_action ON approvals (tenant_id, action_digest, contract_digest, ordinal)""",
    """CREATE INDEX approvals_rejected ON approvals (tenant_id, principal_id, intent_digest, ordinal)
        WHERE status = 'rejected'""",
    """CREATE INDEX approvals_by_status ON approvals (tenant_id, status, ordinal)""",
    """CREATE TABLE approval_votes (
        tenant_id TEXT NOT NULL, approval_id TEXT NOT NULL, vote_no BIGINT NOT NULL,
        payload_digest TEXT NOT NULL, payload TEXT NOT NULL, signature TEXT NOT NULL,
        cast_at_ms BIGINT NOT NULL,
        PRIMARY KEY (tenant_id, approval_id, vote_no), UNIQUE (tenant_id, approval_id, payload_digest),
        FOREIGN KEY (tenant_id, approval_id) REFERENCES approvals (tenant_id, approval_id))""",
    """CREATE TABLE effects (
        tenant_id TEXT NOT NULL, principal_id TEXT NOT NULL, capability TEXT NOT NULL,
        business_key TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('in_flight',
            'side_effect_committed', 'side_effect_unknown', 'partial_side_effect', 'failed_before_effect')),
        idempotency_key TEXT NOT NULL, action_digest TEXT NOT NULL, run_id TEXT NOT NULL, owner TEXT NOT NULL,
        fencing BIGINT NOT NULL CHECK (fencing >= 1), attempt BIGINT NOT NULL CHECK (attempt >= 1),
        lease_expires_at_ms BIGINT NOT NULL, receipt TEXT, late_receipt TEXT, evidence_ref TEXT,
        version BIGINT NOT NULL CHECK (version >= 1), updated_at_ms BIGINT NOT NULL,
        PRIMARY KEY (tenant_id, principal_id, capability, business_key),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    """CREATE INDEX effects_by_status ON effects (tenant_id, status, updated_at_ms)""",
    """CREATE TABLE approval_consumptions (
        tenant_id TEXT NOT NULL, approval_id TEXT NOT NULL, run_id TEXT NOT NULL, principal_id TEXT NOT NULL,
        capability TEXT NOT NULL, business_key TEXT NOT NULL, fencing BIGINT NOT NULL,
        consumed_at_ms BIGINT NOT NULL, PRIMARY KEY (tenant_id, approval_id),
        FOREIGN KEY (tenant_id, approval_id) REFERENCES approvals (tenant_id, approval_id))""",
    """CREATE TABLE idempotency_keys (
        tenant_id TEXT NOT NULL, principal_id TEXT NOT NULL, capability TEXT NOT NULL,
        idempotency_key TEXT NOT NULL, action_digest TEXT NOT NULL, run_id TEXT NOT NULL,
        first_used_at_ms BIGINT NOT NULL, PRIMARY KEY (tenant_id, principal_id, capability, idempotency_key),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
)

_COUNTERS = (
    """CREATE TABLE counters (
        tenant_id TEXT NOT NULL, name TEXT NOT NULL, value BIGINT NOT NULL CHECK (value >= 0),
        version BIGINT NOT NULL CHECK (version >= 1), updated_at_ms BIGINT NOT NULL,
        PRIMARY KEY (tenant_id, name))""",
    """CREATE TABLE counter_uses (
        tenant_id TEXT NOT NULL, principal_id TEXT NOT NULL, capability TEXT NOT NULL,
        business_key TEXT NOT NULL, attempt BIGINT NOT NULL, name TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('held', 'returned')),
        amount BIGINT NOT NULL CHECK (amount >= 1), counted_at_ms BIGINT NOT NULL,
        PRIMARY KEY (tenant_id, principal_id, capability, business_key, attempt, name),
        FOREIGN KEY (tenant_id, principal_id, capability, business_key)
            REFERENCES effects (tenant_id, principal_id, capability, business_key),
        FOREIGN KEY (tenant_id, name) REFERENCES counters (tenant_id, name))""",
    """CREATE INDEX counter_uses_by_name ON counter_uses (tenant_id, name, status)""",
    """CREATE INDEX effects_by_run ON effects (tenant_id, run_id)""",
    """CREATE INDEX approvals_by_run ON approvals (tenant_id, run_id)""",
)

_PLANS = (
    """CREATE TABLE plans (
        tenant_id TEXT NOT NULL, plan_ref TEXT NOT NULL, run_id TEXT NOT NULL, principal_id TEXT NOT NULL,
        capability TEXT NOT NULL, task_ref TEXT NOT NULL, plan_digest TEXT NOT NULL, content TEXT NOT NULL,
        recorded_at_ms BIGINT NOT NULL, PRIMARY KEY (tenant_id, plan_ref),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
)

_SESSIONS = (
    """CREATE TABLE capability_sessions (
        tenant_id TEXT NOT NULL, session_id TEXT NOT NULL, run_id TEXT NOT NULL, principal_id TEXT NOT NULL,
        trace_session_id TEXT NOT NULL, server TEXT NOT NULL, status TEXT NOT NULL, capability TEXT,
        remote_digest TEXT, reinitialized_from TEXT, opened_at_ms BIGINT NOT NULL, expires_at_ms BIGINT NOT NULL,
        paused_at_ms BIGINT NOT NULL, progress_events BIGINT NOT NULL, elicitations BIGINT NOT NULL,
        version BIGINT NOT NULL, changed_at_ms BIGINT NOT NULL, PRIMARY KEY (tenant_id, session_id),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id),
        FOREIGN KEY (tenant_id, reinitialized_from) REFERENCES capability_sessions (tenant_id, session_id),
        CHECK (status IN ('active', 'paused', 'expired', 'closed')))""",
    # An expired session is replaced once.
    """CREATE UNIQUE INDEX capability_sessions_replaced ON capability_sessions (tenant_id, reinitialized_from)""",
)

MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "runs, events, approvals, votes, consumptions, effects, idempotency keys", _INITIAL),
    Migration(2, "limit counters and what each effect holds of them", _COUNTERS),
    Migration(3, "plans of several steps, each recorded once", _PLANS),
    Migration(4, "capability sessions", _SESSIONS),
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
            for statement in migration.statements:
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
