"""Boundaries of an agent's context, around the gate: write the envelope, validate it, resume once, rebuild the view."""

from __future__ import annotations

from gate.continuity.boundary import Boundary
from gate.continuity.desk import Desk, Recipient
from gate.continuity.envelope import ContinuityEnvelope, ContinuityState, EventRange, PendingAction
from gate.continuity.envelope_checks import ContinuityError
from gate.continuity.resume import Child, Resumption
from gate.continuity.seal import Sealer
from gate.continuity.user_constraints import UserConstraint
from gate.continuity.view import Authority, ContextView, Piece

__all__ = [
    "Authority",
    "Boundary",
    "Child",
    "ContextView",
    "ContinuityEnvelope",
    "ContinuityError",
    "ContinuityState",
    "Desk",
    "EventRange",
    "PendingAction",
    "Piece",
    "Recipient",
    "Resumption",
    "Sealer",
    "UserConstraint",
]
