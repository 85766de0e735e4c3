"""Turns an approval's stored votes into facts: only what the signed bytes say, and whether the signature holds.

Decides nothing: a vote whose signature does not hold becomes a vote with `verified: false`, for Rego to refuse. Public
keys come from the served bundle, never from the row or the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gate.records import ApprovalRecord, DeniedKey, StoredVote, peek_key_id, verify

_FIELDS = (
    *("reviewer", "key_id", "decision", "approval_id", "nonce", "environment"),
    *("action_digest", "contract_digest", "issued_at_ms", "expires_at_ms"),
)
_OPTIONAL = ("standing_digest", "delegate_to")
"""Signed only by those who have something to say there."""


def vote_facts(vote: StoredVote, reviewers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The `vote` section of the input document for one stored vote."""
    key_id = peek_key_id(vote)
    public_key = next(
        (r["keys"][key_id]["public_key"] for r in reviewers.values() if key_id in r.get("keys", {})), None
    )
    payload = None if public_key is None else verify(vote, public_key)
    if payload is None:
        return {**dict.fromkeys(_FIELDS), "verified": False}
    signed = {field: getattr(payload, field) for field in _FIELDS}
    signed |= {field: getattr(payload, field) for field in _OPTIONAL if getattr(payload, field) is not None}
    return {**signed, "decision": str(payload.decision), "verified": True}


def approval_facts(
    approval: ApprovalRecord | None,
    reviewers: Mapping[str, Mapping[str, Any]],
    denied: Iterable[DeniedKey],
    presented: StoredVote | None = None,
) -> dict[str, Any] | None:
    """The `state.approval` section of the input document; None when there is no approval.

    `denied`: the tenant's denylist; `presented`: a vote that is about to be added to the stored ones.
    """
    if approval is None:
        return None
    votes = approval.votes if presented is None else (*approval.votes, presented)
    return {
        "approval_id": approval.approval_id,
        "run_id": approval.run_id,
        "status": str(approval.status),
        "capability": approval.capability,
        "contract_id": approval.contract_id,
        "contract_digest": approval.contract_digest,
        "action_digest": approval.action_digest,
        "intent_digest": approval.intent_digest,
        "nonce": approval.nonce,
        "tenant_id": approval.tenant_id,
        "principal_id": approval.principal_id,
        "agent_id": approval.agent_id,
        "session_id": approval.session_id,
        "requested_by": approval.requested_by,
        "bundle_version": approval.bundle_version,
        "release_identity": approval.release_identity,
        "created_at_ms": approval.created_at_ms,
        "expires_at_ms": approval.expires_at_ms,
        "escalated_at_ms": approval.escalated_at_ms,
        "standing_digest": approval.standing_digest,
        "uses": approval.uses,
        "denied_keys": _denied(votes, reviewers, list(denied)),
        "version": approval.version,
        "epoch": approval.epoch,
        "votes": [vote_facts(v, reviewers) for v in approval.votes],
    }


def _denied(
    votes: Iterable[StoredVote], reviewers: Mapping[str, Mapping[str, Any]], denied: list[DeniedKey]
) -> list[str]:
    """Ids of the keys under which `votes` claim to be signed and which are denied, by their id or as the very key."""
    ids = {key.key_id for key in denied}
    keys = {key.public_key for key in denied} - {None}
    claimed = {key_id for vote in votes if (key_id := peek_key_id(vote)) is not None}
    listed = {k: v.get("public_key") for r in reviewers.values() for k, v in r.get("keys", {}).items()}
    return sorted(key_id for key_id in claimed if key_id in ids or listed.get(key_id) in keys)
