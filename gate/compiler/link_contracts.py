"""What one approval contract says of roles, delegates, escalation and standing approvals must be possible.

Pure. Each check yields its problems; `gate.compiler.link_approvals` runs them for every contract.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.compiler.lower_contracts import role_sets
from gate.compiler.names import folded, plain
from gate.compiler.positions import CATALOG, REVIEWERS, at, listed_at
from gate.documents import ApprovalContract, Bundle, Capability, Document, tokens_of
from gate.documents import pointer_of as pointer
from gate.errors import Problem

MAX_ROLES = 4
"""Roles that `all_roles` may ask for: every set of them is compiled, which a reviewer has to read."""

_RUNTIME = "runtime-controls.yaml"
Here = tuple[str | int, ...]


def link_contract(bundle: Bundle, document: Document, here: Here, contract: ApprovalContract) -> Iterator[Problem]:
    """Every promise of the contract that cannot be kept."""
    yield from _all_roles(bundle, document, here, contract)
    yield from _delegation(bundle, document, here, contract)
    yield from _withdrawal(bundle, document, here, contract)
    yield from _escalation(document, here, contract)
    yield from _waiting(document, here, contract)
    yield from _standing(bundle, document, here, contract)


def link_names(bundle: Bundle) -> Iterator[Problem]:
    """Names in which a look-alike could hide: the policies fold ASCII, and nothing else can be folded for certain."""
    for index, reviewer in enumerate(bundle.reviewers):
        if not plain(reviewer.human):
            yield bundle.documents[REVIEWERS].problem(
                pointer("reviewers", index, "human"),
                "reviewer_name_ambiguous",
                f"the name of reviewer `{reviewer.id}` has characters in which a look-alike can hide",
                "write it in ASCII letters, without quotes and backslashes",
            )


def _all_roles(bundle: Bundle, document: Document, here: Here, contract: ApprovalContract) -> Iterator[Problem]:
    if not contract.all_roles:
        return
    roles = contract.required_reviewers
    if len(roles) > MAX_ROLES:
        yield document.problem(
            pointer(*here, "all_roles"),
            "all_roles_too_many",
            f"contract `{contract.contract_id}` wants a vote of each of {len(roles)} roles; {MAX_ROLES} is the most",
        )
        return
    if contract.quorum < len(roles):
        yield document.problem(
            pointer(*here, "quorum"),
            "quorum_below_roles",
            f"quorum {contract.quorum} is below the {len(roles)} roles that must each vote",
            "leave quorum out, or state as many humans as there are roles",
        )
    for chosen in role_sets(contract):
        humans = {folded(r.human) for r in bundle.reviewers if set(r.roles) & set(chosen)}
        # A role that nobody holds is told of by itself.
        if humans and len(humans) < len(chosen):
            yield document.problem(
                pointer(*here, "all_roles"),
                "roles_unreachable",
                f"{len(humans)} human(s) hold the roles {', '.join(f'`{role}`' for role in chosen)} and vote once each",
                f"see {listed_at(bundle, REVIEWERS, 'reviewers')}",
            )
            return


def _delegation(bundle: Bundle, document: Document, here: Here, contract: ApprovalContract) -> Iterator[Problem]:
    controls = bundle.runtime_controls
    routing = None if controls is None else controls.routing
    if contract.delegation and (routing is None or routing.approval_delegate is None):
        yield document.problem(
            pointer(*here, "delegation"),
            "delegation_role_missing",
            f"contract `{contract.contract_id}` lets reviewers delegate, but no role may be a delegate",
            f"state routing.approval_delegate in `{bundle.folder / _RUNTIME}`",
        )


def _withdrawal(bundle: Bundle, document: Document, here: Here, contract: ApprovalContract) -> Iterator[Problem]:
    for index, role in enumerate(contract.withdrawal_roles or ()):
        if not any(role in reviewer.roles for reviewer in bundle.reviewers):
            yield document.problem(
                pointer(*here, "withdrawal", "roles", index),
                "reviewer_role_unheld",
                f"no reviewer holds role `{role}`",
                f"give the role to somebody at {listed_at(bundle, REVIEWERS, 'reviewers')}",
            )


def _escalation(document: Document, here: Here, contract: ApprovalContract) -> Iterator[Problem]:
    terms = contract.escalation
    if terms is None:
        return
    place = pointer(*here, "runtime_controls", "escalation")
    if terms.after_ms >= contract.max_wait_seconds * 1000:
        yield document.problem(
            place,
            "escalation_never",
            f"a request lives {contract.max_wait_seconds} s and would be escalated after {terms.after_ms // 1000} s",
            f"see {at(document, 'approvals', 'escalation_sla_minutes')}",
        )
    if terms.role in contract.required_reviewers:
        yield document.problem(
            place, "escalation_idle", f"role `{terms.role}` may decide from the beginning", "leave escalation out"
        )
    if contract.all_roles:
        yield document.problem(
            place,
            "escalation_with_all_roles",
            "the default reviewer cannot stand for a role of which each must vote",
            "leave out either escalation or all_roles",
        )


def _waiting(document: Document, here: Here, contract: ApprovalContract) -> Iterator[Problem]:
    if contract.while_pending == "pause_run" and not contract.pause_allowed:
        yield document.problem(
            pointer(*here, "runtime_controls", "while_pending"),
            "pause_contradicted",
            "the run is to be paused, but pause_allowed is false",
            f"see {at(document, *here, 'runtime_controls', 'pause_allowed')}",
        )


def _standing(bundle: Bundle, document: Document, here: Here, contract: ApprovalContract) -> Iterator[Problem]:
    terms = contract.standing
    if terms is None:
        return
    entry = document.value["approval_contracts"][here[1]]
    if "max_wait_seconds" in entry["runtime_controls"]:
        yield document.problem(
            pointer(*here, "runtime_controls", "max_wait_seconds"),
            "max_wait_idle",
            "`max_wait_seconds` has no effect, because a standing approval lives standing.valid_seconds",
            "leave it out",
        )
    if contract.on_expiry != "request_again":
        yield document.problem(
            pointer(*here, "runtime_controls", "on_expiry"),
            "standing_cancels_run",
            "the end of a standing approval would cancel a run that has used it",
            "set on_expiry to request_again",
        )
    capability = bundle.capabilities.get(contract.capability)
    for index, place in enumerate(terms.free_arguments):
        if capability is not None and not _member(capability, place):
            yield document.problem(
                pointer(*here, "standing", "free_arguments", index),
                "argument_undeclared",
                f"`{place}` is not a member of an object among the arguments that `{contract.capability}` declares",
                f"see {at(bundle.documents[CATALOG], 'capabilities', contract.capability, 'arguments')}",
            )


def _member(capability: Capability, place: str) -> bool:
    """True when the JSON pointer leads through objects only: a list has no members that could be left out."""
    node = capability.arguments
    for name in tokens_of(place):
        if name not in node.get("properties", {}):
            return False
        node = node["properties"][name]
    return True
