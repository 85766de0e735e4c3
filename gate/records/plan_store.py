"""The part of the store that keeps plans of several steps.

Each method is one transaction, tenant first. Use it through `gate.records.Store`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.records import checks, plans, runs
from gate.records.database import Database
from gate.records.model import PlanRecord


class PlanStore:
    """Plans and how they ended."""

    _database: Database

    def record_plan(self, new: PlanRecord) -> PlanRecord:
        """The plan of that name as it was first recorded; `new` itself when there was none.

        Raises `ConflictError`: `run_unknown`, `run_closed`.
        """
        return self._database.writing(lambda tx: plans.record(tx, new))

    def plan(self, tenant_id: str, plan_ref: str) -> PlanRecord | None:
        """The plan, or None when this tenant has none of that name."""
        tenant_id, plan_ref = checks.name("tenant_id", tenant_id), checks.name("plan_ref", plan_ref)
        return self._database.reading(lambda tx: plans.find(tx, tenant_id, plan_ref))

    def record_plan_stopped(self, plan: PlanRecord, fields: Mapping[str, Any]) -> None:
        """Tells the run's log how far a stopped plan had come. Raises `ConflictError` `run_unknown`."""
        self._note(plan, "plan_stopped", fields)

    def record_plan_suspended(self, plan: PlanRecord, fields: Mapping[str, Any]) -> None:
        """Tells the run's log that a plan was left to be resumed. Raises `ConflictError` `run_unknown`."""
        self._note(plan, "plan_suspended", fields)

    def record_plan_resumed(self, plan: PlanRecord, fields: Mapping[str, Any]) -> None:
        """Tells the run's log that somebody went on with a plan. Raises `ConflictError` `run_unknown`."""
        self._note(plan, "plan_resumed", fields)

    def _note(self, plan: PlanRecord, event_type: str, fields: Mapping[str, Any]) -> None:
        payload = {"plan_ref": plan.plan_ref, "plan_digest": plan.plan_digest, **fields}
        self._database.writing(lambda tx: runs.append(tx, plan.tenant_id, plan.run_id, event_type, payload))
