"""The policy information point: turns host context, records and a request into one input document."""

from __future__ import annotations

from gate.evidence.action import Action, arguments_digest, redacted_view
from gate.evidence.builder import EvidenceBuilder, Prepared
from gate.evidence.compaction import CompactionSource, StatedRule, stated_rules
from gate.evidence.host import ABSENT, Call, Identity, Run, require_text
from gate.evidence.plan import HttpRights, PlanPlace, PlanStep, Requirement, RequirementAdapter, RightsService
from gate.evidence.signed import SignedEvidence, sign_evidence
from gate.evidence.source import Evidence, EvidenceSource, Question

__all__ = [
    "ABSENT",
    "Action",
    "Call",
    "CompactionSource",
    "Evidence",
    "EvidenceBuilder",
    "EvidenceSource",
    "HttpRights",
    "Identity",
    "PlanPlace",
    "PlanStep",
    "Prepared",
    "Question",
    "Requirement",
    "RequirementAdapter",
    "RightsService",
    "Run",
    "SignedEvidence",
    "StatedRule",
    "arguments_digest",
    "redacted_view",
    "require_text",
    "sign_evidence",
    "stated_rules",
]
