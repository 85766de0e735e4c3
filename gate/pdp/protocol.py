"""What a decision point is to the rest of the gate: a document in, a reply out, never a guess.

Nothing here talks to a network. Implementations: `gate.pdp.sidecar_client` (OPA over TCP or a unix socket) and
`gate.pdp.embedded` (in-process, not for production).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gate.decision import Decision


@dataclass(frozen=True, slots=True)
class Reply:
    """A decision that has passed every check of `gate.pdp.reply`."""

    decision: Decision
    revision: str
    """Revision of the one bundle the decision came from."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the gate must know before it can ask: read from the served bundle, never from a caller."""

    revision: str
    bundle: Mapping[str, Any] | None = None
    """bundle_id, version, release_identity, contract_version; None when the agent is not governed."""
    capabilities: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Compiled catalog entry by capability name."""
    contracts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Compiled approval contract by capability name."""
    reviewers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Compiled reviewer by id: human, roles, keys by key id."""
    show_arguments: Mapping[str, list[str]] = field(default_factory=dict)
    """JSON pointers an approval view may show, by capability."""
    evidence: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Evidence contract by section: greatest age, trusted checkers, public keys by key id."""
    trajectory: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By capability, what a call leaves in the history of its run: pointers of fingerprints and counters."""
    plans: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By capability, its part in plans of several steps: role, plan, steps."""


class DecisionPoint(Protocol):
    """Raises `PdpError` with a `pdp_*` code whenever it cannot give a decision that can be trusted."""

    def decide(self, document: Mapping[str, Any]) -> Reply:
        """The decision about `document` (`schemas/input.schema.json`)."""

    def facts(self, agent_id: str) -> Facts:
        """The facts of the bundle that governs `agent_id`, cached by revision."""

    def revision(self) -> str:
        """The revision being served now."""

    def ready(self) -> bool:
        """True when the expected revision answers."""

    def close(self) -> None:
        """Releases connections; later calls raise `PdpError` with code `pdp_closed`."""
