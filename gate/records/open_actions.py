"""The actions of a run that are not over: approvals still open, effects without a known outcome.

Reads only, and decides nothing: an action that the caller names and the records do not have is not in the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from gate import canonical
from gate.records.statuses import ApprovalStatus, EffectStatus
from gate.records.tables import APPROVAL_CONSUMPTIONS, APPROVALS, EFFECTS

UNSETTLED = (EffectStatus.IN_FLIGHT.value, EffectStatus.UNKNOWN.value, EffectStatus.PARTIAL.value)
"""Stored statuses of an effect that nobody may repeat yet."""

_OPEN = (ApprovalStatus.PENDING.value, ApprovalStatus.APPROVED.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRef:
    """How an envelope names an action, so that it can be found again once it is over."""

    approval_id: str | None
    capability: str
    idempotency_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionState:
    """One action: its approval, its effect, or both."""

    capability: str
    capability_version: str | None
    """What the catalog called it when the approval was asked for; None when no approval was."""
    action_digest: str
    idempotency_key: str | None
    business_key_digest: str | None
    approval_id: str | None
    approval_status: ApprovalStatus | None
    approval_expires_at_ms: int | None
    approval_epoch: int | None
    lease_expires_at_ms: int | None
    """Of the effect's last claim; None when nothing was claimed."""
    side_effect_status: EffectStatus
    """`in_flight` reads as `side_effect_unknown` once its lease ran out."""


def in_flight(tx: Connection, tenant_id: str, run_id: str, now: int) -> bool:
    """True while a claim of the run has a lease that has not run out."""
    query = select(EFFECTS.c.run_id).where(
        *_unsettled(tenant_id, run_id),
        EFFECTS.c.status == EffectStatus.IN_FLIGHT.value,
        EFFECTS.c.lease_expires_at_ms > now,
    )
    return tx.execute(query.limit(1)).first() is not None


def known_approvals(tx: Connection, tenant_id: str, approval_ids: Iterable[str]) -> frozenset[str]:
    """Those of `approval_ids` that the tenant has, whatever became of them."""
    query = select(APPROVALS.c.approval_id).where(
        APPROVALS.c.tenant_id == tenant_id, APPROVALS.c.approval_id.in_(tuple(approval_ids))
    )
    return frozenset(str(found) for (found,) in tx.execute(query))


def find(
    tx: Connection, tenant_id: str, run_id: str, principal_id: str, now: int, named: Iterable[ActionRef] = ()
) -> tuple[ActionState, ...]:
    """Every action of the run that is not over, and those in `named` whatever became of them; in a stable order."""
    approvals: dict[str, Mapping[Any, Any]] = {}
    effects: dict[tuple[str, str], Mapping[Any, Any]] = {}
    conditions: list[tuple[ColumnElement[bool], ...]] = [(APPROVALS.c.run_id == run_id, APPROVALS.c.status.in_(_OPEN))]
    conditions += [(APPROVALS.c.approval_id == ref.approval_id,) for ref in named if ref.approval_id is not None]
    for condition in conditions:
        for row in tx.execute(select(APPROVALS).where(APPROVALS.c.tenant_id == tenant_id, *condition)).mappings():
            approvals[row["approval_id"]] = row
    wanted: list[tuple[ColumnElement[bool], ...]] = [_unsettled(tenant_id, run_id)]
    wanted += [_used_key(tenant_id, principal_id, r.capability, r.idempotency_key) for r in named if r.idempotency_key]
    wanted += [
        _by_key(tenant_id, row["principal_id"], row["capability"], row["business_key"])
        for row in approvals.values()
        if row["business_key"]
    ]
    for where in wanted:
        for row in tx.execute(select(EFFECTS).where(*where)).mappings():
            effects[row["capability"], row["business_key"]] = row
    found = [_of_effect(tx, row, approvals, now) for row in effects.values()]
    spoken_for = {action.approval_id for action in found}
    found += [_of_approval(row) for key, row in approvals.items() if key not in spoken_for]
    # An effect that ended and that nobody named is over: it is only here because an open approval shares its key.
    named_keys = {(r.capability, r.idempotency_key) for r in named}
    kept = [
        a
        for a in found
        if a.approval_id is not None
        or a.side_effect_status in UNSETTLED
        or (a.capability, a.idempotency_key) in named_keys
    ]
    return tuple(sorted(kept, key=lambda a: (a.capability, a.action_digest, a.approval_id or "")))


def _of_effect(
    tx: Connection, row: Mapping[Any, Any], approvals: Mapping[str, Mapping[Any, Any]], now: int
) -> ActionState:
    status = EffectStatus(row["status"])
    if status is EffectStatus.IN_FLIGHT and row["lease_expires_at_ms"] <= now:
        status = EffectStatus.UNKNOWN
    approval = next((a for a in approvals.values() if _for_effect(a, row)), None) or _consumed_by(tx, row)
    return ActionState(
        capability=row["capability"],
        capability_version=None if approval is None else approval["capability_version"],
        action_digest=row["action_digest"],
        idempotency_key=row["idempotency_key"],
        business_key_digest=canonical.digest(row["business_key"]),
        side_effect_status=status,
        lease_expires_at_ms=row["lease_expires_at_ms"],
        **_approval_fields(approval),
    )


def _of_approval(row: Mapping[Any, Any]) -> ActionState:
    key = row["business_key"]
    return ActionState(
        capability=row["capability"],
        capability_version=row["capability_version"],
        action_digest=row["action_digest"],
        idempotency_key=row["idempotency_key"],
        business_key_digest=None if key is None else canonical.digest(key),
        side_effect_status=EffectStatus.NOT_STARTED,
        lease_expires_at_ms=None,
        **_approval_fields(row),
    )


def _approval_fields(row: Mapping[Any, Any] | None) -> dict[str, Any]:
    if row is None:
        return dict.fromkeys(("approval_id", "approval_status", "approval_expires_at_ms", "approval_epoch"))
    return {
        "approval_id": row["approval_id"],
        "approval_status": ApprovalStatus(row["status"]),
        "approval_expires_at_ms": row["expires_at_ms"],
        "approval_epoch": row["epoch"],
    }


def _for_effect(approval: Mapping[Any, Any], effect: Mapping[Any, Any]) -> bool:
    """The approval is for the very action that the effect is of."""
    return bool(approval["capability"] == effect["capability"] and approval["action_digest"] == effect["action_digest"])


def _consumed_by(tx: Connection, effect: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
    """The approval that the last claim of this effect spent."""
    query = (
        select(APPROVALS)
        .join(
            APPROVAL_CONSUMPTIONS,
            (APPROVAL_CONSUMPTIONS.c.tenant_id == APPROVALS.c.tenant_id)
            & (APPROVAL_CONSUMPTIONS.c.approval_id == APPROVALS.c.approval_id),
        )
        .where(
            APPROVALS.c.tenant_id == effect["tenant_id"],
            APPROVALS.c.action_digest == effect["action_digest"],
            APPROVAL_CONSUMPTIONS.c.principal_id == effect["principal_id"],
            APPROVAL_CONSUMPTIONS.c.capability == effect["capability"],
            APPROVAL_CONSUMPTIONS.c.business_key == effect["business_key"],
        )
        .order_by(APPROVAL_CONSUMPTIONS.c.fencing.desc())
        .limit(1)
    )
    return tx.execute(query).mappings().one_or_none()


def _unsettled(tenant_id: str, run_id: str) -> tuple[ColumnElement[bool], ...]:
    return (EFFECTS.c.tenant_id == tenant_id, EFFECTS.c.run_id == run_id, EFFECTS.c.status.in_(UNSETTLED))


def _used_key(
    tenant_id: str, principal_id: str, capability: str, idempotency_key: str | None
) -> tuple[ColumnElement[bool], ...]:
    return (
        EFFECTS.c.tenant_id == tenant_id,
        EFFECTS.c.principal_id == principal_id,
        EFFECTS.c.capability == capability,
        EFFECTS.c.idempotency_key == idempotency_key,
    )


def _by_key(tenant_id: str, principal_id: str, capability: str, business_key: str) -> tuple[ColumnElement[bool], ...]:
    return (
        EFFECTS.c.tenant_id == tenant_id,
        EFFECTS.c.principal_id == principal_id,
        EFFECTS.c.capability == capability,
        EFFECTS.c.business_key == business_key,
    )
