"""Systems of record: one `Store` for runs, events, approvals and side effects, and reviewers' signed votes.

Only re-exports.
"""

from __future__ import annotations

from gate.records.keyfile import ReviewerKey, read_key_file, write_key_file
from gate.records.model import (
    ApprovalRecord,
    ApprovalRequest,
    ApprovalStatus,
    Claim,
    Claimed,
    EffectRecord,
    EffectStatus,
    Event,
    IdempotencyRecord,
    ReconcileOutcome,
    RunRecord,
    RunStatus,
    StoredVote,
)
from gate.records.store import Store
from gate.records.votes import (
    DOMAIN,
    VoteDecision,
    VotePayload,
    generate_key,
    peek_key_id,
    public_key_of,
    sign,
    verify,
)

__all__ = [
    "DOMAIN",
    "ApprovalRecord",
    "ApprovalRequest",
    "ApprovalStatus",
    "Claim",
    "Claimed",
    "EffectRecord",
    "EffectStatus",
    "Event",
    "IdempotencyRecord",
    "ReconcileOutcome",
    "ReviewerKey",
    "RunRecord",
    "RunStatus",
    "Store",
    "StoredVote",
    "VoteDecision",
    "VotePayload",
    "generate_key",
    "peek_key_id",
    "public_key_of",
    "read_key_file",
    "sign",
    "verify",
    "write_key_file",
]
