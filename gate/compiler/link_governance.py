"""What agent, controls, approval defaults and lineage must say of the rest of the bundle, and the reverse.

Pure. Every problem at once, at the place that refers, with the place it refers to in the hint. Repairs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gate.compiler.link_cases import CONTROLS, named_controls, observed
from gate.documents import AgentIdentity, Bundle, Document
from gate.documents import pointer_of as pointer
from gate.errors import Problem

AGENT, APPROVALS = "agent.yaml", "approvals.yaml"
_BUNDLE, _CATALOG, _POLICY, _REVIEWERS = "bundle.yaml", "capabilities.yaml", "policy.yaml", "reviewers.yaml"
_CHECKPOINTS = "checkpoints.yaml"

INVENTORY_UNKNOWN = "inventory_capability_unknown"
INVENTORY_INCOMPLETE = "capability_not_inventoried"
CONTROLS_UNKNOWN = "controls_capability_unknown"
ASSESSED = frozenset({INVENTORY_UNKNOWN, INVENTORY_INCOMPLETE, CONTROLS_UNKNOWN})
"""Codes of disagreements that `gate check-controls` reports as findings, and that stop every other command."""


def at(document: Document, *parts: str | int, key: bool = False) -> str:
    """`file:line:col` of a value, or of its key."""
    line, column = document.position(pointer(*parts), key=key)
    return f"{document.file}:{line}:{column}"


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
    return one.strip().lower() == other.strip().lower()


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


def _lineage_leads_here(bundle: Bundle) -> Iterator[Problem]:
    meta, document = bundle.meta, bundle.documents[_BUNDLE]
    for index, ancestor in enumerate(meta.lineage):
        here = ("bundle", "artifact_lineage", index)
        if ancestor.version == meta.version:
            yield document.problem(
                pointer(*here, "version"),
                "lineage_contains_itself",
                f"version `{ancestor.version}` cannot be made from itself",
                f"see {at(document, 'bundle', 'version')}",
            )
        if ancestor.change_id is not None and ancestor.change_id == meta.change_id:
            yield document.problem(
                pointer(*here, "change_id"),
                "lineage_change_reused",
                f"change `{ancestor.change_id}` has made an earlier version already",
                f"see {at(document, 'bundle', 'change_id')}",
            )


def _deprecated_rules_are_gone(bundle: Bundle) -> Iterator[Problem]:
    if not bundle.meta.deprecated_rules:
        return
    in_force: dict[str, str] = {}
    for name, place in _rules_in_force(bundle):
        in_force.setdefault(name, place)
    for index, name in enumerate(bundle.meta.deprecated_rules):
        if name in in_force:
            yield bundle.documents[_BUNDLE].problem(
                pointer("bundle", "deprecated_rules", index),
                "deprecated_rule_in_force",
                f"rule `{name}` is deprecated and still in force",
                f"remove it at {in_force[name]}",
            )


_RULE_IDS = {"allow": "cap_110", "approval_required": "cap_210", "deny": "cap_410"}


def _rules_in_force(bundle: Bundle) -> Iterator[tuple[str, str]]:
    """Every name a compiled rule or contract goes by, and where it is written."""
    policy = bundle.documents[_POLICY]
    for key, rule_id, wanted in (
        ("require_tenant", "run_001", bundle.policy.require_tenant),
        ("deny_if_principal_missing", "run_002", bundle.policy.deny_if_principal_missing),
    ):
        if wanted:
            place = at(policy, "policy", "run_precheck", key, key=True)
            yield from ((name, place) for name in (rule_id, f"run_precheck.{key}"))
    for operation in bundle.policy.operations:
        place = at(policy, "policy", "operations", operation, key=True)
        yield from ((name, place) for name in (f"op.{operation}", f"operations.{operation}"))
    for name, entry in bundle.policy.capabilities.items():
        place = at(policy, "policy", "capabilities", name, key=True)
        yield from ((known, place) for known in (_RULE_IDS[entry.decision], f"capabilities.{name}"))
    for index, control in enumerate(bundle.checkpoints):
        place = at(bundle.documents[_CHECKPOINTS], "control_checkpoints", index)
        requirement = control.policy_requirement
        yield from ((name, place) for name in (requirement, f"control_checkpoints.{requirement}"))
        yield f"control.{control.checkpoint}", place
    for index, contract in enumerate(bundle.contracts):
        yield contract.contract_id, at(bundle.documents[APPROVALS], "approval_contracts", index)


_CHECKS: tuple[Callable[[Bundle], Iterator[Problem]], ...] = (
    _agent_is_governed,
    _inventory_is_the_catalog,
    _runtime_principal_is_apart,
    _roles_are_held,
    _delegation_can_be_approved,
    _controls_name_capabilities,
    _controls_do_not_contradict,
    _lineage_leads_here,
    _deprecated_rules_are_gone,
)
