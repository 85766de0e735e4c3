"""Turns an approval's stored votes into facts: only what the signed bytes say, and whether the signature holds.

Decides nothing: a vote whose signature does not hold becomes a vote with `verified: false`, for Rego to refuse. Public
keys come from the served bundle, never from the row or the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.records import ApprovalRecord, StoredVote, peek_key_id, verify

_FIELDS = (
    *("reviewer", "key_id", "decision", "approval_id", "nonce", "environment"),
    *("action_digest", "contract_digest", "issued_at_ms", "expires_at_ms"),
)


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
    return {**signed, "decision": str(payload.decision), "verified": True}


def approval_facts(
    approval: ApprovalRecord | None, reviewers: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any] | None:
    """The `state.approval` section of the input document; None when there is no approval."""
    if approval is None:
        return None
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
        "expires_at_ms": approval.expires_at_ms,
        "version": approval.version,
        "epoch": approval.epoch,
        "votes": [vote_facts(v, reviewers) for v in approval.votes],
    }
