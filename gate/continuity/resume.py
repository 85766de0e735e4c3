"""The second half of the protocol: load the envelope, compare it with the records in Rego, resume once, rebuild.

Decides nothing. Exactly three verdicts leave here; whatever else happens is a failed validation with its own code.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gate.continuity.boundary import MAX_EVENTS_SHOWN
from gate.continuity.desk import MAX_ROUNDS, Desk, only_obligation
from gate.continuity.view import ContextView, build
from gate.decision import Decision, Reason, Verdict
from gate.errors import ConflictError, EvidenceError, GateError, InputError
from gate.evidence import Prepared, Run, require_text
from gate.evidence.continuity import (
    actions_of,
    pending_obligations,
    presented_digest,
    rehydrate_document,
    with_meaning,
)
from gate.pdp import Facts
from gate.records import (
    ActionRef,
    BoundaryProof,
    BoundaryRecord,
    Event,
    EventRange,
    NewChild,
    RunSnapshot,
)

VERDICTS = frozenset(
    {Verdict.CONTINUITY_VALIDATION_FAILED, Verdict.BLOCKED_ON_RECONCILIATION, Verdict.REAUTHORIZATION_REQUIRED}
)
"""All that a resume can answer; none of them permits an action."""

VALIDATED = "continuity_validated"
"""The reason of a resume that may go on to authorization."""

_ORDER = (
    *("tenant_mismatch", "principal_mismatch", "summary_digest_mismatch", "unknown_side_effect", "partial_side_effect"),
    *("authorization_mode_changed", "delegated_principal_changed", "delegated_scope_changed"),
    *("policy_version_changed", "capability_changed", "capability_version_changed", "approval_binding_changed"),
    *("action_digest_changed", "idempotency_key_changed", "side_effect_status_changed", "checkpoint_changed"),
    *("approval_revoked", "approval_not_active", "approval_expired"),
)
# Which of several reasons stands for all where only one fits: the order of the reference, then the alphabet.


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """The run that a resume of a fork starts: it has nothing of its parent but identity, objective and checkpoint."""

    run_id: str
    session_id: str
    """A session of its own: what is approved is bound to a session, so nothing of the parent's counts there."""

    def __post_init__(self) -> None:
        require_text("run_id", self.run_id)
        require_text("session_id", self.session_id)

    @classmethod
    def new(cls) -> Child:
        """A child with names that nobody has."""
        return cls(run_id=f"run-{secrets.token_hex(8)}", session_id=f"session-{secrets.token_hex(8)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What became of a resume. `authorized` does not exist: every action is decided afresh."""

    decision: Decision
    reason: str
    """The one code that stands for all of `decision.codes`."""
    run: Run | None = None
    """The handle of the new epoch; None unless continuity was validated."""
    view: ContextView | None = None
    """What the context may be rebuilt from; None unless continuity was validated."""
    child: Run | None = None
    """The handle of the run that a fork started, in its first epoch; None for every other boundary."""
    problem: str | None = None
    """Code of what is wrong with the form of the stored envelope; None when nothing is."""

    @property
    def status(self) -> Verdict:
        """One of `VERDICTS`."""
        return self.decision.verdict

    @property
    def validated(self) -> bool:
        """Continuity passed; the next action must still be authorized."""
        return self.run is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """What the records have of a boundary, as the tenant of the host may see it."""

    boundary: BoundaryRecord | None = None
    envelope: Mapping[str, Any] | None = None
    snapshot: RunSnapshot | None = None
    proof: BoundaryProof | None = None
    child: Child | None = None
    """The run that this resume would start; None unless it is of a fork."""
    child_known: bool = False


def resume(
    desk: Desk,
    envelope_id: str,
    presented_summary: object,
    host: Run,
    *,
    child: Child | None = None,
    meaning: Mapping[str, Any] | None = None,
) -> Resumption:
    """Validates the boundary and starts the next epoch; once, whoever else tries at the same time.

    `presented_summary` is what the context was cut to, None for a recovery; only its digest is looked at. `host` is the
    host's own handle on the run, `child` what a fork starts, with made-up names when it is None. `meaning`: what is
    known of the pair that the context would be rebuilt from, in the form of `state.longtask`. Raises `InputError` for a
    blank envelope id, `EvidenceError` when it cannot be traced.
    """
    require_text("envelope_id", envelope_id)
    digest = presented_digest(presented_summary)
    error: GateError = ConflictError("the records kept changing", code="run_changed", hint="try again")
    child = child or Child.new()
    for _ in range(MAX_ROUNDS):
        try:
            loaded = _load(desk, envelope_id, host, child)
        except EvidenceError as exc:
            return _failed(desk, host, envelope_id, _Loaded(), Decision.undecided(exc, audit={}))
        decision = _closed(_decide(desk, host, loaded, digest, meaning))
        if decision.verdict is not Verdict.REAUTHORIZATION_REQUIRED:
            return _failed(desk, host, envelope_id, loaded, decision)
        try:
            return _go_on(desk, host, loaded, decision, presented_summary)
        except ConflictError as exc:
            error = exc
        except EvidenceError as exc:
            return _failed(desk, host, envelope_id, loaded, Decision.undecided(exc, audit=decision.audit))
    return _failed(desk, host, envelope_id, _Loaded(), Decision.undecided(error, audit={}))


def _load(desk: Desk, envelope_id: str, host: Run, child: Child) -> _Loaded:
    tenant = host.identity.tenant_id
    # Under the host's own tenant only: a stranger finds nothing, and learns no more than that.
    boundary = desk.store.boundary(tenant, envelope_id) if tenant else None
    if boundary is None:
        return _Loaded()
    envelope = desk.envelope_of(boundary)
    snapshot = desk.store.snapshot(
        boundary.tenant_id,
        boundary.run_id,
        envelope_id=envelope_id,
        named=[
            ActionRef(
                approval_id=_text(action.get("approval_id")),
                capability=_text(action.get("capability_name")) or "",
                idempotency_key=_text(action.get("idempotency_key")),
            )
            for action in actions_of(envelope)
        ],
        constraint_ids=_texts(envelope, "exact_constraint_refs"),
        approval_ids=[
            ref.removeprefix("approval:") for ref in _texts(envelope, "evidence_refs") if ref.startswith("approval:")
        ],
    )
    if snapshot is None or snapshot.boundary is None:
        return _Loaded(boundary=boundary, envelope=envelope)
    # What is decided about is the row of the snapshot, not the one that led to it.
    boundary, envelope = snapshot.boundary, desk.envelope_of(snapshot.boundary)
    frozen = _frozen(envelope)
    proof = None if frozen is None else desk.store.prove_boundary(boundary, frozen)
    forked = child if boundary.reason == "fork" else None
    known = forked is not None and desk.store.run(boundary.tenant_id, forked.run_id) is not None
    return _Loaded(
        boundary=boundary, envelope=envelope, snapshot=snapshot, proof=proof, child=forked, child_known=known
    )


def _decide(desk: Desk, host: Run, loaded: _Loaded, digest: str | None, meaning: Mapping[str, Any] | None) -> Decision:
    def prepared(facts: Facts) -> Prepared:
        found = rehydrate_document(
            desk.evidence,
            host,
            envelope=loaded.envelope,
            boundary=loaded.boundary,
            snapshot=loaded.snapshot,
            proof=loaded.proof,
            summary_digest=digest,
            child=_child_facts(loaded),
            now_ms=desk.clock_ms(),
            facts=facts,
        )
        return found if meaning is None else with_meaning(found, meaning)

    try:
        return desk.ask(host.agent_id, prepared).decision
    except InputError as exc:
        # An edited row can hold what no document can: that is an answer about the row, not the caller's mistake.
        return Decision.undecided(exc, audit={})


def _child_facts(loaded: _Loaded) -> dict[str, Any] | None:
    child = loaded.child
    if child is None:
        return None
    return {"run_id": child.run_id, "session_id": child.session_id, "known": loaded.child_known}


def _successor(decision: Decision, loaded: _Loaded) -> tuple[str | None, NewChild | None]:
    """Who has the run from now on, when that changes, and the run to be started, exactly as the decision obliges."""
    handed, forked = decision.obligation("hand_over_run"), decision.obligation("fork_run")
    child = loaded.child
    if child is None and forked is None:
        return (None, None) if handed is None else (str(handed["agent_id"]), None)
    if child is None or forked is None or (forked["run_id"], forked["session_id"]) != (child.run_id, child.session_id):
        raise EvidenceError("an obligation of the decision cannot be discharged", code="obligation_undischarged")
    return None, NewChild(run_id=child.run_id, session_id=child.session_id)


def _go_on(desk: Desk, host: Run, loaded: _Loaded, decision: Decision, summary: object) -> Resumption:
    """Carries the validated resume out. Raises `ConflictError` when something moved since it was decided."""
    fields = frozenset({"envelope_id", "version", "epoch"})
    obliged = only_obligation(decision, "resume_boundary", fields, besides=frozenset({"fork_run", "hand_over_run"}))
    agent_id, child = _successor(decision, loaded)
    boundary, snapshot, envelope = loaded.boundary, loaded.snapshot, loaded.envelope
    if boundary is None or snapshot is None or envelope is None:
        raise EvidenceError("an obligation of the decision cannot be discharged", code="obligation_undischarged")
    stated = {"envelope_id": boundary.envelope_id, "version": boundary.version, "epoch": snapshot.run.epoch}
    if any(obliged[field] != value for field, value in stated.items()):
        raise EvidenceError("an obligation of the decision cannot be discharged", code="obligation_undischarged")
    resumed, epoch, event = desk.store.resume_boundary(
        boundary.tenant_id,
        boundary.envelope_id,
        expected_version=boundary.version,
        run_version=snapshot.run.version,
        head=snapshot.head,
        resumed_by=host.identity.principal_id or "",
        agent_id=agent_id,
        child=child,
    )
    view = build(
        snapshot,
        envelope_id=resumed.envelope_id,
        obligations=pending_obligations(snapshot),
        events=desk.store.source_events(
            resumed.tenant_id,
            resumed.run_id,
            first_seq=resumed.first_seq,
            last_seq=resumed.last_seq,
            limit=MAX_EVENTS_SHOWN,
        ),
        summary=summary if isinstance(summary, str) else None,
    )
    desk.tell(
        host,
        "context_rehydration",
        {
            **_said(envelope, resumed.envelope_id, decision, VALIDATED),
            "policy_version": _text(envelope.get("policy_version")),
            "versions_reloaded": _versions(envelope),
            "epoch": epoch,
        },
        event,
    )
    started = None if child is None else replace(host, run_id=child.run_id, session_id=child.session_id, epoch=1)
    return Resumption(decision=decision, reason=VALIDATED, run=replace(host, epoch=epoch), view=view, child=started)


def _failed(desk: Desk, host: Run, envelope_id: str, loaded: _Loaded, decision: Decision) -> Resumption:
    """Records and traces a resume that stops; what it is told depends on the decision alone."""
    if decision.verdict not in VERDICTS:
        decision = replace(decision, verdict=Verdict.CONTINUITY_VALIDATION_FAILED)
    reason = primary(decision)
    event: Event | None = None
    if loaded.boundary is not None:
        event = _logged(desk, loaded.boundary, decision, reason)
    desk.tell(host, "continuity_validation_failed", _said(loaded.envelope or {}, envelope_id, decision, reason), event)
    return Resumption(decision=decision, reason=reason, problem=_text((loaded.envelope or {}).get("form_problem")))


def _logged(desk: Desk, boundary: BoundaryRecord, decision: Decision, reason: str) -> Event | None:
    payload = {
        "envelope_id": boundary.envelope_id,
        "status": str(decision.verdict),
        "reason": reason,
        "reasons": list(decision.codes)[:64],
        "revision": decision.revision,
    }
    try:
        return desk.store.append_event(boundary.tenant_id, boundary.run_id, "continuity_validation_failed", payload)
    except EvidenceError:
        # The store that cannot be written is mostly what failed the resume; the trace says it without a link.
        return None


def _said(envelope: Mapping[str, Any], envelope_id: str, decision: Decision, reason: str) -> dict[str, Any]:
    return {
        "envelope_id": envelope_id,
        "source_trace_id": _text(envelope.get("source_trace_id")),
        "checkpoint_ref": _text(envelope.get("checkpoint_ref")),
        "status": str(decision.verdict),
        "reason": reason,
        "reasons": list(decision.codes),
        "authorized": "false",
        "requires_reauthorization": "true",
        "revision": decision.revision,
        "request_id": decision.audit.get("request_id"),
    }


def _closed(decision: Decision) -> Decision:
    """`decision` when it is one that a resume can answer with, else the refusal in its place."""
    if not decision.decided or decision.verdict in VERDICTS:
        return decision
    reason = Reason("verdict_unexpected", Verdict.CONTINUITY_VALIDATION_FAILED, "gate.continuity", "", "", "")
    return replace(
        decision,
        verdict=Verdict.CONTINUITY_VALIDATION_FAILED,
        reasons=(*decision.reasons, reason),
        obligations=(),
    )


def primary(decision: Decision) -> str:
    """The one code that stands for all: of the decisive reasons, the first in the order of the reference."""
    decisive = [r.code for r in decision.reasons if r.verdict in (decision.verdict, Verdict.DENY)]
    candidates = decisive or list(decision.codes)
    if not candidates:
        return str(decision.verdict)
    return min(candidates, key=lambda code: (_ORDER.index(code) if code in _ORDER else len(_ORDER), code))


def _versions(envelope: Mapping[str, Any]) -> list[str]:
    versions = [f"policy:{envelope.get('policy_version')}", f"policy_digest:{envelope.get('policy_digest')}"]
    for action in actions_of(envelope):
        versions.append(f"{action.get('capability_name')}:{action.get('capability_version')}")
    return versions


def _frozen(envelope: Mapping[str, Any] | None) -> EventRange | None:
    found = (envelope or {}).get("source_event_range")
    match found:
        case {"first_seq": int(first), "last_seq": int(last), "head_hash": str(head)} if 1 <= first <= last:
            return EventRange(first_seq=first, last_seq=last, head_hash=head)
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() and "\x00" not in value else None


def _texts(envelope: Mapping[str, Any] | None, field: str) -> list[str]:
    found = (envelope or {}).get(field)
    return [each for each in found if _text(each)] if isinstance(found, list) else []
