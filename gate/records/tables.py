"""The tables as queries see them: names and columns.

Keys, checks and indexes are declared once, in `gate.records.migrations`; nothing here creates a table.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, MetaData, Table, Text

METADATA = MetaData()


def _table(name: str, texts: str, numbers: str, optional: str = "") -> Table:
    """A table of text and whole-number columns; the `optional` text columns may be NULL."""
    columns: list[Column[str] | Column[int]] = [Column(c, Text, nullable=False) for c in texts.split()]
    columns += [Column(c, Text, nullable=True) for c in optional.split()]
    columns += [Column(c, BigInteger, nullable=False) for c in numbers.split()]
    return Table(name, METADATA, *columns)


SCHEMA_VERSION = _table("schema_version", "", "version applied_at_ms")

RUNS = _table(
    "runs",
    "tenant_id run_id agent_id principal_id session_id trace_id authorization_mode status status_reason head_hash",
    "version head_seq",
    "delegated_principal_id delegated_scope",
)

EVENTS = _table("events", "tenant_id run_id prev_hash hash event_type payload", "seq at_ms")

APPROVALS = _table(
    "approvals",
    "tenant_id approval_id run_id status status_reason capability contract_id contract_digest action_digest "
    "intent_digest nonce principal_id agent_id session_id trace_id requested_by reason bundle_version "
    "release_identity view",
    "ordinal created_at_ms expires_at_ms version",
)

APPROVAL_VOTES = _table(
    "approval_votes", "tenant_id approval_id payload_digest payload signature", "vote_no cast_at_ms"
)

APPROVAL_CONSUMPTIONS = _table(
    "approval_consumptions",
    "tenant_id approval_id run_id principal_id capability business_key",
    "fencing consumed_at_ms",
)

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
