"""Second pass: what the documents say of each other must hold. Every problem at once, each with its position.

Pure. Adds nothing to the bundle and repairs nothing. Where two documents disagree, the problem stands at the one that
refers, and its hint names the position of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gate.compiler.controls import link_predicates
from gate.compiler.link_governance import link_governance
from gate.compiler.link_runtime_controls import link_runtime_controls
from gate.compiler.literal import CompileError, package_name
from gate.documents import ApprovalContract, Bundle, Capability, Document
from gate.documents import pointer_of as pointer
from gate.errors import BundleError, Problem

POLICY, CATALOG, APPROVALS, REVIEWERS, BUNDLE = (
    "policy.yaml",
    "capabilities.yaml",
    "approvals.yaml",
    "reviewers.yaml",
    "bundle.yaml",
)


def link(bundle: Bundle) -> Bundle:
    """Returns `bundle` when its documents agree; raises `BundleError` with every disagreement otherwise."""
    problems = [p for check in _CHECKS for p in check(bundle)]
    if problems:
        raise BundleError(problems)
    return bundle


def _at(document: Document, *parts: str | int, key: bool = False) -> str:
    line, column = document.position(pointer(*parts), key=key)
    return f"{document.file}:{line}:{column}"


def _listed_at(bundle: Bundle, name: str, key: str) -> str:
    """Position of the list `key` in a document that the bundle may not have."""
    document = bundle.documents.get(name)
    return f"{bundle.folder / name}, which is not there" if document is None else _at(document, key, key=True)


def _folder_names_a_package(bundle: Bundle) -> Iterator[Problem]:
    try:
        package_name(bundle.name)
    except CompileError:
        yield bundle.documents[BUNDLE].problem(
            "",
            "bundle_name_invalid",
            f"folder `{bundle.name!a}` cannot become a Rego package",
            "lower-case letters, digits and dashes, a letter first, no word of Rego",
        )


def _capabilities_have_policies(bundle: Bundle) -> Iterator[Problem]:
    catalog, policy = bundle.documents[CATALOG], bundle.documents[POLICY]
    for name in bundle.capabilities:
        if name not in bundle.policy.capabilities:
            yield catalog.problem(
                pointer("capabilities", name),
                "capability_without_policy",
                f"capability `{name}` has no decision in policy.yaml",
                f"add it under {_at(policy, 'policy', 'capabilities', key=True)}",
                key=True,
            )


def _policies_name_capabilities(bundle: Bundle) -> Iterator[Problem]:
    catalog, policy = bundle.documents[CATALOG], bundle.documents[POLICY]
    for name, entry in bundle.policy.capabilities.items():
        if name not in bundle.capabilities and entry.decision != "deny":
            yield policy.problem(
                pointer("policy", "capabilities", name),
                "capability_unknown",
                f"`{name}` is not in the catalog, so it can only be denied",
                f"catalogue it under {_at(catalog, 'capabilities', key=True)} or make the decision deny",
                key=True,
            )


def _catalog_is_consistent(bundle: Bundle) -> Iterator[Problem]:
    for name, capability in bundle.capabilities.items():
        yield from _catalog_entry(bundle, name, capability)


def _catalog_entry(bundle: Bundle, name: str, capability: Capability) -> Iterator[Problem]:
    document, here = bundle.documents[CATALOG], ("capabilities", name)
    if (capability.mode == "read") != (capability.side_effect == "none"):
        yield document.problem(
            pointer(*here, "side_effect"),
            "mode_side_effect_conflict",
            f"mode `{capability.mode}` and side_effect `{capability.side_effect}` of `{name}` contradict each other",
            "side_effect is none exactly when mode is read",
        )
    claimed = capability.mode == "write" or capability.approval != "none"
    if claimed and not capability.identifying_arguments:
        yield document.problem(
            pointer(*here),
            "identifying_arguments_missing",
            f"`{name}` writes or needs an approval, but does not say which arguments identify one effect",
            "list the arguments whose equality means the same effect, as JSON pointers",
            key=True,
        )
    for index, at in enumerate(capability.identifying_arguments):
        if not _declared(capability, at):
            yield document.problem(
                pointer(*here, "identifying_arguments", index),
                "argument_undeclared",
                f"`{at}` is not an argument that `{name}` declares",
            )
    if capability.transport == "mcp" and capability.server is None:
        yield document.problem(
            pointer(*here), "server_missing", f"mcp capability `{name}` does not name its server", key=True
        )
    if capability.network_access != "none" and not capability.allowed_egress:
        yield document.problem(
            pointer(*here),
            "egress_policy_missing",
            f"capability `{name}` has network access but no allowed_egress",
            "list its destinations or set network_access to none",
            key=True,
        )
    if capability.network_access not in bundle.policy.allow_network_access:
        policy = bundle.documents[POLICY]
        yield document.problem(
            pointer(*here, "network_access"),
            "network_access_not_allowed",
            f"network_access `{capability.network_access}` of `{name}` is not allowed by policy.yaml",
            f"see {_at(policy, 'policy', 'execution', 'allow_network_access')}",
        )


def _approvals_match_policy(bundle: Bundle) -> Iterator[Problem]:
    contracts = {c.capability: c for c in bundle.contracts}
    policy, catalog = bundle.documents[POLICY], bundle.documents[CATALOG]
    for name, entry in bundle.policy.capabilities.items():
        capability, contract = bundle.capabilities.get(name), contracts.get(name)
        if capability is None:
            continue
        here = pointer("policy", "capabilities", name, "decision")
        if entry.decision == "approval_required" and contract is None:
            yield policy.problem(
                here,
                "approval_contract_missing",
                f"`{name}` needs an approval, but no contract says whose",
                f"add one at {_listed_at(bundle, APPROVALS, 'approval_contracts')}",
            )
        needs = capability.approval != "none" or capability.risk_tier == "critical"
        if entry.decision == "allow" and (needs or contract is not None):
            yield policy.problem(
                here,
                "approval_bypassed",
                f"`{name}` is allowed outright although its catalog entry or a contract asks for an approval",
                f"see {_at(catalog, 'capabilities', name, key=True)}; write approval_required or drop the contract",
            )
        if entry.approver is not None and contract is not None and entry.approver not in contract.required_reviewers:
            yield policy.problem(
                pointer("policy", "capabilities", name, "approver"),
                "approver_not_in_contract",
                f"approver `{entry.approver}` is not among the required reviewers of `{name}`",
                f"see {_at(bundle.documents[APPROVALS], 'approval_contracts')}",
            )
        if contract is not None and needs and capability.approval not in {"none", *contract.required_reviewers}:
            yield catalog.problem(
                pointer("capabilities", name, "approval"),
                "approval_role_not_in_contract",
                f"role `{capability.approval}` is not among the required reviewers of `{name}`",
                f"see {_at(bundle.documents[APPROVALS], 'approval_contracts')}",
            )


def _contracts_are_current(bundle: Bundle) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for index, contract in enumerate(bundle.contracts):
        document, here = bundle.documents[APPROVALS], ("approval_contracts", index)
        if contract.capability in seen:
            yield document.problem(
                pointer(*here, "capability"),
                "contract_duplicate",
                f"capability `{contract.capability}` has two contracts",
                f"the first is at {_at(document, 'approval_contracts', seen[contract.capability])}",
            )
        seen.setdefault(contract.capability, index)
        yield from _contract(bundle, document, here, contract)
    ids = [c.contract_id for c in bundle.contracts]
    for index, contract_id in enumerate(ids):
        if contract_id in ids[:index]:
            yield bundle.documents[APPROVALS].problem(
                pointer("approval_contracts", index, "contract_id"),
                "contract_duplicate",
                f"contract id `{contract_id}` is used twice",
                f"the first is at {_at(bundle.documents[APPROVALS], 'approval_contracts', ids.index(contract_id))}",
            )


def _contract(
    bundle: Bundle, document: Document, here: tuple[str | int, ...], contract: ApprovalContract
) -> Iterator[Problem]:
    meta, envelope = bundle.meta, bundle.documents[BUNDLE]
    capability = bundle.capabilities.get(contract.capability)
    if capability is None:
        yield document.problem(
            pointer(*here, "capability"),
            "contract_capability_unknown",
            f"contract `{contract.contract_id}` is for `{contract.capability}`, which is not in the catalog",
            f"see {_at(bundle.documents[CATALOG], 'capabilities', key=True)}",
        )
    elif capability.risk_tier != contract.risk_tier:
        yield document.problem(
            pointer(*here, "risk_tier"),
            "contract_risk_tier_differs",
            f"contract says risk tier `{contract.risk_tier}`, the catalog says `{capability.risk_tier}`",
            f"see {_at(bundle.documents[CATALOG], 'capabilities', contract.capability, 'risk_tier')}",
        )
    if contract.bundle_version != meta.version:
        yield document.problem(
            pointer(*here, "bundle_version"),
            "contract_bundle_version_differs",
            f"contract is for bundle version `{contract.bundle_version}`, the bundle is `{meta.version}`",
            f"see {_at(envelope, 'bundle', 'version')}",
        )
    if contract.release_identity != meta.release_identity:
        yield document.problem(
            pointer(*here, "release_identity"),
            "contract_release_identity_differs",
            f"contract is for release `{contract.release_identity}`, the bundle is `{meta.release_identity}`",
            f"see {_at(envelope, 'bundle', 'release_identity')}",
        )
    if contract.capability in bundle.policy.capabilities:
        decision = bundle.policy.capabilities[contract.capability].decision
        if decision == "deny":
            yield document.problem(
                pointer(*here, "capability"),
                "contract_capability_denied",
                f"contract `{contract.contract_id}` is for `{contract.capability}`, which policy.yaml denies",
                f"see {_at(bundle.documents[POLICY], 'policy', 'capabilities', contract.capability, 'decision')}",
            )
    yield from _contract_reviewers(bundle, document, here, contract)


def _contract_reviewers(
    bundle: Bundle, document: Document, here: tuple[str | int, ...], contract: ApprovalContract
) -> Iterator[Problem]:
    for index, role in enumerate(contract.required_reviewers):
        if not any(role in r.roles for r in bundle.reviewers):
            yield document.problem(
                pointer(*here, "required_reviewers", index),
                "reviewer_role_unheld",
                f"no reviewer holds role `{role}`",
                f"give the role to somebody at {_listed_at(bundle, REVIEWERS, 'reviewers')}",
            )
    # One person is one vote, whatever the number of ids: names are folded as the policies fold them.
    humans = {r.human.strip().lower() for r in bundle.reviewers if set(r.roles) & set(contract.required_reviewers)}
    if humans and contract.quorum > len(humans):
        yield document.problem(
            pointer(*here, "quorum"),
            "quorum_unreachable",
            f"quorum {contract.quorum} is above the {len(humans)} human(s) who may review",
            f"see {_listed_at(bundle, REVIEWERS, 'reviewers')}",
        )


def _reviewers_are_distinct(bundle: Bundle) -> Iterator[Problem]:
    ids: dict[str, int] = {}
    keys: dict[str, str] = {}
    for index, reviewer in enumerate(bundle.reviewers):
        document = bundle.documents[REVIEWERS]
        if reviewer.id in ids:
            yield document.problem(
                pointer("reviewers", index, "id"),
                "reviewer_duplicate",
                f"reviewer `{reviewer.id}` is listed twice",
                f"the first is at {_at(document, 'reviewers', ids[reviewer.id])}",
            )
        ids.setdefault(reviewer.id, index)
        for at, key in enumerate(reviewer.keys):
            here = pointer("reviewers", index, "keys", at)
            for label, value in (("key_id", key.key_id), ("public_key", key.public_key)):
                if value in keys:
                    yield document.problem(
                        f"{here}/{label}",
                        "reviewer_key_duplicate",
                        f"the {label} is also used by `{keys[value]}`",
                        "a key belongs to one reviewer",
                    )
                keys.setdefault(value, reviewer.id)


def _declared(capability: Capability, at: str) -> bool:
    """True when the JSON pointer leads to a declared argument; below a list any index does."""
    node: Any = capability.arguments
    for part in at.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if node.get("type") == "array":
            node = node.get("items", {})
        elif name in node.get("properties", {}):
            node = node["properties"][name]
        else:
            return False
    return True


def _redaction_names_capabilities(bundle: Bundle) -> Iterator[Problem]:
    for name, shown in bundle.meta.show_arguments.items():
        for index, at in enumerate(shown):
            if name in bundle.capabilities and not _declared(bundle.capabilities[name], at):
                yield bundle.documents[BUNDLE].problem(
                    pointer("bundle", "redaction_policy", "show_arguments", name, index),
                    "argument_undeclared",
                    f"`{at}` is not an argument that `{name}` declares",
                )
        if name not in bundle.capabilities:
            yield bundle.documents[BUNDLE].problem(
                pointer("bundle", "redaction_policy", "show_arguments", name),
                "capability_unknown",
                f"redaction_policy names `{name}`, which is not in the catalog",
                f"see {_at(bundle.documents[CATALOG], 'capabilities', key=True)}",
                key=True,
            )


_CHECKS: tuple[Callable[[Bundle], Iterator[Problem]], ...] = (
    _folder_names_a_package,
    _capabilities_have_policies,
    _policies_name_capabilities,
    _catalog_is_consistent,
    _approvals_match_policy,
    _contracts_are_current,
    _reviewers_are_distinct,
    _redaction_names_capabilities,
    link_predicates,
    link_governance,
    link_runtime_controls,
)
