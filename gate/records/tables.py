"""The tables as queries see them: names and columns.

Keys, checks and indexes are declared once, in `gate.records.migrations`; nothing here creates a table.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, MetaData, Table, Text

METADATA = MetaData()


def _table(name: str, texts: str, numbers: str, optional: str = "", optional_numbers: str = "") -> Table:
    """A table of text and whole-number columns; the `optional` ones may be NULL."""
    columns: list[Column[str] | Column[int]] = [Column(c, Text, nullable=False) for c in texts.split()]
    columns += [Column(c, Text, nullable=True) for c in optional.split()]
    columns += [Column(c, BigInteger, nullable=False) for c in numbers.split()]
    columns += [Column(c, BigInteger, nullable=True) for c in optional_numbers.split()]
    return Table(name, METADATA, *columns)


SCHEMA_VERSION = _table("schema_version", "", "version applied_at_ms")

RUNS = _table(
    "runs",
    "tenant_id run_id agent_id principal_id session_id trace_id authorization_mode status status_reason head_hash",
    "version head_seq epoch",
    "delegated_principal_id delegated_scope waiting_for boundary_id parent_run_id forked_from",
)

EVENTS = _table("events", "tenant_id run_id prev_hash hash event_type payload", "seq at_ms")

EVENT_ALTERATIONS = _table("event_alterations", "tenant_id run_id", "seq")
"""Written by the database itself when somebody changes, replaces or removes an event."""

APPROVALS = _table(
    "approvals",
    "tenant_id approval_id run_id status status_reason capability contract_id contract_digest action_digest "
    "intent_digest nonce principal_id agent_id session_id trace_id requested_by reason bundle_version "
    "release_identity view",
    "ordinal created_at_ms expires_at_ms version epoch",
    "standing_digest standing_terms capability_version idempotency_key business_key",
    "escalated_at_ms",
)

APPROVAL_VOTES = _table(
    "approval_votes", "tenant_id approval_id payload_digest payload signature", "vote_no cast_at_ms"
)

APPROVAL_CONSUMPTIONS = _table(
    "approval_consumptions",
    "tenant_id approval_id run_id principal_id capability business_key",
    "fencing consumed_at_ms",
)

APPROVAL_USES = _table(
    "approval_uses",
    "tenant_id approval_id run_id principal_id capability business_key",
    "use_no fencing used_at_ms",
)

DENIED_KEYS = _table("denied_keys", "tenant_id key_id reason denied_by", "denied_at_ms", "public_key")

IDEMPOTENCY = _table(
    "idempotency_keys",
    "tenant_id principal_id capability idempotency_key action_digest run_id",
    "first_used_at_ms",
)

EFFECTS = _table(
    "effects",
    "tenant_id principal_id capability business_key status idempotency_key action_digest run_id owner",
    "fencing attempt lease_expires_at_ms version updated_at_ms",
    "receipt late_receipt evidence_ref",
)

PLANS = _table(
    "plans",
    "tenant_id plan_ref run_id principal_id capability task_ref plan_digest content",
    "recorded_at_ms",
)

CAPABILITY_SESSIONS = _table(
    "capability_sessions",
    "tenant_id session_id run_id principal_id trace_session_id server status",
    "opened_at_ms expires_at_ms paused_at_ms progress_events elicitations version changed_at_ms",
    "capability remote_digest reinitialized_from",
)

COUNTERS = _table("counters", "tenant_id name", "value version updated_at_ms")

COUNTER_USES = _table(
    "counter_uses", "tenant_id principal_id capability business_key name status", "attempt amount counted_at_ms"
)

DISPATCHES = _table(
    "dispatches", "tenant_id principal_id capability business_key run_id dispatched_by", "fencing dispatched_at_ms"
)
BOUNDARIES = _table(
    "boundaries",
    "tenant_id envelope_id run_id session_id source_trace_id reason status body",
    "requested epoch first_seq last_seq written_at_ms version",
    "summary_sha256 seal resumed_by",
)

RUN_PROGRESS = _table(
    "run_progress",
    "tenant_id run_id objective open_work evidence_refs",
    "version recorded_at_ms",
    "checkpoint_ref sandbox_snapshot_ref budget_remaining",
)
"""`budget_remaining` is a whole number as text, because it may be absent."""

OBLIGATIONS = _table("obligations", "tenant_id run_id obligation status", "opened_at_ms version", "evidence_ref")

CONSTRAINT_VERSIONS = _table("constraint_versions", "tenant_id principal_id", "version")
"""A row for every principal that ever had a run; it grows with whatever is recorded or withdrawn for that principal."""

USER_CONSTRAINTS = _table(
    "user_constraints",
    "tenant_id constraint_id principal_id run_id source_event status action applies_to predicate dnf words digest",
    "recorded_at_ms valid_until_ms version",
    "withdrawn_by",
)
"""`valid_until_ms` is 0 for a constraint that holds until it is withdrawn."""

TASK_EVENTS = _table(
    "task_events",
    "tenant_id run_id event_id event_type digest",
    "sequence position chain_seq size_bytes recorded_at_ms",
    "body salt",
)
"""`body` and `salt` are NULL once the session was forgotten; the chain holds the salted digest only."""

TASK_ARTIFACTS = _table(
    "task_artifacts",
    "tenant_id artifact_id run_id schema_version digest source_digest workspace_digest direct_source generator "
    "generator_version status status_reason namespace",
    "first_sequence last_sequence generation size_bytes created_at_ms version",
    "body parent_artifact_id parent_digest",
)

TASK_CHECKPOINTS = _table(
    "task_checkpoints",
    "tenant_id run_id checkpoint_id artifact_id artifact_digest digest workspace_digest namespace",
    "event_cursor ordinal committed_at_ms",
    "body envelope_id",
)

TASK_LOCATORS = _table(
    "task_locators",
    "tenant_id artifact_id locator_id kind content_digest workspace_digest result",
    "version resolved_at_ms",
    "ref",
)

TASK_PACKETS = _table(
    "task_packets",
    "tenant_id run_id packet_digest artifact_id checkpoint_id",
    "size_bytes ordinal built_at_ms",
    "envelope_id items",
)

TASK_LEDGER = _table(
    "task_ledger",
    "tenant_id run_id kind outcome operator audit",
    "ordinal bytes_before bytes_after duration_ms recorded_at_ms",
)

TASK_RECEIPTS = _table(
    "task_receipts",
    "tenant_id session_id receipt_id status requested_by reason counts",
    "frozen_at_ms version",
    "digest",
    "erased_at_ms",
)
