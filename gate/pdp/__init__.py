"""Asking the decision point: OPA beside the gate, or the same Rego inside the process."""

from __future__ import annotations

from gate.pdp.embedded import EmbeddedDecisionPoint
from gate.pdp.manifest import manifest_revision
from gate.pdp.protocol import DecisionPoint, Facts, Reply
from gate.pdp.sidecar import Sidecar
from gate.pdp.sidecar_client import SidecarDecisionPoint

__all__ = [
    "DecisionPoint",
    "EmbeddedDecisionPoint",
    "Facts",
    "Reply",
    "Sidecar",
    "SidecarDecisionPoint",
    "manifest_revision",
]
