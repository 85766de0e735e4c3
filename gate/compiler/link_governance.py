"""What agent, controls, approval defaults and lineage must say of the rest of the bundle, and the reverse.

Pure. Every problem at once, at the place that refers, with the place it refers to in the hint. Repairs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gate.compiler.link_cases import CONTROLS, named_controls, observed
from gate.compiler.link_history import deprecated_rules_are_gone, lineage_leads_here
from gate.compiler.names import folded
from gate.compiler.positions import at
from gate.documents import AgentIdentity, Bundle
from gate.documents import pointer_of as pointer
from gate.errors import Problem

AGENT, APPROVALS = "agent.yaml", "approvals.yaml"
_BUNDLE, _CATALOG, _REVIEWERS = "bundle.yaml", "capabilities.yaml", "reviewers.yaml"
_RUNTIME = "runtime-controls.yaml"

INVENTORY_UNKNOWN = "inventory_capability_unknown"
INVENTORY_INCOMPLETE = "capability_not_inventoried"
CONTROLS_UNKNOWN = "controls_capability_unknown"
ASSESSED = frozenset({INVENTORY_UNKNOWN, INVENTORY_INCOMPLETE, CONTROLS_UNKNOWN})
"""Codes of disagreements that `gate check-controls` reports as findings, and that stop every other command."""


def governed(bundle: Bundle) -> list[str]:
    """Capabilities that the inventory must approve: all of the catalog but those the policy only denies."""
    decisions = {name: entry.decision for name, entry in bundle.policy.capabilities.items()}
    return [name for name in bundle.capabilities if decisions.get(name) != "deny"]


def link_governance(bundle: Bundle) -> Iterator[Problem]:
    """Every disagreement of these documents with the rest of the bundle."""
    for check in _CHECKS:
        yield from check(bundle)


def _agent_is_governed(bundle: Bundle) -> Iterator[Problem]:
    agent, envelope = bundle.agent, bundle.documents[_BUNDLE]
    if agent is None:
        return
    if agent.id not in bundle.meta.agent_ids:
        yield bundle.documents[AGENT].problem(
            pointer("agent", "id"),
            "agent_not_in_bundle",
            f"agent `{agent.id}` is not among those the bundle applies to",
            f"see {at(envelope, 'bundle', 'applies_to', 'agent_ids')}",
        )
    for index, name in enumerate(bundle.meta.agent_ids):
        if name != agent.id:
            yield envelope.problem(
                pointer("bundle", "applies_to", "agent_ids", index),
                "agent_without_inventory",
                f"agent.yaml approves nothing for agent `{name}`, which could never call a tool",
                f"see {at(bundle.documents[AGENT], 'agent', 'id')}; give it a bundle of its own",
            )


def _inventory_is_the_catalog(bundle: Bundle) -> Iterator[Problem]:
    agent = bundle.agent
    if agent is None:
        return
    document, catalog = bundle.documents[AGENT], bundle.documents[_CATALOG]
    for index, name in enumerate(agent.approved_capabilities):
        if name not in bundle.capabilities:
            yield document.problem(
                pointer("agent", "approved_capabilities", index),
                INVENTORY_UNKNOWN,
                f"`{name}` is approved but not in the catalog",
                f"see {at(catalog, 'capabilities', key=True)}",
            )
    approved = frozenset(agent.approved_capabilities)
    for name in governed(bundle):
        if name not in approved:
            yield catalog.problem(
                pointer("capabilities", name),
                INVENTORY_INCOMPLETE,
                f"`{name}` is in the catalog but not in the approved inventory",
                f"add it at {at(document, 'agent', 'approved_capabilities')}, or deny it in policy.yaml",
                key=True,
            )


def _runtime_principal_is_apart(bundle: Bundle) -> Iterator[Problem]:
    agent = bundle.agent
    if agent is None:
        return
    for name, capability in bundle.capabilities.items():
        if _same(capability.tool_principal, agent.runtime_principal):
            other = at(bundle.documents[_CATALOG], "capabilities", name, "tool_principal")
            yield _principal_problem(bundle, agent, f"is also the tool principal of `{name}`", other)
    for index, reviewer in enumerate(bundle.reviewers):
        if _same(agent.runtime_principal, reviewer.id) or _same(agent.runtime_principal, reviewer.human):
            other = at(bundle.documents[_REVIEWERS], "reviewers", index, "id")
            yield _principal_problem(bundle, agent, f"is also reviewer `{reviewer.id}`", other)


def _principal_problem(bundle: Bundle, agent: AgentIdentity, what: str, other: str) -> Problem:
    return bundle.documents[AGENT].problem(
        pointer("agent", "runtime_principal"),
        "runtime_principal_shared",
        f"the agent's own principal `{agent.runtime_principal}` {what}",
        f"see {other}; the agent must not hold what the gate stands in front of",
    )


def _same(one: str, other: str) -> bool:
    return folded(one) == folded(other)


def _roles_are_held(bundle: Bundle) -> Iterator[Problem]:
    wanted: list[tuple[str, tuple[str | int, ...], str]] = []
    approvals = bundle.approvals
    if approvals is not None:
        wanted.append((APPROVALS, ("approvals", "default_reviewer"), approvals.default_reviewer))
        delegated = approvals.delegated_authorization
        if delegated is not None and delegated.reviewer_required is not None:
            here = ("approvals", "delegated_authorization", "reviewer_required_for_user_delegation")
            wanted.append((APPROVALS, here, delegated.reviewer_required))
    if bundle.controls is not None:
        for index, role in enumerate(bundle.controls.required_approval_roles):
            wanted.append((CONTROLS, ("controls", "required_approval_roles", index), role))
    for file, parts, role in wanted:
        if not any(role in reviewer.roles for reviewer in bundle.reviewers):
            yield bundle.documents[file].problem(
                pointer(*parts), "reviewer_role_unheld", f"no reviewer holds role `{role}`", _reviewers_hint(bundle)
            )


def _reviewers_hint(bundle: Bundle) -> str:
    if _REVIEWERS not in bundle.documents:
        return "write reviewers.yaml and list it"
    return f"give the role to somebody at {at(bundle.documents[_REVIEWERS], 'reviewers', key=True)}"


def _delegation_can_be_approved(bundle: Bundle) -> Iterator[Problem]:
    delegated = None if bundle.approvals is None else bundle.approvals.delegated_authorization
    if delegated is None:
        return
    document, role = bundle.documents[APPROVALS], delegated.reviewer_required
    here = ("approvals", "delegated_authorization")
    for index, contract in enumerate(bundle.contracts):
        of_contract = [r for r in bundle.reviewers if set(r.roles) & set(contract.required_reviewers)]
        if role is not None and of_contract and not any(role in reviewer.roles for reviewer in of_contract):
            yield document.problem(
                pointer("approval_contracts", index, "required_reviewers"),
                "delegation_reviewer_unreachable",
                f"nobody who may review `{contract.capability}` holds role `{role}`, which user delegation needs",
                f"see {at(document, *here, 'reviewer_required_for_user_delegation')}",
            )
        if delegated.require_scope_visibility and "delegated_scope" not in contract.audit_fields:
            yield document.problem(
                pointer("approval_contracts", index, "audit_fields"),
                "delegated_scope_not_audited",
                f"contract `{contract.contract_id}` does not keep `delegated_scope` in the audit",
                f"list it, or see {at(document, *here, 'require_scope_visibility')}",
            )


# Word of approvals.yaml -> section, key and word of runtime-controls.yaml, the last being what holds without it.
_CARRIED_OUT = {
    "on_scope_revoked": (
        ("authorization", "on_authorization_revoke"),
        {"cancel_run": "refuse", "cancel_or_reapprove": "reauthorize"},
        "refuse",
    ),
    "subagent_inheritance": (
        ("orchestration", "worker_inheritance_policy"),
        {"denied_by_default": "denied", "explicit_only": "explicit_only"},
        "denied",
    ),
}


def _delegation_is_carried_out(bundle: Bundle) -> Iterator[Problem]:
    delegated = None if bundle.approvals is None else bundle.approvals.delegated_authorization
    if delegated is None:
        return
    runtime = bundle.documents.get(_RUNTIME)
    stated = {"on_scope_revoked": delegated.on_scope_revoked, "subagent_inheritance": delegated.subagent_inheritance}
    for name, word in stated.items():
        (section, key), means, otherwise = _CARRIED_OUT[name]
        controls = {} if runtime is None else runtime.value["runtime_controls"].get(section, {})
        if word is None or means[word] == controls.get(key, otherwise):
            continue
        place = bundle.folder / _RUNTIME if runtime is None else at(runtime, "runtime_controls", section, key)
        yield bundle.documents[APPROVALS].problem(
            pointer("approvals", "delegated_authorization", name),
            "delegated_authorization_contradicted",
            f"`{name}` is `{word}`, but runtime controls say `{controls.get(key, otherwise)}`",
            f"see {place}; `{word}` is `{section}.{key}: {means[word]}` there",
        )


def _controls_name_capabilities(bundle: Bundle) -> Iterator[Problem]:
    for where, index, name in named_controls(bundle.controls):
        kind, subject = observed(name)
        if kind in ("approval_required", "idempotency_key_required") and subject not in bundle.capabilities:
            yield bundle.documents[CONTROLS].problem(
                pointer("controls", where, index),
                CONTROLS_UNKNOWN,
                f"control `{name}` is about `{subject}`, which is not in the catalog",
                f"see {at(bundle.documents[_CATALOG], 'capabilities', key=True)}",
            )


def _controls_do_not_contradict(bundle: Bundle) -> Iterator[Problem]:
    if bundle.controls is None:
        return
    document = bundle.documents[CONTROLS]
    for index, name in enumerate(bundle.controls.block_if):
        if name in bundle.controls.require:
            first = at(document, "controls", "require", bundle.controls.require.index(name))
            yield document.problem(
                pointer("controls", "block_if", index),
                "control_contradicted",
                f"`{name}` is required and blocks at the same time",
                f"see {first}",
            )


_CHECKS: tuple[Callable[[Bundle], Iterator[Problem]], ...] = (
    _agent_is_governed,
    _inventory_is_the_catalog,
    _runtime_principal_is_apart,
    _roles_are_held,
    _delegation_can_be_approved,
    _delegation_is_carried_out,
    _controls_name_capabilities,
    _controls_do_not_contradict,
    lineage_leads_here,
    deprecated_rules_are_gone,
)
