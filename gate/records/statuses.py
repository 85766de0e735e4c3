"""The closed sets of statuses of every record, and the moves between them that the store can make.

Pure: who may ask for a move is decided in Rego; this only says which moves exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class RunStatus(StrEnum):
    """The closed set of run statuses."""

    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    STOPPED = "stopped"


class ApprovalStatus(StrEnum):
    """The closed set of approval statuses."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    REVOKED = "revoked"
    CONSUMED = "consumed"
    CANCELLED = "cancelled"


class EffectStatus(StrEnum):
    """The closed set of side-effect statuses; `not_started` is the absence of a row and is never stored."""

    NOT_STARTED = "not_started"
    IN_FLIGHT = "in_flight"
    COMMITTED = "side_effect_committed"
    UNKNOWN = "side_effect_unknown"
    PARTIAL = "partial_side_effect"
    FAILED_BEFORE_EFFECT = "failed_before_effect"


class ReconcileOutcome(StrEnum):
    """What a person found out about an effect whose outcome was unknown."""

    COMMITTED = "committed"
    NOT_COMMITTED = "not_committed"
    PARTIAL = "partial"


_CLOSED = frozenset({RunStatus.COMPLETED, RunStatus.CANCELLED, RunStatus.STOPPED})

RUN_MOVES: Mapping[RunStatus, frozenset[RunStatus]] = {
    RunStatus.RUNNING: _CLOSED | {RunStatus.PAUSED},
    RunStatus.PAUSED: _CLOSED | {RunStatus.RUNNING},
    RunStatus.COMPLETED: frozenset(),
    RunStatus.CANCELLED: frozenset(),
    RunStatus.STOPPED: frozenset(),
}
"""Statuses a run may move to, by the status it has."""

VOTE_MOVES: Mapping[ApprovalStatus, frozenset[ApprovalStatus]] = {
    ApprovalStatus.PENDING: frozenset(
        {ApprovalStatus.PENDING, ApprovalStatus.APPROVED, ApprovalStatus.REJECTED, ApprovalStatus.CANCELLED}
    ),
    ApprovalStatus.APPROVED: frozenset({ApprovalStatus.REVOKED}),
    # While the claim that consumed it waits for its tool; the consumption stays, so that nothing consumes it again.
    ApprovalStatus.CONSUMED: frozenset({ApprovalStatus.REVOKED}),
}
"""Statuses that a signed word may leave an approval in, by the status it has."""

APPROVAL_MOVES: Mapping[ApprovalStatus, frozenset[ApprovalStatus]] = {
    ApprovalStatus.PENDING: frozenset({ApprovalStatus.EXPIRED, ApprovalStatus.CANCELLED}),
    ApprovalStatus.APPROVED: frozenset({ApprovalStatus.EXPIRED, ApprovalStatus.REVOKED}),
}
"""Moves without a vote or a claim: only a vote approves or rejects, only a claim consumes."""

SETTLED: frozenset[EffectStatus] = frozenset(
    {EffectStatus.COMMITTED, EffectStatus.UNKNOWN, EffectStatus.PARTIAL, EffectStatus.FAILED_BEFORE_EFFECT}
)
"""Statuses a claimed effect may settle to."""

RECONCILED: Mapping[ReconcileOutcome, EffectStatus] = {
    ReconcileOutcome.COMMITTED: EffectStatus.COMMITTED,
    ReconcileOutcome.NOT_COMMITTED: EffectStatus.FAILED_BEFORE_EFFECT,
    ReconcileOutcome.PARTIAL: EffectStatus.PARTIAL,
}
"""Status of an effect after a reconciliation, by its outcome."""


class SessionStatus(StrEnum):
    """How a capability session stands."""

    ACTIVE = "active"
    PAUSED = "paused"
    EXPIRED = "expired"
    CLOSED = "closed"
