"""A policy-as-code gate for AI agents on Open Policy Agent: Python gathers evidence, Rego decides, Python enforces."""

from __future__ import annotations

import logging

from gate.continuity import Boundary, ContextView, Resumption, UserConstraint
from gate.decision import ActionBlocked, Decision, Reason, Verdict
from gate.enforcement import (
    AlreadyCommitted,
    AsyncGate,
    CallRefused,
    EffectNotStarted,
    EffectOutcomeUnknown,
    Gate,
    PlanIncomplete,
    PlanRun,
    ToolCall,
    VerifiedCall,
)
from gate.errors import BundleError, GateError, InputError, PdpError, Problem
from gate.evidence import (
    ABSENT,
    Call,
    EvidenceSource,
    Identity,
    PlanStep,
    Question,
    Requirement,
    Run,
    SignedEvidence,
    sign_evidence,
)
from gate.pdp import EmbeddedDecisionPoint, SidecarDecisionPoint
from gate.records import Store
from gate.trace import JsonlSink

# A library stays silent until its host configures logging.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "ABSENT",
    "ActionBlocked",
    "AlreadyCommitted",
    "AsyncGate",
    "Boundary",
    "BundleError",
    "Call",
    "CallRefused",
    "ContextView",
    "Decision",
    "EffectNotStarted",
    "EffectOutcomeUnknown",
    "EmbeddedDecisionPoint",
    "EvidenceSource",
    "Gate",
    "GateError",
    "Identity",
    "InputError",
    "JsonlSink",
    "PdpError",
    "PlanIncomplete",
    "PlanRun",
    "PlanStep",
    "Problem",
    "Question",
    "Reason",
    "Requirement",
    "Resumption",
    "Run",
    "SidecarDecisionPoint",
    "SignedEvidence",
    "Store",
    "ToolCall",
    "UserConstraint",
    "Verdict",
    "VerifiedCall",
    "sign_evidence",
]
