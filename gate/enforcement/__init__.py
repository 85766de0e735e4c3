"""The policy enforcement point: asks, then runs the tool, asks for approval, stops or reconciles."""

from __future__ import annotations

from gate.enforcement.async_gate import AsyncGate
from gate.enforcement.gate import Gate
from gate.enforcement.outcome import (
    AlreadyCommitted,
    CallRefused,
    EffectNotStarted,
    EffectOutcomeUnknown,
    PlanIncomplete,
)
from gate.enforcement.plan import PlanRun
from gate.enforcement.review import Reviews
from gate.enforcement.tool_call import ToolCall
from gate.enforcement.verify import VerifiedCall

__all__ = [
    "AlreadyCommitted",
    "AsyncGate",
    "CallRefused",
    "EffectNotStarted",
    "EffectOutcomeUnknown",
    "Gate",
    "PlanIncomplete",
    "PlanRun",
    "Reviews",
    "ToolCall",
    "VerifiedCall",
]
