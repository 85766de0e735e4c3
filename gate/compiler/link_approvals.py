"""What policy, catalog, contracts and reviewers say of approvals must hold together.

Pure. Each check yields its problems; `gate.compiler.link` runs them all.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.compiler.link_contracts import link_contract, link_names
from gate.compiler.names import folded
from gate.compiler.positions import APPROVALS, BUNDLE, CATALOG, POLICY, REVIEWERS, at, listed_at
from gate.documents import EVERY, ApprovalContract, Bundle, Document
from gate.documents import pointer_of as pointer
from gate.errors import Problem


def link_approvals(bundle: Bundle) -> Iterator[Problem]:
    """Every disagreement about approvals."""
    yield from _approvals_match_policy(bundle)
    yield from _contracts_are_current(bundle)
    yield from _reviewers_are_distinct(bundle)
    yield from link_names(bundle)


def demanded(bundle: Bundle, name: str) -> bool:
    """A control asks for an approval of the capability, when it fires."""
    return any(c.action == "require_approval" and {name, EVERY} & set(c.applies_to) for c in bundle.checkpoints)


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
                f"add one at {listed_at(bundle, APPROVALS, 'approval_contracts')}",
            )
        needs = capability.approval != "none" or capability.risk_tier == "critical"
        if entry.decision == "allow" and needs:
            yield policy.problem(
                here,
                "approval_bypassed",
                f"`{name}` is allowed outright although its catalog entry asks for an approval",
                f"see {at(catalog, 'capabilities', name, key=True)}; write approval_required",
            )
        elif entry.decision == "allow" and contract is not None and not demanded(bundle, name):
            yield policy.problem(
                here,
                "contract_unused",
                f"`{name}` is allowed outright and no control asks for the approval its contract describes",
                f"see {listed_at(bundle, APPROVALS, 'approval_contracts')}; write approval_required or drop it",
            )
        if entry.approver is not None and contract is not None and entry.approver not in contract.required_reviewers:
            yield policy.problem(
                pointer("policy", "capabilities", name, "approver"),
                "approver_not_in_contract",
                f"approver `{entry.approver}` is not among the required reviewers of `{name}`",
                f"see {at(bundle.documents[APPROVALS], 'approval_contracts')}",
            )
        if contract is not None and needs and capability.approval not in {"none", *contract.required_reviewers}:
            yield catalog.problem(
                pointer("capabilities", name, "approval"),
                "approval_role_not_in_contract",
                f"role `{capability.approval}` is not among the required reviewers of `{name}`",
                f"see {at(bundle.documents[APPROVALS], 'approval_contracts')}",
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
                f"the first is at {at(document, 'approval_contracts', seen[contract.capability])}",
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
                f"the first is at {at(bundle.documents[APPROVALS], 'approval_contracts', ids.index(contract_id))}",
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
            f"see {at(bundle.documents[CATALOG], 'capabilities', key=True)}",
        )
    elif capability.risk_tier != contract.risk_tier:
        yield document.problem(
            pointer(*here, "risk_tier"),
            "contract_risk_tier_differs",
            f"contract says risk tier `{contract.risk_tier}`, the catalog says `{capability.risk_tier}`",
            f"see {at(bundle.documents[CATALOG], 'capabilities', contract.capability, 'risk_tier')}",
        )
    if contract.bundle_version != meta.version:
        yield document.problem(
            pointer(*here, "bundle_version"),
            "contract_bundle_version_differs",
            f"contract is for bundle version `{contract.bundle_version}`, the bundle is `{meta.version}`",
            f"see {at(envelope, 'bundle', 'version')}",
        )
    if contract.release_identity != meta.release_identity:
        yield document.problem(
            pointer(*here, "release_identity"),
            "contract_release_identity_differs",
            f"contract is for release `{contract.release_identity}`, the bundle is `{meta.release_identity}`",
            f"see {at(envelope, 'bundle', 'release_identity')}",
        )
    if contract.capability in bundle.policy.capabilities:
        decision = bundle.policy.capabilities[contract.capability].decision
        if decision == "deny":
            yield document.problem(
                pointer(*here, "capability"),
                "contract_capability_denied",
                f"contract `{contract.contract_id}` is for `{contract.capability}`, which policy.yaml denies",
                f"see {at(bundle.documents[POLICY], 'policy', 'capabilities', contract.capability, 'decision')}",
            )
    yield from _contract_reviewers(bundle, document, here, contract)
    yield from link_contract(bundle, document, here, contract)


def _contract_reviewers(
    bundle: Bundle, document: Document, here: tuple[str | int, ...], contract: ApprovalContract
) -> Iterator[Problem]:
    for index, role in enumerate(contract.required_reviewers):
        if not any(role in r.roles for r in bundle.reviewers):
            yield document.problem(
                pointer(*here, "required_reviewers", index),
                "reviewer_role_unheld",
                f"no reviewer holds role `{role}`",
                f"give the role to somebody at {listed_at(bundle, REVIEWERS, 'reviewers')}",
            )
    # One person is one vote, whatever the number of ids.
    humans = {folded(r.human) for r in bundle.reviewers if set(r.roles) & set(contract.required_reviewers)}
    if humans and contract.quorum > len(humans):
        yield document.problem(
            pointer(*here, "quorum"),
            "quorum_unreachable",
            f"quorum {contract.quorum} is above the {len(humans)} human(s) who may review",
            f"see {listed_at(bundle, REVIEWERS, 'reviewers')}",
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
                f"the first is at {at(document, 'reviewers', ids[reviewer.id])}",
            )
        ids.setdefault(reviewer.id, index)
        for number, key in enumerate(reviewer.keys):
            here = pointer("reviewers", index, "keys", number)
            for label, value in (("key_id", key.key_id), ("public_key", key.public_key)):
                if value in keys:
                    yield document.problem(
                        f"{here}/{label}",
                        "reviewer_key_duplicate",
                        f"the {label} is also used by `{keys[value]}`",
                        "a key belongs to one reviewer",
                    )
                keys.setdefault(value, reviewer.id)
