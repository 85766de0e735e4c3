"""Sound input documents for context boundaries, and every way in which one can be less than sound.

Pure. A boundary is asked for at a safe point and resumed from as it was written; what continuity.yaml adds is what each
of the changes here is about. Made from what a bundle says of itself, with no golden case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gate.release.diff_base import (
    ACTION,
    ENVIRONMENT,
    EPOCH,
    PRINCIPAL,
    RUN,
    SESSION,
    TENANT,
    document_of,
    now_ms,
)
from gate.release.diff_documents import ABSENT, Candidate, Patch, Path, fact, value_at

_REQUESTED = ("compact", "reset", "handoff", "fork")
OPERATIONS = (*_REQUESTED, "recover", "rehydrate")
"""The operations of a boundary."""
_REASONS = ("context_compaction", "context_reset", "process_recovery", "handoff", "fork")
_ENVELOPE, _TRACE, _ROLE = "ce-review-1", "trace-before", "worker"
_HEAD, _SUMMARY, _POLICY, _OBJECTIVE, _KEY, _CONSTRAINT = (f"sha256:{letter * 64}" for letter in "abcdef")
_OBLIGATION = "await:somebody"
_LONG_AGO_MS = 4 * 365 * 24 * 3_600_000
_MANY = 1_000_000
_AT: Path = ("state", "continuity")
_OPEN_WORK = (
    *("multi_step_in_progress", "irreversible_awaiting_confirmation", "credential_change_unfinished"),
    *("user_correction_not_durable", "incident_open"),
)


def boundaries(agent: str, facts: Mapping[str, Any], constraints: Sequence[str]) -> Iterator[Candidate]:
    """Each boundary asked for at a safe point, a recovery, and a resumption from each kind of boundary.

    `constraints` are the ids that the bundle wants carried over.
    """
    for operation in (*_REQUESTED, "recover"):
        document = _at_boundary(agent, facts, operation, constraints)
        if operation == "handoff":
            document["state"]["continuity"]["handoff"] = {"agent_id": agent, "role": None}
        yield Candidate(origin="generated", name=f"{operation} at a safe point", base=document)
    for reason in _REASONS:
        yield Candidate(
            origin="generated",
            name=f"rehydrate after {reason}",
            base=_resumption(agent, facts, reason, constraints),
        )


def _at_boundary(agent: str, facts: Mapping[str, Any], operation: str, constraints: Sequence[str]) -> dict[str, Any]:
    document = document_of(agent, facts, "state", operation, None)
    document["agent"]["role"] = _ROLE
    document["trace"]["epoch"] = EPOCH
    actions = [{**action, "approval_status": "approved", "lease_expires_at_ms": None} for action in _actions(facts)]
    for unused in ("request", "evidence"):
        del document[unused]
    document["digests"] = {"summary_sha256": None}
    document["state"] = {"run": document["state"]["run"], "constraints": []}
    document["state"]["continuity"] = {
        "boundary": {"count": 1},
        "epoch": EPOCH,
        "event_range": {"first_seq": 1, "last_seq": 9, "head_hash": _HEAD, "intact": True},
        "actions": actions,
        "checkpoint_ref": "checkpoint:review",
        "sandbox_snapshot_ref": "snapshot:review",
        "budget_remaining": 7,
        "pending_obligations": [],
        "closed_obligations": [],
        "constraints": [{"constraint_id": name, "resolvable": True, "digest": _CONSTRAINT} for name in constraints],
        "in_flight": False,
        "open_work": [],
    }
    return document


def _actions(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """An approved action that waits to be carried out, where the bundle has an approval contract."""
    return [
        {
            "capability_name": capability,
            "capability_version": fact("capabilities", capability, "capability_version"),
            "approval_id": "apr-1",
            "action_digest": ACTION,
            "approval_expires_at_ms": now_ms(facts) + 1_000_000,
            "idempotency_key": "key-1",
            "side_effect_status": "not_started",
            "business_key_digest": _KEY,
        }
        for capability in list(facts["contracts"])[:1]
    ]


def _resumption(agent: str, facts: Mapping[str, Any], reason: str, constraints: Sequence[str]) -> dict[str, Any]:
    document = _at_boundary(agent, facts, "rehydrate", constraints)
    written = now_ms(facts) - 10_000
    document["digests"]["summary_sha256"] = _SUMMARY
    document["state"]["run"]["boundary"] = {"envelope_id": _ENVELOPE, "status": "sealed"}
    live = document["state"]["continuity"]
    live |= {
        "boundary": {
            "envelope_id": _ENVELOPE,
            "status": "sealed",
            "version": 2,
            "count": 2,
            "resumed_by": None,
            "written_at_ms": written,
        },
        "source_trace_id": _TRACE,
        "policy": {"bundle_version": fact("bundle", "version"), "policy_digest": _POLICY},
        "objective_sha256": _OBJECTIVE,
        "evidence_refs": [f"trace:{_TRACE}"],
        "host": {"epoch": EPOCH},
    }
    if reason == "fork":
        live["child"] = {"run_id": "run-child", "session_id": "session-child", "known": False}
    document["envelope"] = {
        "schema_version": "continuity-envelope/v1",
        "envelope_id": _ENVELOPE,
        "session_id": SESSION,
        "source_trace_id": _TRACE,
        "reset_reason": reason,
        "objective_sha256": _OBJECTIVE,
        "exact_constraint_refs": list(constraints),
        "pending_obligations": [],
        "tenant_id": TENANT,
        "principal_id": PRINCIPAL,
        **{key: document["identity"][key] for key in _CARRIED},
        "policy_version": fact("bundle", "version"),
        "policy_digest": _POLICY,
        "actions": _actions(facts),
        "checkpoint_ref": "checkpoint:review",
        "sandbox_snapshot_ref": "snapshot:review",
        "budget_remaining": 7,
        "source_event_range": {"first_seq": 1, "last_seq": 9, "head_hash": _HEAD},
        "summary_sha256": _SUMMARY,
        "evidence_refs": [f"trace:{_TRACE}"],
        "requires_reauthorization": True,
        "run_id": RUN,
        "agent_id": agent,
        "role": _ROLE,
        "environment": ENVIRONMENT,
        "epoch": EPOCH,
        "written_at_ms": written,
        "requested": reason != "process_recovery",
        "forbidden_states": [],
        "handoff_to": {"agent_id": agent, "role": None} if reason == "handoff" else None,
        "form_problem": None,
        "seal": {"key_id": "gate-key", "valid": True},
    }
    return document


_CARRIED = ("authorization_mode", "delegated_principal_id", "delegated_scope")


def crossings(base: Candidate, ages_ms: Sequence[int | float] = ()) -> Iterator[Candidate]:
    """`base`, a document at a boundary, with each thing that could forbid it, also where nobody asked for it.

    `ages_ms` are ages at which an envelope may become too old.
    """
    operation = value_at(base.base, ("operation",))
    changes: list[tuple[Patch, ...]] = [_patches(one) for one in _LIVE]
    if operation == "rehydrate":
        now = value_at(base.base, ("now_ms",))
        ages = [_LONG_AGO_MS, *(int(age) + step for age in ages_ms for step in (0, 1, -1))]
        changes += [_patches(one) for one in _ENVELOPES]
        for age in ages if isinstance(now, int) else ():
            written = dict.fromkeys((("envelope", "written_at_ms"), (*_AT, "boundary", "written_at_ms")), now - age)
            changes.append(_patches(written))
        changes += [(*change, Patch(("envelope", "requested"), False)) for change in changes]
    for change in changes:
        yield base.with_patches([*base.patches, *change])


def _patches(change: Mapping[Path, Any]) -> tuple[Patch, ...]:
    return tuple(Patch(path, value) for path, value in change.items())


_LIVE: tuple[Mapping[Path, Any], ...] = (
    {(*_AT, "pending_obligations"): [_OBLIGATION]},
    {(*_AT, "pending_obligations"): None},
    {(*_AT, "sandbox_snapshot_ref"): None},
    {(*_AT, "sandbox_snapshot_ref"): None, ("envelope", "sandbox_snapshot_ref"): None},
    *({(*_AT, "budget_remaining"): left} for left in (0, 1, 6, None)),
    {(*_AT, "budget_remaining"): 0, ("envelope", "budget_remaining"): 0},
    *({(*_AT, "boundary", "count"): count} for count in (0, _MANY, None)),
    {(*_AT, "constraints"): []},
    {(*_AT, "checkpoint_ref"): None},
    {(*_AT, "in_flight"): True},
    {(*_AT, "event_range", "intact"): False},
    {(*_AT, "actions"): []},
    {(*_AT, "actions"): None},
    *({(*_AT, "open_work"): [{"kind": kind}]} for kind in _OPEN_WORK),
    {("trace", "epoch"): EPOCH + 1},
    {("agent", "role"): "somebody-else"},
    {("state", "run", "boundary"): {"envelope_id": "ce-other", "status": "open"}},
)
_ENVELOPES: tuple[Mapping[Path, Any], ...] = (
    {("envelope", "pending_obligations"): [_OBLIGATION]},
    {("envelope", "pending_obligations"): [_OBLIGATION], (*_AT, "closed_obligations"): [_OBLIGATION]},
    {("envelope", "pending_obligations"): [_OBLIGATION], (*_AT, "pending_obligations"): [_OBLIGATION]},
    {("envelope", "role"): None},
    {("envelope", "objective_sha256"): _POLICY},
    {("envelope", "evidence_refs"): ["trace:gone"]},
    {("envelope", "exact_constraint_refs"): []},
    {("envelope", "budget_remaining"): None, (*_AT, "budget_remaining"): None},
    {("envelope", "forbidden_states"): ["obligation_open"]},
    {("envelope", "handoff_to"): None},
    {("envelope", "actions"): [], (*_AT, "actions"): []},
    {("envelope",): ABSENT},
    {("envelope", "seal", "valid"): False},
)
