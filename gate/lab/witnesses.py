"""Who vouches in a story: a verifier that signs with a throw-away key, and a registry of MCP servers.

Real sources, as a host would have them; only their house is small. The verifier judges what a call says and knows
nothing of approvals; no key of it exists outside one performance.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gate.canonical import digest
from gate.compiler import Compiled
from gate.evidence import EvidenceSource, sign_evidence
from gate.evidence.mcp_server import McpRegistration, McpRegistry
from gate.evidence.services import VerifierSource
from gate.records import generate_key

CONTRACT: Final[Mapping[str, Any]] = {
    "contract": "ticket-quality-verifier-v2",
    "version": "2",
    "passes_when": ["some argument is text", "no argument is blank", "no argument holds a credential"],
}
"""What the verifier promises to look at; bundles trust exactly this text, by its digest."""

_VERIFIER_KEY = re.compile(r"(?P<head>verifier:(?:\n +[^\n]+)*?\n +signature_keys:\n +[A-Za-z0-9._-]+: )\S+")
_CREDENTIAL = re.compile(r"password|api[_-]?key|bearer ", re.IGNORECASE)
_HIGH = frozenset({"high", "critical"})


def contract_digest() -> str:
    """The digest under which a bundle trusts `CONTRACT`."""
    return digest({"domain": "gate-verifier-contract/v1", **CONTRACT})


@dataclass(frozen=True, slots=True)
class Verifier:
    """Judges the texts of a call, and signs what it found about exactly that action."""

    key_id: str
    private_key: str
    environment: str

    def ask(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """The signed verdict, as a verifier over HTTP would answer."""
        signed = sign_evidence(
            {
                "contract": CONTRACT["contract"],
                "contract_version": CONTRACT["version"],
                "contract_digest": contract_digest(),
                "verdict": "passed" if _sound(question.get("arguments")) else "failed",
                "action_digest": question["action_digest"],
                "checked_at_ms": question["asked_at_ms"],
            },
            section="verifier",
            environment=self.environment,
            key_id=self.key_id,
            private_key=self.private_key,
        )
        return {
            "payload": base64.b64encode(signed.payload).decode("ascii"),
            "signature": base64.b64encode(signed.signature).decode("ascii"),
        }


def _sound(arguments: object) -> bool:
    if not isinstance(arguments, Mapping):
        return False
    texts = [value for value in arguments.values() if isinstance(value, str)]
    return bool(texts) and all(text.strip() and not _CREDENTIAL.search(text) for text in texts)


@dataclass(frozen=True, slots=True)
class Witnesses:
    """The sources of one performance, and the key that its bundle has to name."""

    private_key: str
    public_key: str

    @classmethod
    def hired(cls) -> Witnesses:
        """Witnesses with a key of their own."""
        return cls(*generate_key())

    def introduce(self, copy: Path) -> None:
        """Makes the bundle in the folder `copy` name this verifier's key, when it names a verifier's key at all."""
        policy = copy / "policy.yaml"
        policy.write_text(_VERIFIER_KEY.sub(lambda m: m["head"] + self.public_key, policy.read_text("utf-8")), "utf-8")

    def sources(self, compiled: Compiled, *, environment: str) -> tuple[EvidenceSource, ...]:
        """What the compiled bundle wants vouched for: calls of high risk, and servers of tools."""
        bundle = compiled.bundle
        servers = {
            entry.server: McpRegistration(owner=entry.owner, discovery_source="approved_registry", auth_mode="oauth")
            for entry in bundle.capabilities.values()
            if entry.server is not None
        }
        contract = bundle.policy.evidence.get("verifier")
        registry = McpRegistry(servers)
        if contract is None or not contract.signature_keys:
            return (registry,)
        verifier = Verifier(next(iter(contract.signature_keys)), self.private_key, environment)
        risky = frozenset(name for name, entry in bundle.capabilities.items() if entry.risk_tier in _HIGH)
        judged = VerifierSource(
            ask=verifier.ask, capabilities=risky, checked_by="svc-ticket-quality", shows_arguments=True
        )
        return registry, judged
