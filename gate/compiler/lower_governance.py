"""Agent, controls and approval defaults of a linked bundle as constants that the core policies look up.

Pure. Decides nothing: what a document leaves out is left out here, and the policies take the stricter way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gate.compiler.link_cases import CONTROLS, observed
from gate.compiler.link_governance import AGENT, APPROVALS
from gate.compiler.model import Constant, Item, Module
from gate.documents import AgentIdentity, ApprovalPolicy, Bundle, ControlsPolicy
from gate.documents import pointer_of as pointer


def governance_modules(bundle: Bundle) -> Iterator[Module]:
    """One module for each of these documents that the bundle has."""
    if bundle.agent is not None:
        yield Module("agent.rego", f"Agent {bundle.agent.id} and its inventory", (_agent(bundle.agent),))
    if bundle.approvals is not None:
        yield Module("approval_policy.rego", "What contracts leave out", (_approval_policy(bundle.approvals),))
    if bundle.controls is not None:
        yield Module("controls.rego", "Required controls", tuple(_controls(bundle.controls)))


def envelope_extras(bundle: Bundle) -> dict[str, Any]:
    """What `bundle.yaml` says of its own making, as far as it says it."""
    meta = bundle.meta
    extras: dict[str, Any] = {}
    if meta.change_id is not None:
        extras["change_id"] = meta.change_id
    if meta.lineage:
        extras["artifact_lineage"] = [{"version": a.version, "change_id": a.change_id} for a in meta.lineage]
    if meta.deprecated_rules:
        extras["deprecated_rules"] = list(meta.deprecated_rules)
    return extras


def _agent(agent: AgentIdentity) -> Constant:
    return Constant(
        name="inventory",
        value={
            "agent_id": agent.id,
            "display_name": agent.display_name,
            "owner_team": agent.owner_team,
            "runtime_principal": agent.runtime_principal,
            # An object, so that the cost of a look-up does not grow with the inventory.
            "approved": dict.fromkeys(agent.approved_capabilities, True),
        },
        title=f"Agent {agent.id}",
        source=f"{AGENT}#{pointer('agent')}",
    )


def _approval_policy(policy: ApprovalPolicy) -> Constant:
    delegated = policy.delegated_authorization
    value: dict[str, Any] = {
        "default_reviewer": policy.default_reviewer,
        "max_wait_seconds": policy.max_wait_seconds,
    }
    if delegated is not None:
        value["require_principal_binding"] = delegated.require_principal_binding
        if delegated.reviewer_required is not None:
            value["delegation_reviewer"] = delegated.reviewer_required
    return Constant(
        name="approval_policy",
        value=value,
        title="Defaults of approval contracts",
        source=f"{APPROVALS}#{pointer('approvals')}",
    )


def _controls(controls: ControlsPolicy) -> Iterator[Item]:
    for constant, key, names in (
        ("required_controls", "require", controls.require),
        ("blocking_controls", "block_if", controls.block_if),
    ):
        for index, name in enumerate(names):
            kind, subject = observed(name)
            yield Constant(
                name=constant,
                key=name,
                # The place in the list, because a report keeps the author's order and an object does not.
                value={"at": index, "kind": kind, "subject": subject},
                title=f"{key} {name}",
                source=f"{CONTROLS}#{pointer('controls', key, index)}",
            )
