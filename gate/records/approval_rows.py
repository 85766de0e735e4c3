"""Approvals as they are read: found, listed, locked, with their votes and uses.

Inside a transaction that the caller holds. Changes nothing, verifies no signature and decides nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, exists, func, select

from gate import canonical
from gate.records import checks
from gate.records.model import ApprovalRecord, StoredVote
from gate.records.statuses import ApprovalStatus, EffectStatus
from gate.records.tables import APPROVAL_CONSUMPTIONS, APPROVAL_USES, APPROVAL_VOTES, APPROVALS, DISPATCHES, EFFECTS


def find(tx: Connection, tenant_id: str, approval_id: str) -> ApprovalRecord | None:
    """The approval, or None when this tenant has none of that id."""
    return _first(tx, tenant_id, APPROVALS.c.approval_id == approval_id)


def find_for(tx: Connection, tenant_id: str, *, action_digest: str, contract_digest: str) -> ApprovalRecord | None:
    """The newest approval for this action under this contract, whatever its status."""
    same = same_as({"action_digest": action_digest, "contract_digest": contract_digest, "standing_digest": None})
    return _first(tx, tenant_id, *same)


def find_standing(
    tx: Connection, tenant_id: str, *, standing_digest: str, contract_digest: str
) -> ApprovalRecord | None:
    """The newest approval that stands, or stood, for this under this contract, whatever its status."""
    return _first(tx, tenant_id, *same_as({"standing_digest": standing_digest, "contract_digest": contract_digest}))


def find_rejection(
    tx: Connection, tenant_id: str, *, principal_id: str, intent_digest: str, standing_digest: str | None = None
) -> ApprovalRecord | None:
    """The newest rejected approval of this principal with this intent, or for the same standing approval."""
    for digest, column in ((intent_digest, APPROVALS.c.intent_digest), (standing_digest, APPROVALS.c.standing_digest)):
        if digest is None:
            continue
        found = _first(
            tx,
            tenant_id,
            APPROVALS.c.principal_id == principal_id,
            column == digest,
            APPROVALS.c.status == ApprovalStatus.REJECTED.value,
        )
        if found is not None:
            return found
    return None


def all_of(tx: Connection, tenant_id: str, *, status: ApprovalStatus | None) -> list[ApprovalRecord]:
    """The approvals of the tenant, newest first."""
    conditions = [] if status is None else [APPROVALS.c.status == status.value]
    return [record(tx, row) for row in rows(tx, tenant_id, *conditions)]


def run_of(tx: Connection, tenant_id: str, approval_id: str) -> str:
    """The run that asked, which never changes; takes no lock. Raises `ConflictError` `approval_unknown`."""
    query = select(APPROVALS.c.run_id).where(APPROVALS.c.tenant_id == tenant_id, APPROVALS.c.approval_id == approval_id)
    found = tx.execute(query).scalar_one_or_none()
    if found is None:
        raise checks.conflict(
            "approval_unknown",
            f"there is no approval `{approval_id}`",
            "list them with `gate approvals list`",
        )
    return str(found)


def locked(tx: Connection, tenant_id: str, approval_id: str) -> RowMapping:
    """The row of an approval whose run is locked, locked until the transaction ends."""
    return rows(tx, tenant_id, APPROVALS.c.approval_id == approval_id, lock=True)[0]


def uses_of(tx: Connection, tenant_id: str, approval_id: str) -> int:
    """How many executions a standing approval has been used for."""
    query = select(func.count()).where(
        APPROVAL_USES.c.tenant_id == tenant_id, APPROVAL_USES.c.approval_id == approval_id
    )
    return int(tx.execute(query).scalar_one())


def undispatched(tx: Connection, tenant_id: str, approval_id: str) -> int:
    """How many claims under the approval are in flight and were not taken up by a tool."""
    count = 0
    for table in (APPROVAL_CONSUMPTIONS, APPROVAL_USES):
        same_effect = [
            EFFECTS.c[name] == table.c[name] for name in ("tenant_id", "principal_id", "capability", "business_key")
        ]
        same_dispatch = [
            DISPATCHES.c[name] == table.c[name]
            for name in ("tenant_id", "principal_id", "capability", "business_key", "fencing")
        ]
        query = (
            select(func.count())
            .select_from(table)
            .join(EFFECTS, and_(*same_effect, EFFECTS.c.fencing == table.c.fencing))
            .where(
                table.c.tenant_id == tenant_id,
                table.c.approval_id == approval_id,
                EFFECTS.c.status == EffectStatus.IN_FLIGHT.value,
                ~exists().where(*same_dispatch),
            )
        )
        count += int(tx.execute(query).scalar_one())
    return count


def rejected_meanwhile(tx: Connection, tenant_id: str, principal_id: str, digests: Iterable[str]) -> bool:
    """True when this principal's intent has been rejected; its open requests are locked, so that none is rejected now.

    `digests`: intent digest, and standing digest where the contract has one.
    """
    for digest, column in zip(digests, (APPROVALS.c.intent_digest, APPROVALS.c.standing_digest), strict=False):
        wanted = (ApprovalStatus.PENDING.value, ApprovalStatus.REJECTED.value)
        query = select(APPROVALS.c.status).where(
            APPROVALS.c.tenant_id == tenant_id,
            APPROVALS.c.principal_id == principal_id,
            column == digest,
            APPROVALS.c.status.in_(wanted),
        )
        found = tx.execute(query.order_by(APPROVALS.c.ordinal).with_for_update()).scalars()
        if ApprovalStatus.REJECTED.value in set(found):
            return True
    return False


def vote_payloads(tx: Connection, tenant_id: str, approval_id: str) -> list[StoredVote]:
    """The signed words on an approval, in the order they were said."""
    return [
        StoredVote(base64.b64decode(v["payload"]), base64.b64decode(v["signature"]))
        for v in vote_rows(tx, tenant_id, approval_id)
    ]


def same_as(row: dict[str, Any]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """What one approval is for: an action under a contract, or whatever a standing one stands for under it."""
    under_contract = APPROVALS.c.contract_digest == row["contract_digest"]
    if row["standing_digest"] is not None:
        return APPROVALS.c.standing_digest == row["standing_digest"], under_contract
    return APPROVALS.c.action_digest == row["action_digest"], under_contract


def rows(
    tx: Connection, tenant_id: str, *conditions: ColumnElement[bool], limit: int | None = None, lock: bool = False
) -> list[RowMapping]:
    """The tenant's rows under all `conditions`, newest first; locked until the transaction ends when asked to."""
    query = select(APPROVALS).where(APPROVALS.c.tenant_id == tenant_id, *conditions)
    query = query.order_by(APPROVALS.c.ordinal.desc()).limit(limit)
    return list(tx.execute(query.with_for_update() if lock else query).mappings())


def _first(tx: Connection, tenant_id: str, *conditions: ColumnElement[bool]) -> ApprovalRecord | None:
    found = rows(tx, tenant_id, *conditions, limit=1)
    return record(tx, found[0]) if found else None


def vote_rows(tx: Connection, tenant_id: str, approval_id: str) -> list[RowMapping]:
    """The rows of the votes on an approval, in the order they were cast."""
    query = select(APPROVAL_VOTES).where(
        APPROVAL_VOTES.c.tenant_id == tenant_id, APPROVAL_VOTES.c.approval_id == approval_id
    )
    return list(tx.execute(query.order_by(APPROVAL_VOTES.c.vote_no)).mappings())


def record(tx: Connection, row: Mapping[Any, Any]) -> ApprovalRecord:
    """The row as a value, with its votes and uses."""
    votes = tuple(vote_payloads(tx, row["tenant_id"], row["approval_id"]))
    fields = {k: v for k, v in row.items() if k != "ordinal"}
    if row["standing_digest"] is not None:
        fields["uses"] = uses_of(tx, row["tenant_id"], row["approval_id"])
        fields["standing_terms"] = canonical.parse(row["standing_terms"])
    fields |= {"status": ApprovalStatus(row["status"]), "view": canonical.parse(row["view"]), "votes": votes}
    return ApprovalRecord(**fields)
