"""The continuity sections of the input document: the envelope as it is stored, and what the records say now.

Decides nothing and compares nothing with the envelope: each side is set down, and Rego compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gate.canonical import digest_bytes
from gate.evidence.builder import EvidenceBuilder, Prepared
from gate.evidence.host import Run
from gate.pdp import Facts
from gate.records import ActionState, BoundaryProof, BoundaryRecord, EffectStatus, RunSnapshot
from gate.records.open_actions import UNSETTLED

CHECKPOINT_STATE = "state"
"""The control checkpoint of every boundary operation."""

UNREADABLE = "unreadable"
"""Stands where the digest of a presented summary would: no envelope is bound to it."""

_ACTION_FIELDS = (
    *("capability_name", "capability_version", "approval_id", "action_digest", "approval_expires_at_ms"),
    *("idempotency_key", "side_effect_status", "business_key_digest", "approval_status", "lease_expires_at_ms"),
)


def policy_digest(facts: Facts) -> str:
    """Digest of what is served, out of its revision; the revision itself when it has none."""
    tail = facts.revision.replace("@", "+").rpartition("+")[2]
    return f"sha256:{tail}"


def summary_sha256(summary: str) -> str:
    """`sha256:` and the digest of the summary without the white space around it (the seed's rule)."""
    return digest_bytes(summary.strip().encode("utf-8"))


def presented_digest(summary: object) -> str | None:
    """Digest of whatever was presented as a summary; None when nothing was, and no digest for what has none."""
    if summary is None:
        return None
    try:
        return summary_sha256(summary) if isinstance(summary, str) else UNREADABLE
    except UnicodeEncodeError:
        return UNREADABLE


def checkpoint_ref(snapshot: RunSnapshot) -> str:
    """Where the run would go on: the host's checkpoint, or the start of the run when it recorded none."""
    return snapshot.progress.checkpoint_ref or f"checkpoint:{snapshot.run.run_id}:start"


def objective_sha256(snapshot: RunSnapshot) -> str | None:
    """Digest of the objective the host recorded; None when it recorded none."""
    objective = snapshot.progress.objective
    return digest_bytes(objective.encode("utf-8")) if objective else None


def action_facts(action: ActionState, facts: Facts) -> dict[str, Any]:
    """One action as the records have it, under the version the served catalog gives its capability now."""
    entry = facts.capabilities.get(action.capability, {})
    return {
        "capability_name": action.capability,
        "capability_version": entry.get("capability_version"),
        "approval_id": action.approval_id,
        "action_digest": action.action_digest,
        "approval_expires_at_ms": action.approval_expires_at_ms,
        "idempotency_key": action.idempotency_key,
        "side_effect_status": str(action.side_effect_status),
        "business_key_digest": action.business_key_digest,
        "approval_status": None if action.approval_status is None else str(action.approval_status),
        "lease_expires_at_ms": action.lease_expires_at_ms,
    }


def pending_obligations(snapshot: RunSnapshot) -> list[str]:
    """What the host recorded as open, every effect to be reconciled and every approval that is waited for."""
    derived = {name for action in snapshot.actions for name, done in _duties(action) if not done}
    return sorted({*snapshot.obligations.open, *derived})


def closed_obligations(snapshot: RunSnapshot) -> list[str]:
    """What the host closed with evidence, effects that were reconciled, approvals that were answered."""
    derived = {name for action in snapshot.actions for name, done in _duties(action) if done}
    return sorted({*snapshot.obligations.closed, *derived} - set(pending_obligations(snapshot)))


def evidence_refs(snapshot: RunSnapshot, approval_ids: Iterable[str]) -> list[str]:
    """What the run can be checked against: its trace, the approvals in `approval_ids` that exist, the host's own."""
    found = {f"approval:{each}" for each in approval_ids}
    return sorted({f"trace:{snapshot.run.trace_id}", *found, *snapshot.progress.evidence_refs})


def boundary_document(
    builder: EvidenceBuilder,
    run: Run,
    snapshot: RunSnapshot,
    *,
    operation: str,
    handoff_to: Mapping[str, Any] | None,
    now_ms: int,
    facts: Facts,
    inside: bool = False,
) -> Prepared:
    """A document that asks whether a boundary may be written now.

    `operation` is compact, reset, handoff, fork or recover; `handoff_to` who the host says receives it. `inside`:
    it is written already, and its meaning is asked.
    """
    prepared = builder.operation(
        run, checkpoint=CHECKPOINT_STATE, operation=operation, now_ms=now_ms, facts=facts, request={}
    )
    state = _now(snapshot, facts, [action_facts(action, facts) for action in snapshot.actions], run.epoch)
    state["boundary"] = {"count": snapshot.boundaries - int(inside)}
    state["event_range"] |= {"intact": snapshot.tail_holds}
    state["handoff"] = handoff_to
    return _with(prepared, {"continuity": state})


def rehydrate_document(
    builder: EvidenceBuilder,
    host: Run,
    *,
    envelope: Mapping[str, Any] | None,
    boundary: BoundaryRecord | None,
    snapshot: RunSnapshot | None,
    proof: BoundaryProof | None,
    summary_digest: str | None,
    child: Mapping[str, Any] | None,
    now_ms: int,
    facts: Facts,
) -> Prepared:
    """A document that asks whether the host may go on from an envelope; what was not found is null.

    `envelope`: the stored body with its seal, None when it cannot be read. `summary_digest`: of what was presented,
    which does not itself enter the document; None when nothing was. `child`: the run that a fork would start.
    """
    prepared = builder.operation(
        host, checkpoint=CHECKPOINT_STATE, operation="rehydrate", now_ms=now_ms, facts=facts, request={}
    )
    state = None
    if boundary is not None and snapshot is not None:
        frozen = (envelope or {}).get("source_event_range")
        frozen = frozen if isinstance(frozen, dict) else {}
        state = _now(snapshot, facts, _aligned(envelope, snapshot, facts), host.epoch)
        state["boundary"] = {
            "envelope_id": boundary.envelope_id,
            "status": str(boundary.status),
            "version": boundary.version,
            "count": snapshot.boundaries,
            "resumed_by": boundary.resumed_by,
            "pair": builder.store.pair_of_boundary(boundary.tenant_id, boundary.envelope_id),
            "written_at_ms": boundary.written_at_ms,
        }
        # The row's own numbers, and the frozen hash only where the log still has it.
        state["event_range"] = {
            "first_seq": boundary.first_seq,
            "last_seq": boundary.last_seq,
            "head_hash": frozen.get("head_hash") if proof is not None and proof.linked else None,
            "intact": proof is not None and proof.intact,
        }
        state["child"] = child
        state["source_trace_id"] = None if proof is None else proof.source_trace_id
        known = {f"approval:{each}" for each in snapshot.approvals_known}
        state["evidence_refs"] = sorted({*evidence_refs(snapshot, ()), *known})
    prepared = _with(prepared, {"continuity": state})
    return replace(
        prepared, document={**prepared.document, "envelope": envelope, "digests": {"summary_sha256": summary_digest}}
    )


def with_meaning(prepared: Prepared, meaning: Mapping[str, Any]) -> Prepared:
    """The document with what is carried over the boundary besides authority (`state.longtask`)."""
    return _with(prepared, {"longtask": dict(meaning)})


def _now(snapshot: RunSnapshot, facts: Facts, actions: list[dict[str, Any]], host_epoch: int | None) -> dict[str, Any]:
    progress = snapshot.progress
    return {
        "epoch": snapshot.run.epoch,
        "event_range": {
            "first_seq": snapshot.range.first_seq,
            "last_seq": snapshot.range.last_seq,
            "head_hash": snapshot.range.head_hash,
        },
        "actions": actions,
        "checkpoint_ref": checkpoint_ref(snapshot),
        "sandbox_snapshot_ref": progress.sandbox_snapshot_ref,
        "budget_remaining": progress.budget_remaining,
        "pending_obligations": pending_obligations(snapshot),
        "closed_obligations": closed_obligations(snapshot),
        "constraints": [
            {"constraint_id": record.constraint_id, "resolvable": record.intact, "digest": record.digest}
            for record in snapshot.constraints
        ],
        "in_flight": snapshot.in_flight,
        "open_work": [{"kind": work.kind, "ref": work.ref} for work in progress.open_work],
        "policy": {"bundle_version": (facts.bundle or {}).get("version"), "policy_digest": policy_digest(facts)},
        "objective_sha256": objective_sha256(snapshot),
        "host": {"epoch": host_epoch},
    }


def _aligned(envelope: Mapping[str, Any] | None, snapshot: RunSnapshot, facts: Facts) -> list[dict[str, Any]]:
    """Each action of the envelope as it is now, in its order, all null when it is gone; then those that are new."""
    left, aligned = list(snapshot.actions), []
    for then in actions_of(envelope):
        found = next((action for action in left if _same(then, action)), None)
        if found is None:
            aligned.append(dict.fromkeys(_ACTION_FIELDS))
            continue
        left.remove(found)
        aligned.append(action_facts(found, facts))
    # A lookup by name also finds what is over and belongs to no action of the envelope.
    new = [a for a in left if a.side_effect_status in UNSETTLED or a.approval_id is not None]
    return [*aligned, *(action_facts(action, facts) for action in new)]


def actions_of(envelope: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The actions of a stored envelope that are at least objects."""
    found = (envelope or {}).get("actions")
    return [action for action in found if isinstance(action, dict)] if isinstance(found, list) else []


def _same(then: Mapping[str, Any], now: ActionState) -> bool:
    if then.get("approval_id") is not None and then["approval_id"] == now.approval_id:
        return True
    keys = (then.get("business_key_digest"), then.get("idempotency_key"))
    return then.get("capability_name") == now.capability and (
        keys[0] is not None and keys[0] == now.business_key_digest and keys[1] == now.idempotency_key
    )


def _duties(action: ActionState) -> list[tuple[str, bool]]:
    """What an action leaves to be done, by name, and whether it is done."""
    duties = []
    if action.side_effect_status is not EffectStatus.NOT_STARTED:
        name = f"reconcile:{action.capability}:{action.business_key_digest}"
        duties.append((name, action.side_effect_status not in UNSETTLED))
    if action.approval_id is not None:
        duties.append((f"await_approval:{action.approval_id}", str(action.approval_status) != "pending"))
    return duties


def _with(prepared: Prepared, state: Mapping[str, Any]) -> Prepared:
    document = prepared.document
    return replace(prepared, document={**document, "state": {**document["state"], **state}})
