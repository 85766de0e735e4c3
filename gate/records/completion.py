"""What became of everything that a run set out to do, so that nobody takes a part of it for the whole.

Reads the ledger, the approvals and the run's own events; decides nothing. A call that a policy refused left no record
and is not counted: what was never permitted is no part of the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, select

from gate import canonical
from gate.records.clock import now_ms
from gate.records.statuses import ApprovalStatus, EffectStatus
from gate.records.tables import APPROVALS, EFFECTS, EVENTS

NARROWED = "grant_narrowed"
"""Type of the event of a call that ran with less than was asked for."""

_OPEN = (ApprovalStatus.PENDING, ApprovalStatus.APPROVED)
_PLACES: Mapping[EffectStatus, str] = {
    EffectStatus.COMMITTED: "finished",
    EffectStatus.FAILED_BEFORE_EFFECT: "failed",
    EffectStatus.IN_FLIGHT: "in_flight",
    EffectStatus.UNKNOWN: "unknown",
    EffectStatus.PARTIAL: "partial",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Capabilities by what became of their effects in one run, sorted; one name for each effect."""

    finished: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Known not to have happened, and not done since."""
    unknown: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    in_flight: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """For a reviewer, or approved and not run yet."""
    refused: tuple[str, ...] = ()
    """Rejected, expired, cancelled or revoked before they ran."""
    narrowed: tuple[str, ...] = ()
    """Ran with less than was asked for."""

    def counts(self) -> dict[str, int]:
        """How many there are of each."""
        return {name: len(names) for name, names in self.as_dict().items()}

    def as_dict(self) -> dict[str, list[str]]:
        """The lists by name."""
        return {each.name: list(getattr(self, each.name)) for each in fields(self)}


def of_run(tx: Connection, tenant_id: str, run_id: str) -> Completion:
    """What became of the effects, approvals and narrowed calls of the run."""
    now = now_ms(tx)
    found: dict[str, list[str]] = {each.name: [] for each in fields(Completion)}
    begun: set[tuple[str, str]] = set()
    effects = select(EFFECTS).where(EFFECTS.c.tenant_id == tenant_id, EFFECTS.c.run_id == run_id)
    for row in map(dict, tx.execute(effects).mappings()):
        begun.add((row["capability"], row["business_key"]))
        found[_PLACES[_status(row, now)]].append(row["capability"])
    for row in _asked(tx, tenant_id, run_id):
        if (row["capability"], row["business_key"]) not in begun:
            # The newest request for an action is its last word.
            begun.add((row["capability"], row["business_key"]))
            place = _place(row, now, used=row["capability"] in found["finished"])
            if place is not None:
                found[place].append(row["capability"])
    found["narrowed"] = list(_narrowed(tx, tenant_id, run_id))
    return Completion(**{name: tuple(sorted(names)) for name, names in found.items()})


def _status(effect: Mapping[Any, Any], now: int) -> EffectStatus:
    status = EffectStatus(effect["status"])
    if status is EffectStatus.IN_FLIGHT and effect["lease_expires_at_ms"] <= now:
        return EffectStatus.UNKNOWN
    return status


def _place(approval: Mapping[Any, Any], now: int, *, used: bool) -> str | None:
    """Where an approval without an effect of its own belongs; `used`: its capability had an effect in the run."""
    status = ApprovalStatus(approval["status"])
    if status is ApprovalStatus.CONSUMED:
        return None
    if approval["standing_digest"] is not None and (used or status is ApprovalStatus.APPROVED):
        return None  # it is no one action's, so none is missing
    return "waiting" if status in _OPEN and approval["expires_at_ms"] > now else "refused"


def _asked(tx: Connection, tenant_id: str, run_id: str) -> list[dict[Any, Any]]:
    query = (
        select(APPROVALS)
        .where(APPROVALS.c.tenant_id == tenant_id, APPROVALS.c.run_id == run_id)
        .order_by(APPROVALS.c.created_at_ms.desc(), APPROVALS.c.ordinal.desc())
    )
    return [dict(row) for row in tx.execute(query).mappings()]


def _narrowed(tx: Connection, tenant_id: str, run_id: str) -> set[str]:
    query = select(EVENTS.c.payload).where(
        EVENTS.c.tenant_id == tenant_id, EVENTS.c.run_id == run_id, EVENTS.c.event_type == NARROWED
    )
    return {str(canonical.parse(payload)["capability"]) for (payload,) in tx.execute(query)}
