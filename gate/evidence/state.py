"""Turns records into the `state` section of the input document.

Pure, and decides nothing: a record that was not found is null, and what was not looked up is not said to be absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gate.evidence.action import Action
from gate.pdp import Facts
from gate.records import BoundaryRecord, ConstraintRecord, EffectRecord, RunRecord


def run_facts(record: RunRecord | None, boundary: BoundaryRecord | None = None) -> dict[str, Any] | None:
    """The `state.run` section; None for a run that this tenant does not have.

    `boundary`: the row of the boundary that the run is at, None when it is at none or the row is gone.
    """
    if record is None:
        return None
    status = None if boundary is None else str(boundary.status)
    at = None if record.boundary_id is None else {"envelope_id": record.boundary_id, "status": status}
    return {
        "run_id": record.run_id,
        "status": str(record.status),
        "tenant_id": record.tenant_id,
        "principal_id": record.principal_id,
        "agent_id": record.agent_id,
        "session_id": record.session_id,
        "authorization_mode": record.authorization_mode,
        "delegated_principal_id": record.delegated_principal_id,
        "delegated_scope": record.delegated_scope,
        "version": record.version,
        "waiting_for": record.waiting_for,
        "epoch": record.epoch,
        "boundary": at,
        "parent_run_id": record.parent_run_id,
    }


def versions(facts: Facts, capability: Mapping[str, Any] | None, contract: Mapping[str, Any] | None) -> dict[str, Any]:
    """The `state.versions` section: what the digests were computed from, for Rego to compare with what it serves."""
    bundle = facts.bundle or {}
    return {
        "bundle_version": bundle.get("version"),
        "release_identity": bundle.get("release_identity"),
        "capability_version": None if capability is None else capability["capability_version"],
        "contract_digest": None if contract is None else contract["contract_digest"],
    }


def effect_facts(effect: EffectRecord | None, action: Action | None) -> dict[str, Any] | None:
    """The `state.side_effect` section; `not_started` only when a row was looked for and there was none."""
    if effect is None:
        # Without a business key nothing was looked up, and "no row" would be a guess.
        known = action is not None and action.business_key is not None
        return {"status": "not_started", "business_key": action.business_key} if known and action else None
    return {
        "status": str(effect.status),
        "capability": effect.capability,
        "business_key": effect.business_key,
        "idempotency_key": effect.idempotency_key,
        "action_digest": effect.action_digest,
        "run_id": effect.run_id,
        "lease_expires_at_ms": effect.lease_expires_at_ms,
        "attempt": effect.attempt,
        "version": effect.version,
    }


def constraint_facts(records: Iterable[ConstraintRecord]) -> list[dict[str, Any]]:
    """The `state.constraints` section: what users forbade, as the records have it."""
    return [
        {
            "constraint_id": record.constraint_id,
            "tenant_id": record.tenant_id,
            "principal_id": record.principal_id,
            "source_event": record.source_event,
            "applies_to": record.applies_to,
            "action": record.action,
            "valid_until_ms": record.valid_until_ms,
            "predicate": {"text": record.predicate, "dnf": record.dnf},
            "digest": record.digest,
            "intact": record.intact,
        }
        for record in records
    ]
