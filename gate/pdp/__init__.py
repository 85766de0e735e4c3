"""Asking the decision point: OPA beside the gate, or the same Rego inside the process."""

from __future__ import annotations

from gate.pdp.embedded import EmbeddedDecisionPoint
from gate.pdp.manifest import manifest_revision, require_versions
from gate.pdp.protocol import DecisionPoint, Facts, Reply
from gate.pdp.sidecar import Sidecar
from gate.pdp.sidecar_client import SidecarDecisionPoint
from gate.pdp.sidecar_files import Tls
from gate.pdp.signature import VerificationKey, verify_bundle
from gate.pdp.status import SidecarStatus
from gate.pdp.watching import BundleServer, Polling, publish

__all__ = [
    "BundleServer",
    "DecisionPoint",
    "EmbeddedDecisionPoint",
    "Facts",
    "Polling",
    "Reply",
    "Sidecar",
    "SidecarDecisionPoint",
    "SidecarStatus",
    "Tls",
    "VerificationKey",
    "manifest_revision",
    "publish",
    "require_versions",
    "verify_bundle",
]
