"""The statements of each version of the store's schema, as they were released: none is ever edited.

Data only; `gate.records.migrations` takes the steps. What SQLite and PostgreSQL share is written once.
"""

from __future__ import annotations

INITIAL = (
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

COUNTERS = (
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

APPROVAL_LIFE = (
    """ALTER TABLE runs ADD COLUMN waiting_for TEXT""",
    """ALTER TABLE approvals ADD COLUMN escalated_at_ms BIGINT""",
    """ALTER TABLE approvals ADD COLUMN standing_digest TEXT""",
    """ALTER TABLE approvals ADD COLUMN standing_terms TEXT""",
    """CREATE UNIQUE INDEX approvals_one_standing ON approvals (tenant_id, standing_digest, contract_digest)
        WHERE standing_digest IS NOT NULL AND status IN ('pending', 'approved')""",
    """CREATE INDEX approvals_by_standing ON approvals (tenant_id, standing_digest, contract_digest, ordinal)
        WHERE standing_digest IS NOT NULL""",
    """CREATE INDEX approvals_of_intent ON approvals (tenant_id, principal_id, intent_digest)
        WHERE status IN ('pending', 'rejected')""",
    """CREATE INDEX approvals_of_standing_intent ON approvals (tenant_id, principal_id, standing_digest)
        WHERE standing_digest IS NOT NULL AND status IN ('pending', 'rejected')""",
    """CREATE TABLE approval_uses (
        tenant_id TEXT NOT NULL, approval_id TEXT NOT NULL, use_no BIGINT NOT NULL CHECK (use_no >= 1),
        run_id TEXT NOT NULL, principal_id TEXT NOT NULL, capability TEXT NOT NULL, business_key TEXT NOT NULL,
        fencing BIGINT NOT NULL, used_at_ms BIGINT NOT NULL, PRIMARY KEY (tenant_id, approval_id, use_no),
        FOREIGN KEY (tenant_id, approval_id) REFERENCES approvals (tenant_id, approval_id))""",
    """CREATE TABLE denied_keys (
        tenant_id TEXT NOT NULL, key_id TEXT NOT NULL, public_key TEXT, reason TEXT NOT NULL,
        denied_by TEXT NOT NULL, denied_at_ms BIGINT NOT NULL, PRIMARY KEY (tenant_id, key_id))""",
)

DISPATCHES = (
    """CREATE TABLE dispatches (
        tenant_id TEXT NOT NULL, principal_id TEXT NOT NULL, capability TEXT NOT NULL, business_key TEXT NOT NULL,
        fencing BIGINT NOT NULL, run_id TEXT NOT NULL, dispatched_by TEXT NOT NULL, dispatched_at_ms BIGINT NOT NULL,
        PRIMARY KEY (tenant_id, principal_id, capability, business_key, fencing),
        FOREIGN KEY (tenant_id, principal_id, capability, business_key)
            REFERENCES effects (tenant_id, principal_id, capability, business_key))""",
)

CONTINUITY = (
    "ALTER TABLE runs ADD COLUMN epoch BIGINT NOT NULL DEFAULT 1 CHECK (epoch >= 1)",
    "ALTER TABLE runs ADD COLUMN boundary_id TEXT",
    "ALTER TABLE approvals ADD COLUMN epoch BIGINT NOT NULL DEFAULT 1 CHECK (epoch >= 1)",
    "ALTER TABLE approvals ADD COLUMN capability_version TEXT",
    "ALTER TABLE approvals ADD COLUMN idempotency_key TEXT",
    "ALTER TABLE approvals ADD COLUMN business_key TEXT",
    """CREATE TABLE boundaries (
        tenant_id TEXT NOT NULL, envelope_id TEXT NOT NULL, run_id TEXT NOT NULL, session_id TEXT NOT NULL,
        source_trace_id TEXT NOT NULL,
        reason TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('open', 'sealed', 'resumed', 'abandoned')),
        body TEXT NOT NULL, requested BIGINT NOT NULL CHECK (requested IN (0, 1)),
        epoch BIGINT NOT NULL CHECK (epoch >= 1), first_seq BIGINT NOT NULL CHECK (first_seq >= 1),
        last_seq BIGINT NOT NULL, written_at_ms BIGINT NOT NULL, version BIGINT NOT NULL CHECK (version >= 1),
        summary_sha256 TEXT, seal TEXT, resumed_by TEXT,
        PRIMARY KEY (tenant_id, envelope_id),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    """CREATE UNIQUE INDEX boundaries_one_open ON boundaries (tenant_id, run_id)
        WHERE status IN ('open', 'sealed')""",
    # Whoever edits the status of a row back cannot make room for a second resume of the same epoch.
    """CREATE UNIQUE INDEX boundaries_one_resume ON boundaries (tenant_id, run_id, epoch)
        WHERE status = 'resumed'""",
    "CREATE INDEX boundaries_by_run ON boundaries (tenant_id, run_id, last_seq)",
    """CREATE TABLE run_progress (
        tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, objective TEXT NOT NULL, open_work TEXT NOT NULL,
        evidence_refs TEXT NOT NULL, checkpoint_ref TEXT, sandbox_snapshot_ref TEXT, budget_remaining TEXT,
        version BIGINT NOT NULL CHECK (version >= 1), recorded_at_ms BIGINT NOT NULL,
        PRIMARY KEY (tenant_id, run_id),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    """CREATE TABLE obligations (
        tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, obligation TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('open', 'closed')), opened_at_ms BIGINT NOT NULL,
        version BIGINT NOT NULL CHECK (version >= 1), evidence_ref TEXT,
        PRIMARY KEY (tenant_id, run_id, obligation),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    """CREATE TABLE user_constraints (
        tenant_id TEXT NOT NULL, constraint_id TEXT NOT NULL, principal_id TEXT NOT NULL, run_id TEXT NOT NULL,
        source_event TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('active', 'withdrawn')),
        action TEXT NOT NULL CHECK (action IN ('deny', 'require_approval')), applies_to TEXT NOT NULL,
        predicate TEXT NOT NULL, dnf TEXT NOT NULL, words TEXT NOT NULL, digest TEXT NOT NULL,
        recorded_at_ms BIGINT NOT NULL, valid_until_ms BIGINT NOT NULL,
        version BIGINT NOT NULL CHECK (version >= 1), withdrawn_by TEXT,
        PRIMARY KEY (tenant_id, constraint_id),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    "CREATE INDEX user_constraints_active ON user_constraints (tenant_id, principal_id) WHERE status = 'active'",
    """CREATE INDEX effects_unsettled ON effects (tenant_id, run_id)
        WHERE status IN ('in_flight', 'side_effect_unknown', 'partial_side_effect')""",
    """CREATE INDEX approvals_open_by_run ON approvals (tenant_id, run_id)
        WHERE status IN ('pending', 'approved')""",
)

PLANS = (
    """CREATE TABLE plans (
        tenant_id TEXT NOT NULL, plan_ref TEXT NOT NULL, run_id TEXT NOT NULL, principal_id TEXT NOT NULL,
        capability TEXT NOT NULL, task_ref TEXT NOT NULL, plan_digest TEXT NOT NULL, content TEXT NOT NULL,
        recorded_at_ms BIGINT NOT NULL, PRIMARY KEY (tenant_id, plan_ref),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
)

SESSIONS = (
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

LONG_TASKS = (
    """CREATE TABLE task_events (
        tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, sequence BIGINT NOT NULL CHECK (sequence >= 1),
        position BIGINT NOT NULL CHECK (position >= 1), event_id TEXT NOT NULL, event_type TEXT NOT NULL,
        digest TEXT NOT NULL, chain_seq BIGINT NOT NULL, size_bytes BIGINT NOT NULL, recorded_at_ms BIGINT NOT NULL,
        body TEXT, salt TEXT,
        PRIMARY KEY (tenant_id, run_id, sequence), UNIQUE (tenant_id, run_id, event_id),
        UNIQUE (tenant_id, run_id, position),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    """CREATE TABLE task_artifacts (
        tenant_id TEXT NOT NULL, artifact_id TEXT NOT NULL, run_id TEXT NOT NULL, namespace TEXT NOT NULL,
        first_sequence BIGINT NOT NULL CHECK (first_sequence >= 1), last_sequence BIGINT NOT NULL,
        schema_version TEXT NOT NULL, digest TEXT NOT NULL, source_digest TEXT NOT NULL,
        workspace_digest TEXT NOT NULL, generation BIGINT NOT NULL CHECK (generation >= 1),
        direct_source TEXT NOT NULL CHECK (direct_source IN ('event_log', 'artifact', 'migration')),
        generator TEXT NOT NULL, generator_version TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('stored', 'held', 'tainted', 'cleaned', 'erased')),
        status_reason TEXT NOT NULL, size_bytes BIGINT NOT NULL, created_at_ms BIGINT NOT NULL,
        version BIGINT NOT NULL CHECK (version >= 1), body TEXT, parent_artifact_id TEXT, parent_digest TEXT,
        PRIMARY KEY (tenant_id, artifact_id),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    "CREATE INDEX task_artifacts_by_run ON task_artifacts (tenant_id, run_id, created_at_ms)",
    "CREATE INDEX task_artifacts_by_parent ON task_artifacts (tenant_id, parent_artifact_id)",
    """CREATE TABLE task_checkpoints (
        tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, checkpoint_id TEXT NOT NULL, artifact_id TEXT NOT NULL,
        artifact_digest TEXT NOT NULL, digest TEXT NOT NULL, workspace_digest TEXT NOT NULL, namespace TEXT NOT NULL,
        event_cursor BIGINT NOT NULL CHECK (event_cursor >= 0), ordinal BIGINT NOT NULL CHECK (ordinal >= 1),
        committed_at_ms BIGINT NOT NULL, body TEXT, envelope_id TEXT,
        PRIMARY KEY (tenant_id, run_id, checkpoint_id), UNIQUE (tenant_id, run_id, ordinal),
        FOREIGN KEY (tenant_id, artifact_id) REFERENCES task_artifacts (tenant_id, artifact_id))""",
    "CREATE INDEX task_checkpoints_by_artifact ON task_checkpoints (tenant_id, artifact_id)",
    """CREATE UNIQUE INDEX task_checkpoints_by_envelope ON task_checkpoints (tenant_id, envelope_id)
        WHERE envelope_id IS NOT NULL""",
    """CREATE TABLE task_locators (
        tenant_id TEXT NOT NULL, artifact_id TEXT NOT NULL, locator_id TEXT NOT NULL, kind TEXT NOT NULL,
        content_digest TEXT NOT NULL, workspace_digest TEXT NOT NULL,
        result TEXT NOT NULL CHECK (result IN ('unresolved', 'match', 'missing', 'stale', 'denied')),
        version BIGINT NOT NULL CHECK (version >= 1), resolved_at_ms BIGINT NOT NULL, ref TEXT,
        PRIMARY KEY (tenant_id, artifact_id, locator_id),
        FOREIGN KEY (tenant_id, artifact_id) REFERENCES task_artifacts (tenant_id, artifact_id))""",
    """CREATE TABLE task_packets (
        tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, ordinal BIGINT NOT NULL, packet_digest TEXT NOT NULL,
        artifact_id TEXT NOT NULL, checkpoint_id TEXT NOT NULL, size_bytes BIGINT NOT NULL,
        built_at_ms BIGINT NOT NULL, envelope_id TEXT, items TEXT,
        PRIMARY KEY (tenant_id, run_id, ordinal),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    "CREATE INDEX task_packets_by_artifact ON task_packets (tenant_id, artifact_id)",
    """CREATE TABLE task_ledger (
        tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, ordinal BIGINT NOT NULL, kind TEXT NOT NULL,
        outcome TEXT NOT NULL, operator TEXT NOT NULL, audit TEXT NOT NULL, bytes_before BIGINT NOT NULL,
        bytes_after BIGINT NOT NULL, duration_ms BIGINT NOT NULL, recorded_at_ms BIGINT NOT NULL,
        PRIMARY KEY (tenant_id, run_id, ordinal),
        FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id))""",
    """CREATE TABLE task_receipts (
        tenant_id TEXT NOT NULL, session_id TEXT NOT NULL, receipt_id TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('frozen', 'erased')), requested_by TEXT NOT NULL,
        reason TEXT NOT NULL, counts TEXT NOT NULL, frozen_at_ms BIGINT NOT NULL,
        version BIGINT NOT NULL CHECK (version >= 1), digest TEXT, erased_at_ms BIGINT,
        PRIMARY KEY (tenant_id, session_id))""",
    "CREATE INDEX runs_by_session ON runs (tenant_id, session_id)",
)

ALTERATIONS = (
    """CREATE TABLE constraint_versions (
        tenant_id TEXT NOT NULL, principal_id TEXT NOT NULL, version BIGINT NOT NULL CHECK (version >= 0),
        PRIMARY KEY (tenant_id, principal_id))""",
    "INSERT INTO constraint_versions SELECT DISTINCT tenant_id, principal_id, 0 FROM runs",
    "ALTER TABLE runs ADD COLUMN parent_run_id TEXT",
    "ALTER TABLE runs ADD COLUMN forked_from TEXT",
    """CREATE TABLE event_alterations (
        tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, seq BIGINT NOT NULL,
        PRIMARY KEY (tenant_id, run_id, seq))""",
)

# Whoever reads what a run did skips the links of its long-task log, of which there may be a million.
TOLD = (
    """CREATE INDEX events_told ON events (tenant_id, run_id, seq, event_type)
        WHERE event_type <> 'task_event'""",
)

# The gate only ever appends; whoever does anything else with an event leaves a note here, and the run is walked again.
NOTED_BY = {
    "sqlite": (
        """CREATE TRIGGER events_changed AFTER UPDATE ON events BEGIN
            INSERT OR IGNORE INTO event_alterations VALUES (OLD.tenant_id, OLD.run_id, OLD.seq);
            END""",
        """CREATE TRIGGER events_removed AFTER DELETE ON events BEGIN
            INSERT OR IGNORE INTO event_alterations VALUES (OLD.tenant_id, OLD.run_id, OLD.seq);
            END""",
        # SQLite does not tell a trigger of the row that `INSERT OR REPLACE` removes.
        """CREATE TRIGGER events_replaced BEFORE INSERT ON events BEGIN
            INSERT OR IGNORE INTO event_alterations SELECT e.tenant_id, e.run_id, e.seq FROM events e
                WHERE e.tenant_id = NEW.tenant_id AND e.run_id = NEW.run_id AND e.seq = NEW.seq;
            INSERT OR IGNORE INTO event_alterations SELECT e.tenant_id, e.run_id, e.seq FROM events e
                WHERE e.tenant_id = NEW.tenant_id AND e.run_id = NEW.run_id AND e.prev_hash = NEW.prev_hash;
            END""",
    ),
    "postgresql": (
        """CREATE FUNCTION note_event_alteration() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT
            AS $$ BEGIN
            INSERT INTO event_alterations VALUES (OLD.tenant_id, OLD.run_id, OLD.seq) ON CONFLICT DO NOTHING;
            RETURN NULL;
            END $$""",
        """CREATE TRIGGER events_changed AFTER UPDATE OR DELETE ON events
            FOR EACH ROW EXECUTE FUNCTION note_event_alteration()""",
        # Also for a session that says it is a replica: the ordinary way around triggers.
        "ALTER TABLE events ENABLE ALWAYS TRIGGER events_changed",
    ),
}
