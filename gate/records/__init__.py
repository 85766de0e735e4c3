"""Systems of record: one `Store` for runs, events, approvals and side effects, and reviewers' signed votes.

Only re-exports.
"""

from __future__ import annotations

from gate.records.boundaries import BoundaryRecord, BoundaryStatus, EventRange, NewChild
from gate.records.chains import ChainState
from gate.records.completion import NARROWED, Completion
from gate.records.constraints import ConstraintRecord, NewConstraint
from gate.records.continuity_store import BoundaryProof, RunSnapshot
from gate.records.database import ISOLATION_LEVELS
from gate.records.dispatches import Dispatch
from gate.records.heads import GateKey, PublicKey, SignedHead
from gate.records.keyfile import ReviewerKey, read_key_file, write_key_file
from gate.records.longtask_erasure import Taint
from gate.records.longtask_model import (
    ArtifactStatus,
    DeletionReceipt,
    LedgerEntry,
    LocatorResult,
    NewTaskEvent,
    TaskArtifact,
    TaskCheckpoint,
    TaskEvent,
    TaskLocator,
    TaskPacket,
)
from gate.records.longtask_store import CommittedPair
from gate.records.model import (
    ApprovalRecord,
    ApprovalRequest,
    Claim,
    Claimed,
    CounterRecord,
    CounterUse,
    DeniedKey,
    EffectRecord,
    Event,
    HistoryStep,
    IdempotencyRecord,
    PlanRecord,
    RunHistory,
    RunRecord,
    SessionRecord,
    StoredVote,
)
from gate.records.open_actions import ActionRef, ActionState
from gate.records.progress import Obligations, OpenWork, Progress
from gate.records.statuses import ApprovalStatus, EffectStatus, ReconcileOutcome, RunStatus, SessionStatus
from gate.records.store import Store
from gate.records.votes import (
    DOMAIN,
    VoteDecision,
    VotePayload,
    generate_key,
    peek_key_id,
    peek_reason,
    public_key_of,
    sign,
    verify,
)

__all__ = [
    "DOMAIN",
    "ISOLATION_LEVELS",
    "NARROWED",
    "ActionRef",
    "ActionState",
    "ApprovalRecord",
    "ApprovalRequest",
    "ApprovalStatus",
    "ArtifactStatus",
    "BoundaryProof",
    "BoundaryRecord",
    "BoundaryStatus",
    "ChainState",
    "Claim",
    "Claimed",
    "CommittedPair",
    "Completion",
    "ConstraintRecord",
    "CounterRecord",
    "CounterUse",
    "DeletionReceipt",
    "DeniedKey",
    "Dispatch",
    "EffectRecord",
    "EffectStatus",
    "Event",
    "EventRange",
    "GateKey",
    "HistoryStep",
    "IdempotencyRecord",
    "LedgerEntry",
    "LocatorResult",
    "NewChild",
    "NewConstraint",
    "NewTaskEvent",
    "Obligations",
    "OpenWork",
    "PlanRecord",
    "Progress",
    "PublicKey",
    "ReconcileOutcome",
    "ReviewerKey",
    "RunHistory",
    "RunRecord",
    "RunSnapshot",
    "RunStatus",
    "SessionRecord",
    "SessionStatus",
    "SignedHead",
    "Store",
    "StoredVote",
    "Taint",
    "TaskArtifact",
    "TaskCheckpoint",
    "TaskEvent",
    "TaskLocator",
    "TaskPacket",
    "VoteDecision",
    "VotePayload",
    "generate_key",
    "peek_key_id",
    "peek_reason",
    "public_key_of",
    "read_key_file",
    "sign",
    "verify",
    "write_key_file",
]
