"""Approval contracts as constants that the core policies look up, each with the digest that a reviewer signs.

Pure. Decides nothing, and leaves out what a contract leaves out: the policies then take the stricter way.
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations
from typing import Any

from gate.canonical import digest
from gate.documents import ApprovalContract, StandingTerms


def contract_entry(contract: ApprovalContract) -> dict[str, Any]:
    """The compiled form of a contract, with the digest that a reviewer signs.

    What a contract leaves out is left out here, so that a contract that does not change keeps its digest.
    """
    entry = {
        "contract_id": contract.contract_id,
        "capability": contract.capability,
        "risk_tier": contract.risk_tier,
        "bundle_version": contract.bundle_version,
        "release_identity": contract.release_identity,
        "required_reviewers": list(contract.required_reviewers),
        "quorum": contract.quorum,
        "request_fields": list(contract.request_fields),
        "allowed_decisions": list(contract.allowed_decisions),
        "runtime_controls": {
            "pause_allowed": contract.pause_allowed,
            "max_wait_seconds": contract.max_wait_seconds,
            "on_expiry": contract.on_expiry,
            **({"while_pending": "pause_run"} if contract.while_pending == "pause_run" else {}),
            **({"escalation": asdict(contract.escalation)} if contract.escalation is not None else {}),
        },
        "on_reject": contract.on_reject,
        **({"audit_fields": list(contract.audit_fields)} if contract.audit_fields else {}),
        **({"role_sets": role_sets(contract)} if contract.all_roles else {}),
        **({"delegation": True} if contract.delegation else {}),
        **({"withdrawal_roles": list(contract.withdrawal_roles)} if contract.withdrawal_roles is not None else {}),
        **({"requester_may_cancel": True} if contract.requester_may_cancel else {}),
        **_standing(contract.standing),
    }
    return {**entry, "contract_digest": digest(entry)}


def role_sets(contract: ApprovalContract) -> list[list[str]]:
    """Every set of required roles: each must be voted for by at least as many humans as it has roles.

    That each role alone has a vote is not enough, since one human may hold several roles and votes once.
    """
    roles = contract.required_reviewers
    return [list(chosen) for size in range(1, len(roles) + 1) for chosen in combinations(roles, size)]


def _standing(terms: StandingTerms | None) -> dict[str, Any]:
    if terms is None:
        return {}
    return {"standing": {**asdict(terms), "free_arguments": list(terms.free_arguments)}}
