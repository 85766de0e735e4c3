"""The policy information point: turns host context, records and a request into one input document."""

from __future__ import annotations

from gate.evidence.action import Action, arguments_digest, redacted_view
from gate.evidence.builder import EvidenceBuilder, Prepared
from gate.evidence.catalog import ToolCatalog
from gate.evidence.compaction import CompactionSource, StatedRule, stated_rules
from gate.evidence.credentials import Connection, CredentialBindings, CredentialProvider
from gate.evidence.host import ABSENT, Call, Identity, Run, require_text
from gate.evidence.http_json import JsonService
from gate.evidence.ingress import IngressVerifier
from gate.evidence.mcp_server import McpRegistration, McpRegistry, McpServer
from gate.evidence.oauth import Introspection, OAuthGrants
from gate.evidence.plan import HttpRights, PlanPlace, PlanStep, Requirement, RequirementAdapter, RightsService
from gate.evidence.sandbox import SandboxSource
from gate.evidence.services import RecordSource, VerifierSource, ownership_source, retrieval_source
from gate.evidence.sessions import SessionEvidence
from gate.evidence.signed import SignedEvidence, sign_evidence
from gate.evidence.source import Evidence, EvidenceSource, Question

__all__ = [
    "ABSENT",
    "Action",
    "Call",
    "CompactionSource",
    "Connection",
    "CredentialBindings",
    "CredentialProvider",
    "Evidence",
    "EvidenceBuilder",
    "EvidenceSource",
    "HttpRights",
    "Identity",
    "IngressVerifier",
    "Introspection",
    "JsonService",
    "McpRegistration",
    "McpRegistry",
    "McpServer",
    "OAuthGrants",
    "PlanPlace",
    "PlanStep",
    "Prepared",
    "Question",
    "RecordSource",
    "Requirement",
    "RequirementAdapter",
    "RightsService",
    "Run",
    "SandboxSource",
    "SessionEvidence",
    "SignedEvidence",
    "StatedRule",
    "ToolCatalog",
    "VerifierSource",
    "arguments_digest",
    "ownership_source",
    "redacted_view",
    "require_text",
    "retrieval_source",
    "sign_evidence",
    "stated_rules",
]
