"""`agent.yaml`, `controls.yaml` and the defaults of `approvals.yaml` as typed values.

Pure data, made from documents that passed their schema. What they say of other documents must not be checked here but
by the linker.
"""

from __future__ import annotations

from dataclasses import dataclass

from gate.documents.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentIdentity:
    """`agent.yaml`: who the agent is, and its approved inventory."""

    id: str
    display_name: str
    owner_team: str
    runtime_principal: str
    """Service principal the agent itself runs as."""
    approved_capabilities: tuple[str, ...]
    """In the order of the YAML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlsPolicy:
    """`controls.yaml`: what must hold around the agent, and what must not."""

    require: tuple[str, ...]
    block_if: tuple[str, ...]
    required_approval_roles: tuple[str, ...]
    """Roles that somebody must hold; empty when the document names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegatedAuthorizationPolicy:
    """`approvals.delegated_authorization`: approvals of calls in a user's name."""

    reviewer_required: str | None
    """Role that one approving reviewer must hold, or None when any role of the contract will do."""
    require_principal_binding: bool
    """The call must be in the name of the very principal that asks. True when left out."""
    require_scope_visibility: bool
    """Every contract must keep the delegated scope in the audit. True when the mapping leaves it out."""
    on_scope_revoked: str | None
    """`cancel_run` or `cancel_or_reapprove`; None when left out. Runtime controls carry it out and must agree."""
    subagent_inheritance: str | None
    """`denied_by_default` or `explicit_only`; None when left out. Runtime controls carry it out and must agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """`approvals`: what a contract that does not say is taken to say."""

    default_reviewer: str
    """Reviewer role."""
    escalation_sla_minutes: int
    delegated_authorization: DelegatedAuthorizationPolicy | None
    """None when the document leaves it out; the policies then take the stricter way."""

    @property
    def max_wait_seconds(self) -> int:
        """Life of a request whose contract states none."""
        return self.escalation_sla_minutes * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """One of `bundle.artifact_lineage`: a version this one was made from."""

    version: str
    change_id: str | None


def agent_identity(document: Document) -> AgentIdentity:
    """The agent that `agent.yaml` states."""
    agent = document.value["agent"]
    return AgentIdentity(
        id=agent["id"],
        display_name=agent["display_name"],
        owner_team=agent["owner_team"],
        runtime_principal=agent["runtime_principal"],
        approved_capabilities=tuple(agent["approved_capabilities"]),
    )


def controls_policy(document: Document) -> ControlsPolicy:
    """The controls that `controls.yaml` states."""
    controls = document.value["controls"]
    return ControlsPolicy(
        require=tuple(controls["require"]),
        block_if=tuple(controls["block_if"]),
        required_approval_roles=tuple(controls.get("required_approval_roles", ())),
    )


def approval_policy(document: Document) -> ApprovalPolicy | None:
    """The defaults that `approvals.yaml` states; None when it has no `approvals`."""
    defaults = document.value.get("approvals")
    if defaults is None:
        return None
    delegated = defaults.get("delegated_authorization")
    return ApprovalPolicy(
        default_reviewer=defaults["default_reviewer"],
        escalation_sla_minutes=defaults["escalation_sla_minutes"],
        delegated_authorization=None
        if delegated is None
        else DelegatedAuthorizationPolicy(
            reviewer_required=delegated.get("reviewer_required_for_user_delegation"),
            require_principal_binding=delegated.get("require_principal_binding", True),
            require_scope_visibility=delegated.get("require_scope_visibility", True),
            on_scope_revoked=delegated.get("on_scope_revoked"),
            subagent_inheritance=delegated.get("subagent_inheritance"),
        ),
    )


def lineage(document: Document) -> tuple[Ancestor, ...]:
    """The ancestors that `bundle.yaml` states, in its order."""
    entries = document.value["bundle"].get("artifact_lineage", ())
    return tuple(Ancestor(version=entry["version"], change_id=entry.get("change_id")) for entry in entries)
