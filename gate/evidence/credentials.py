"""With whose credential a tool runs: what the host's credential provider says, joined with who asks.

A source of `evidence.credential_binding`. Holds references only: there is no field that a secret could stand in, and
neither principal is ever read from what the model asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from gate.evidence.host import Identity
from gate.evidence.source import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the provider is asked for: the verified caller, and which tool. No argument of the call is in it."""

    identity: Identity
    agent_id: str
    capability: str
    run_id: str
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The binding that the provider would use now. Every field is a reference or a fact, never a secret."""

    connection_ref: str
    credential_ref: str | None
    deployment_ref: str
    tenant_ref: str | None
    effective_principal_ref: str | None
    """Whom the far side will see; None when the provider cannot tell."""
    credential_owner: str | None
    """agent or user, as the provider records it; never inferred from the type."""
    credential_type: str | None
    """secret or oauth."""
    status: str
    """active, revoked, missing or unknown."""
    policy_version: str | None
    """Bundle version the binding was authorized under."""
    authorization_checked_at_ms: int | None
    owner_principal_ref: str | None = None
    """User whose credential it is; None when the agent owns it."""


class CredentialProvider(Protocol):
    """The host's connection store."""

    def binding(self, wanted: Wanted) -> Connection | None:
        """The binding for the call, looked up now; None when the tool needs no credential."""


class CredentialBindings:
    """Asks the provider anew at every call, so that nothing outlives a pause, a change of caller or a revocation."""

    section: Final = "credential_binding"

    def __init__(self, provider: CredentialProvider, *, checked_by: str = "svc-connections") -> None:
        self.checked_by = checked_by
        self._provider = provider

    def collect(self, question: Question) -> Mapping[str, Any] | None:
        """The binding of the called tool; None for anything but a call, or a tool without a credential."""
        if question.call is None:
            return None
        identity = question.run.identity
        connection = self._provider.binding(
            Wanted(
                identity=identity,
                agent_id=question.run.agent_id,
                capability=question.call.capability,
                run_id=question.run.run_id,
                now_ms=question.now_ms,
            )
        )
        if connection is None:
            return None
        return {**asdict(connection), "requester_principal_ref": requester_of(identity)}


def requester_of(identity: Identity) -> str | None:
    """Whom the call is for: the delegating user when there is one, else the principal of the ingress."""
    if identity.authorization_mode == "user_delegated":
        return identity.delegated_principal_id
    return identity.principal_id
