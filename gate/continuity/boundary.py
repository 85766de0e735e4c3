"""The first half of the protocol: stop at a safe point, write the envelope from the records, bind the summary.

Decides nothing, and takes nothing from a summary but its digest. The envelope is written over exactly the records that
the decision read, by compare-and-set on the run's version and the head of its event chain.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gate.continuity.desk import MAX_ROUNDS, SCHEMA_VERSION, Desk, Recipient, body_text, only_obligation, refuse
from gate.continuity.view import ContextView, build
from gate.decision import Decision
from gate.errors import ConflictError, EvidenceError, InputError
from gate.evidence import Prepared, Run
from gate.evidence.continuity import (
    action_facts,
    boundary_document,
    checkpoint_ref,
    evidence_refs,
    objective_sha256,
    pending_obligations,
    policy_digest,
    summary_sha256,
)
from gate.pdp import Facts
from gate.records import BoundaryRecord, BoundaryStatus, Event, RunSnapshot

OPERATIONS: Mapping[str, str] = {
    "context_compaction": "compact",
    "context_reset": "reset",
    "handoff": "handoff",
    "fork": "fork",
}
"""Operation that asks for a boundary, by its reason."""

UNREQUESTED = "recover"
"""Operation that records a boundary nobody asked for."""

EVENT_TYPES: Mapping[str, str] = {
    "context_compaction": "context_compaction",
    "context_reset": "context_reset",
    "handoff": "context_handoff",
    "fork": "context_fork",
    "process_recovery": "context_recovery",
}
"""Trace event of a boundary, by its reason."""

PRESERVED = (
    *("identity", "authorization", "policy", "actions", "approvals", "idempotency", "side_effects", "checkpoint"),
    *("sandbox", "budget", "constraints", "obligations", "event_range", "evidence"),
)
"""Classes of fields that an envelope keeps as structure, for the trace."""

MAX_EVENTS_SHOWN = 50
"""How many source events a context view names at most."""

_ENVELOPE_ACTION = (
    *("capability_name", "capability_version", "approval_id", "action_digest"),
    *("approval_expires_at_ms", "idempotency_key", "side_effect_status", "business_key_digest"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """A written boundary: nothing runs in its run until it is resumed."""

    run: Run
    """The host's handle it was written for."""
    envelope_id: str
    reason: str
    requested: bool
    status: BoundaryStatus
    epoch: int
    envelope: Mapping[str, Any]
    """The stored envelope, in the form of `input.envelope` without its seal."""
    view: ContextView
    """What whoever makes the summary may be told; structured state does not depend on it."""


def prepare(
    desk: Desk, run: Run, reason: str, *, envelope_id: str | None = None, to: Recipient | None = None
) -> Boundary:
    """Writes a boundary that somebody asks for; `reason` is one of `OPERATIONS`, `to` who receives a handoff.

    Raises `ActionBlocked` when no boundary is permitted now, `InputError`: `boundary_reason_unknown`, `run_unknown`,
    `seal_key_missing`; `EvidenceError` when it cannot be traced.
    """
    if reason not in OPERATIONS:
        raise InputError(f"`{reason!a}` is not a reason for a boundary", code="boundary_reason_unknown")
    return write(desk, run, reason, operation=OPERATIONS[reason], summary=None, envelope_id=envelope_id, to=to)


def write(
    desk: Desk,
    run: Run,
    reason: str,
    *,
    operation: str,
    summary: str | None,
    envelope_id: str | None = None,
    to: Recipient | None = None,
) -> Boundary:
    """Asks, writes and traces one boundary; with a `summary`, or as a recovery, it is sealed at once."""
    tenant = desk.tenant(run)
    envelope_id = envelope_id or f"ce-{secrets.token_hex(12)}"
    handoff_to = None if to is None or reason != "handoff" else {"agent_id": to.agent_id, "role": to.role}
    last: ConflictError | None = None
    for _ in range(MAX_ROUNDS):
        now_ms = desk.clock_ms()
        snapshot = desk.store.snapshot(tenant, run.run_id)
        if snapshot is None:
            raise InputError(f"run `{run.run_id}` is not known", code="run_unknown")
        seen: list[tuple[Facts, Prepared]] = []
        answer = desk.ask(run.agent_id, _question(desk, run, snapshot, operation, handoff_to, now_ms, seen))
        decision = answer.decision.enforce()
        facts, prepared = seen[-1]
        try:
            body = _body(desk, run, snapshot, facts, decision, reason, envelope_id, now_ms, summary)
            body["handoff_to"] = handoff_to
            new = _row(desk, snapshot, body, now_ms)
            written, event = desk.store.write_boundary(
                new,
                run_version=snapshot.run.version,
                frozen=snapshot.range,
                supersedes=operation == UNREQUESTED,
            )
        except ConflictError as exc:
            last = exc
            continue
        except EvidenceError as exc:
            raise refuse(exc, prepared) from exc
        if written.status is BoundaryStatus.SEALED:
            _tell(desk, run, written, body, event)
        return _boundary(desk, run, written, body, snapshot, summary)
    error = last or ConflictError("the run kept changing", code="run_changed")
    raise refuse(error, None) from error


def seal_summary(desk: Desk, boundary: Boundary, summary: object) -> Boundary:
    """Binds the derived summary to the boundary by its digest and seals the envelope; the summary is kept nowhere.

    Raises `InputError` for a summary that is not text or blank, with the messages of the reference; `ConflictError`:
    `boundary_unknown`, `boundary_changed`; `EvidenceError`: `seal_invalid` for an envelope that was changed.
    """
    text = checked_summary(summary)
    tenant = desk.tenant(boundary.run)
    stored = desk.store.boundary(tenant, boundary.envelope_id)
    if stored is None:
        raise ConflictError("the envelope is not in the records", code="boundary_unknown", hint="check its id")
    envelope = desk.envelope_of(stored)
    if envelope is None or not envelope["seal"]["valid"]:
        raise EvidenceError("the stored envelope is not what was sealed", code="seal_invalid", hint="recover the run")
    digest = summary_sha256(text)
    body = {key: value for key, value in envelope.items() if key not in ("seal", "form_problem")} | {
        "summary_sha256": digest
    }
    written, event = desk.store.seal_boundary(
        tenant,
        stored.envelope_id,
        expected_version=stored.version,
        body=body_text(body),
        summary_sha256=digest,
        sealed_with=desk.sealer.sign(body_text(body), now_ms=desk.clock_ms()),
    )
    _tell(desk, boundary.run, written, body, event)
    return Boundary(
        run=boundary.run,
        envelope_id=written.envelope_id,
        reason=written.reason,
        requested=written.requested,
        status=written.status,
        epoch=written.epoch,
        envelope=body,
        view=boundary.view,
    )


def checked_summary(summary: object) -> str:
    """`summary` as text that is not blank; raises `InputError` with the messages of the reference."""
    if not isinstance(summary, str):
        raise InputError("Continuity field must be a string: summary", code="continuity_field_invalid")
    if not summary.strip():
        raise InputError("Continuity field is required: summary", code="continuity_field_required")
    try:
        summary.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InputError("a string has a lone surrogate", code="json_lone_surrogate") from exc
    return summary


def _question(
    desk: Desk,
    run: Run,
    snapshot: RunSnapshot,
    operation: str,
    handoff_to: Mapping[str, Any] | None,
    now_ms: int,
    seen: list[tuple[Facts, Prepared]],
) -> Any:
    def prepared(facts: Facts) -> Prepared:
        found = boundary_document(
            desk.evidence, run, snapshot, operation=operation, handoff_to=handoff_to, now_ms=now_ms, facts=facts
        )
        seen.append((facts, found))
        return found

    return prepared


def _body(
    desk: Desk,
    run: Run,
    snapshot: RunSnapshot,
    facts: Facts,
    decision: Decision,
    reason: str,
    envelope_id: str,
    now_ms: int,
    summary: str | None,
) -> dict[str, Any]:
    """The envelope, from the records and the decision about them alone."""
    obliged = only_obligation(decision, "write_boundary", frozenset({"requested", "forbidden_states"}))
    record, bundle = snapshot.run, facts.bundle or {}
    approvals = [action.approval_id for action in snapshot.actions if action.approval_id is not None]
    holding = [
        c.constraint_id
        for c in snapshot.constraints
        if c.status == "active" and (c.valid_until_ms is None or c.valid_until_ms > now_ms)
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "envelope_id": envelope_id,
        "session_id": record.session_id,
        "source_trace_id": run.trace_id,
        "reset_reason": reason,
        "objective_sha256": objective_sha256(snapshot),
        "exact_constraint_refs": holding,
        "pending_obligations": pending_obligations(snapshot),
        "tenant_id": record.tenant_id,
        "principal_id": record.principal_id,
        "authorization_mode": record.authorization_mode,
        "delegated_principal_id": record.delegated_principal_id,
        "delegated_scope": record.delegated_scope,
        "policy_version": bundle.get("version"),
        "policy_digest": policy_digest(facts),
        "actions": [_envelope_action(action_facts(action, facts)) for action in snapshot.actions],
        "checkpoint_ref": checkpoint_ref(snapshot),
        "sandbox_snapshot_ref": snapshot.progress.sandbox_snapshot_ref,
        "budget_remaining": snapshot.progress.budget_remaining,
        "source_event_range": {
            "first_seq": snapshot.range.first_seq,
            "last_seq": snapshot.range.last_seq,
            "head_hash": snapshot.range.head_hash,
        },
        "summary_sha256": None if summary is None else summary_sha256(summary),
        "evidence_refs": evidence_refs(snapshot, approvals),
        "requires_reauthorization": True,
        "run_id": record.run_id,
        "agent_id": record.agent_id,
        "role": run.role,
        "environment": desk.evidence.environment,
        "epoch": record.epoch,
        "written_at_ms": now_ms,
        "requested": obliged["requested"],
        "forbidden_states": list(obliged["forbidden_states"]),
    }


def _envelope_action(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {field: facts[field] for field in _ENVELOPE_ACTION}


def _row(desk: Desk, snapshot: RunSnapshot, body: Mapping[str, Any], now_ms: int) -> BoundaryRecord:
    text = body_text(body)
    sealed = body["summary_sha256"] is not None or body["reset_reason"] == "process_recovery"
    return BoundaryRecord(
        tenant_id=snapshot.run.tenant_id,
        envelope_id=body["envelope_id"],
        run_id=snapshot.run.run_id,
        session_id=snapshot.run.session_id,
        source_trace_id=body["source_trace_id"],
        reason=body["reset_reason"],
        status=BoundaryStatus.SEALED if sealed else BoundaryStatus.OPEN,
        requested=body["requested"] is True,
        epoch=snapshot.run.epoch,
        first_seq=snapshot.range.first_seq,
        last_seq=snapshot.range.last_seq,
        body=text,
        seal=desk.sealer.sign(text, now_ms=now_ms),
        summary_sha256=body["summary_sha256"],
        written_at_ms=now_ms,
        version=1,
    )


def _boundary(
    desk: Desk, run: Run, written: BoundaryRecord, body: Mapping[str, Any], snapshot: RunSnapshot, summary: str | None
) -> Boundary:
    events = desk.store.source_events(
        written.tenant_id,
        written.run_id,
        first_seq=written.first_seq,
        last_seq=written.last_seq,
        limit=MAX_EVENTS_SHOWN,
    )
    return Boundary(
        run=run,
        envelope_id=written.envelope_id,
        reason=written.reason,
        requested=written.requested,
        status=written.status,
        epoch=written.epoch,
        envelope=body,
        view=build(
            snapshot,
            envelope_id=written.envelope_id,
            obligations=body["pending_obligations"],
            events=events,
            summary=summary,
        ),
    )


def _tell(desk: Desk, run: Run, written: BoundaryRecord, body: Mapping[str, Any], event: Event) -> None:
    frozen = body["source_event_range"]
    desk.tell(
        run,
        EVENT_TYPES[written.reason],
        {
            "envelope_id": written.envelope_id,
            "session_id": written.session_id,
            "source_trace_id": written.source_trace_id,
            "run_id": written.run_id,
            "trigger": written.reason,
            "requested": written.requested,
            "forbidden_states": list(body["forbidden_states"]),
            "epoch": written.epoch,
            "first_event": frozen["first_seq"],
            "last_event": frozen["last_seq"],
            "head_hash": frozen["head_hash"],
            "summary_sha256": written.summary_sha256,
            "preserved_fields": list(PRESERVED),
            "requires_reauthorization": "true",
        },
        event,
    )
