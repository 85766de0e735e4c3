"""Governed documents: strict YAML with positions, schema validation, typed models. Only re-exports."""

from __future__ import annotations

from gate.documents.argument_schema import ArgumentValidator, argument_schema_problems, argument_validator
from gate.documents.bundle import Bundle, load_bundle, with_document
from gate.documents.cases import Case, load_cases
from gate.documents.checkpoints import EVERY, ControlCheckpoint
from gate.documents.compound import CompoundPolicy, PlanCapability, TaskScope
from gate.documents.continuity import ContinuityPolicy
from gate.documents.document import Document, Place, pointer_of, tokens_of
from gate.documents.governance import AgentIdentity, ApprovalPolicy, ControlsPolicy, DelegatedAuthorizationPolicy
from gate.documents.models import (
    ApprovalContract,
    BundleMeta,
    Capability,
    CapabilityPolicy,
    EscalationTerms,
    EvidenceContract,
    PolicyDocument,
    Reviewer,
    ReviewerKey,
    StandingTerms,
)
from gate.documents.resources import evidence_sections, policies_dir, schema, schemas_dir
from gate.documents.runtime_controls import (
    AuthorizationControls,
    McpControls,
    OrchestrationControls,
    RoutingControls,
    RuntimeControls,
    SandboxControls,
    SessionControls,
    VerifierControls,
)
from gate.documents.schema_check import schema_problems
from gate.documents.strict_schema import strict_validator
from gate.documents.timestamps import parse_rfc3339_ms
from gate.documents.trajectory import Observation, TrajectoryPolicy, TrajectoryRule
from gate.documents.visible import escaped, look_alikes, visible
from gate.documents.yaml_source import load

__all__ = [
    "EVERY",
    "AgentIdentity",
    "ApprovalContract",
    "ApprovalPolicy",
    "ArgumentValidator",
    "AuthorizationControls",
    "Bundle",
    "BundleMeta",
    "Capability",
    "CapabilityPolicy",
    "Case",
    "CompoundPolicy",
    "ContinuityPolicy",
    "ControlCheckpoint",
    "ControlsPolicy",
    "DelegatedAuthorizationPolicy",
    "Document",
    "EscalationTerms",
    "EvidenceContract",
    "McpControls",
    "Observation",
    "OrchestrationControls",
    "Place",
    "PlanCapability",
    "PolicyDocument",
    "Reviewer",
    "ReviewerKey",
    "RoutingControls",
    "RuntimeControls",
    "SandboxControls",
    "SessionControls",
    "StandingTerms",
    "TaskScope",
    "TrajectoryPolicy",
    "TrajectoryRule",
    "VerifierControls",
    "argument_schema_problems",
    "argument_validator",
    "escaped",
    "evidence_sections",
    "load",
    "load_bundle",
    "load_cases",
    "look_alikes",
    "parse_rfc3339_ms",
    "pointer_of",
    "policies_dir",
    "schema",
    "schema_problems",
    "schemas_dir",
    "strict_validator",
    "tokens_of",
    "visible",
    "with_document",
]
