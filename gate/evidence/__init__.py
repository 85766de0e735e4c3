"""The policy information point: turns host context, records and a request into one input document."""

from __future__ import annotations

from gate.evidence.action import Action, arguments_digest, redacted_view
from gate.evidence.builder import EvidenceBuilder, Prepared
from gate.evidence.host import ABSENT, Call, Identity, Run, require_text

__all__ = [
    "ABSENT",
    "Action",
    "Call",
    "EvidenceBuilder",
    "Identity",
    "Prepared",
    "Run",
    "arguments_digest",
    "redacted_view",
    "require_text",
]
