"""A governed world with a throw-away bundle, in which a ticket is approved, written, and cut off at a boundary."""

from __future__ import annotations

import base64
import sqlite3
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from new_store import new_store
from opa_point import OpaPoint

from gate.compiler import assemble
from gate.continuity import Boundary, Resumption
from gate.decision import ActionBlocked
from gate.enforcement import EffectOutcomeUnknown, Gate
from gate.evidence import Identity, Run
from gate.lab.continuity_bundle import AGENT, Reviewer, write_bundle
from gate.pdp import DecisionPoint
from gate.records import ApprovalRecord, EffectRecord, GateKey, Store
from gate.trace import JsonlSink

TENANT, PRINCIPAL, ENVIRONMENT = "acme", "user-42", "test"
IDENTITY = Identity(
    tenant_id=TENANT,
    principal_id=PRINCIPAL,
    authorization_mode="user_delegated",
    delegated_principal_id=PRINCIPAL,
    delegated_scope="tickets:create",
)
TICKET = {"title": "Broken invoice"}
KEY = "ticket-intent-1"
SUMMARY = "Continue the ticket workflow without creating a duplicate."
SEAL = GateKey(key_id="gate-1", private_key=base64.b64encode(b"s" * 32).decode())


def served(folder: Path, reviewer: Reviewer, *, version: str = "1.0.0") -> OpaPoint:
    assembly = assemble([write_bundle(folder / AGENT, version=version, wait_seconds=3600, reviewer=reviewer)])
    return OpaPoint(assembly.modules, revision=assembly.revision)


@dataclass
class World:
    """One gate with its records, and the ticket service behind it."""

    point: DecisionPoint
    reviewer: Reviewer
    folder: Path
    store: Store
    bundle: Path
    """Folder in which the served bundle is."""
    offset_ms: int = 0
    tickets: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def new(cls, point: DecisionPoint, reviewer: Reviewer, folder: Path, bundle: Path) -> World:
        return cls(point, reviewer, folder, Store.open(new_store(folder / "records.sqlite")), bundle)

    def gate(self, **changes: Any) -> Gate:
        from gate.enforcement.gate import system_clock_ms

        options: dict[str, Any] = {
            "environment": ENVIRONMENT,
            "seal_key": SEAL,
            "trace": JsonlSink(self.folder / "trace.jsonl"),
            "clock_ms": lambda: system_clock_ms() + self.offset_ms,
        }
        point = changes.pop("point", self.point)
        return Gate(point, changes.pop("store", self.store), **{**options, **changes})

    def start(self, **changes: Any) -> Run:
        options: dict[str, Any] = {
            "agent_id": AGENT,
            "identity": IDENTITY,
            "session_id": "session-1",
            "trace_id": "trace-1",
        }
        run = self.gate().start_run(**{**options, **changes})
        self.gate().record_progress(run, objective="Resolve the request.", checkpoint_ref="checkpoint:6")
        return run

    def ask(self, run: Run, ticket: dict[str, Any] | None = None, key: str = KEY) -> ApprovalRecord:
        """The approval that a ticket is told to wait for."""
        blocked = self.call(run, ticket, key=key)
        assert isinstance(blocked, ActionBlocked)
        assert blocked.approval_id is not None, blocked
        found = self.store.approval(TENANT, blocked.approval_id)
        assert found is not None
        return found

    def vote(self, approval: ApprovalRecord, decision: str = "approved") -> ApprovalRecord:
        gate, key = self.gate(), self.reviewer.key
        vote = gate.reviews.sign(approval, decision=decision, key=key)
        return gate.reviews.vote(TENANT, approval.approval_id, vote, decision=decision, reviewer=key.reviewer)

    def call(
        self, run: Run, ticket: dict[str, Any] | None = None, *, key: str = KEY, fail: bool = False
    ) -> Exception | None:
        """The exception with which writing a ticket ended, None when it was written; `fail` loses the answer."""
        try:
            with self.gate().tool_call(
                run, "create_ticket", TICKET if ticket is None else ticket, idempotency_key=key, reason="asked for"
            ) as call:
                self.tickets.append(call.arguments)
                if fail:
                    raise TimeoutError
                call.complete({"ticket": len(self.tickets)})
        except (ActionBlocked, EffectOutcomeUnknown, TimeoutError) as exc:
            return exc
        return None

    def codes(self, run: Run, **options: Any) -> set[str]:
        """The codes with which a ticket is refused; empty when it was written."""
        found = self.call(run, **options)
        if found is None:
            return set()
        assert isinstance(found, ActionBlocked), found
        return set(found.decision.codes)

    def lost_ticket(self, run: Run) -> None:
        """An approved ticket whose outcome nobody knows."""
        self.vote(self.ask(run))
        assert isinstance(self.call(run, fail=True), TimeoutError)

    def cut(self, run: Run, summary: str = SUMMARY) -> Boundary:
        """A compaction that was asked for, with its summary."""
        return self.gate().seal_summary(self.gate().prepare_boundary(run, "context_compaction"), summary)

    def resume(self, boundary: Boundary, summary: object = SUMMARY, host: Run | None = None, **gate: Any) -> Resumption:
        presented: Any = summary
        return self.gate(**gate).resume(boundary.envelope_id, presented, host or boundary.run)

    def effect(self) -> EffectRecord:
        (found,) = self.store.effects(TENANT)
        return found

    def reconcile(self, outcome: str) -> EffectRecord:
        return self.gate().reviews.reconcile(
            self.effect(), outcome=outcome, evidence_ref="ticket-service:1", reconciled_by="ops", owner_fenced=True
        )

    def sql(self, statement: str, *values: object) -> None:
        """Edits the records behind the gate."""
        connection = sqlite3.connect(self.folder / "records.sqlite", isolation_level=None)
        try:
            connection.execute(statement, values)
        finally:
            connection.close()

    def trace(self) -> str:
        return (self.folder / "trace.jsonl").read_text("utf-8")


def stranger(run: Run, **changes: Any) -> Run:
    return replace(run, identity=replace(run.identity, **changes))
