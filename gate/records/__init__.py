"""Systems of record: one `Store` for runs, events, approvals and side effects, and reviewers' signed votes.

Only re-exports.
"""

from __future__ import annotations

from gate.records.chains import ChainState
from gate.records.database import ISOLATION_LEVELS
from gate.records.heads import GateKey, PublicKey, SignedHead
from gate.records.keyfile import ReviewerKey, read_key_file, write_key_file
from gate.records.model import (
    ApprovalRecord,
    ApprovalRequest,
    ApprovalStatus,
    Claim,
    Claimed,
    CounterRecord,
    CounterUse,
    EffectRecord,
    EffectStatus,
    Event,
    HistoryStep,
    IdempotencyRecord,
    PlanRecord,
    ReconcileOutcome,
    RunHistory,
    RunRecord,
    RunStatus,
    SessionRecord,
    SessionStatus,
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
    "ISOLATION_LEVELS",
    "ApprovalRecord",
    "ApprovalRequest",
    "ApprovalStatus",
    "ChainState",
    "Claim",
    "Claimed",
    "CounterRecord",
    "CounterUse",
    "EffectRecord",
    "EffectStatus",
    "Event",
    "GateKey",
    "HistoryStep",
    "IdempotencyRecord",
    "PlanRecord",
    "PublicKey",
    "ReconcileOutcome",
    "ReviewerKey",
    "RunHistory",
    "RunRecord",
    "RunStatus",
    "SessionRecord",
    "SessionStatus",
    "SignedHead",
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
