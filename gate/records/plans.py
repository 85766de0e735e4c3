"""Plans of several steps, each recorded once and never changed, inside a transaction that the caller holds.

Opens no transaction and decides nothing: whether a plan may be carried out is the policies' question.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, RowMapping, select

from gate import canonical
from gate.errors import InputError, StoreError
from gate.records import checks, runs
from gate.records.clock import NOW
from gate.records.model import PlanRecord
from gate.records.statements import InsertNew
from gate.records.tables import PLANS

_NAMES = ("tenant_id", "plan_ref", "run_id", "principal_id", "capability", "task_ref")
_INSERT = InsertNew(PLANS, recorded_at_ms=NOW)


def record(tx: Connection, new: PlanRecord) -> PlanRecord:
    """The plan of that name as it was first recorded, which is `new` when there was none.

    Raises `ConflictError`: `run_unknown`, `run_closed`; `InputError` for a field that no record can hold.
    """
    row: dict[str, Any] = {field: checks.name(field, getattr(new, field)) for field in _NAMES}
    row |= {
        "plan_digest": checks.digest("plan_digest", new.plan_digest),
        "content": checks.json_object("content", dict(new.content)),
    }
    run = runs.locked(tx, row["tenant_id"], row["run_id"])
    inserted = _INSERT(tx, row)
    if inserted is None:
        found = find(tx, row["tenant_id"], row["plan_ref"])
        if found is None:
            raise checks.contended()
        return found
    run.require_open()
    run.append("plan_recorded", {field: row[field] for field in ("plan_ref", "plan_digest", "task_ref", "capability")})
    return _record(inserted)


def find(tx: Connection, tenant_id: str, plan_ref: str) -> PlanRecord | None:
    """The plan, or None when this tenant has none of that name."""
    query = select(PLANS).where(PLANS.c.tenant_id == tenant_id, PLANS.c.plan_ref == plan_ref)
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else _record(row)


def _record(row: RowMapping) -> PlanRecord:
    try:
        content = canonical.parse(row["content"])
    except InputError as exc:
        raise StoreError(
            f"the plan `{row['plan_ref']}` is damaged", code="store_corrupt", hint="restore a copy"
        ) from exc
    fields = {k: row[k] for k in (*_NAMES, "plan_digest")}
    return PlanRecord(**fields, content=content)
