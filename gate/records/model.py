"""The records of the store as values: one frozen class a record; `gate.records.statuses` has what they can be.

Pure: nothing here reads or writes a database, and no record carries a raw argument value or a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gate.records.statuses import ApprovalStatus, EffectStatus, RunStatus, SessionStatus

Json = Any
"""Whatever `gate.canonical` accepts: dict, list, str, int, float, bool or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One agent run. `version` grows by one with every change of status, not with events."""

    tenant_id: str
    run_id: str
    agent_id: str
    principal_id: str
    session_id: str
    trace_id: str
    authorization_mode: str
    delegated_principal_id: str | None = None
    delegated_scope: str | None = None
    status: RunStatus = RunStatus.RUNNING
    version: int = 1
    status_reason: str = ""
    """Why the status last changed, in the words of whoever changed it."""
    waiting_for: str | None = None
    """The approval that a paused run waits for; None when nobody paused it for one."""
    epoch: int = 1
    """How often a context was started for this run: 1, and one more with every boundary that was resumed."""
    parent_run_id: str | None = None
    """The run that this one was forked from; None for one that was started."""
    forked_from: str | None = None
    """Envelope of that fork."""
    boundary_id: str | None = None
    """Envelope of the boundary that is written and not yet resumed; nothing runs while there is one."""


@dataclass(frozen=True, slots=True)
class StoredVote:
    """A reviewer's signed vote as it was handed in; it means nothing until `votes.verify` has read it."""

    payload: bytes
    """The canonical bytes that were signed."""
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What is asked for when a new approval is needed; the store adds id, nonce, times and status."""

    tenant_id: str
    run_id: str
    capability: str
    contract_id: str
    contract_digest: str
    action_digest: str
    intent_digest: str
    principal_id: str
    agent_id: str
    session_id: str
    trace_id: str
    requested_by: str
    reason: str
    bundle_version: str
    release_identity: str
    view: Mapping[str, Any]
    """The redacted arguments a reviewer sees; a JSON object."""
    standing_digest: str | None = None
    """What a standing approval is for, besides this action; None for an approval of one execution."""
    standing_terms: Mapping[str, Any] | None = None
    """The contract's terms of a standing approval, for the reviewer to see."""
    capability_version: str | None = None
    """What the served catalog called the capability when the approval was asked for."""
    idempotency_key: str | None = None
    business_key: str | None = None
    request_fingerprint: str | None = None
    """The very step of the run's history it is asked for; kept in the event log only. None when none matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRecord:
    """One approval request and what became of it. A status alone approves nothing: the signed votes do."""

    tenant_id: str
    approval_id: str
    run_id: str
    status: ApprovalStatus
    capability: str
    contract_id: str
    contract_digest: str
    action_digest: str
    intent_digest: str
    nonce: str
    principal_id: str
    agent_id: str
    session_id: str
    trace_id: str
    requested_by: str
    reason: str
    bundle_version: str
    release_identity: str
    view: Mapping[str, Any]
    created_at_ms: int
    expires_at_ms: int
    """From this millisecond of the database clock on the approval is worth nothing."""
    version: int
    votes: tuple[StoredVote, ...] = ()
    """In the order they were cast."""
    status_reason: str = ""
    """Why the status last changed, in the words of whoever changed it."""
    escalated_at_ms: int | None = None
    """From this millisecond of the database clock on the default reviewer may decide too."""
    standing_digest: str | None = None
    standing_terms: Mapping[str, Any] | None = None
    uses: int = 0
    """How many executions a standing approval has been used for."""
    capability_version: str | None = None
    idempotency_key: str | None = None
    business_key: str | None = None
    epoch: int = 1
    """Epoch of the run when the first vote was cast; until then, when the approval was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeniedKey:
    """A reviewer's key that signs nothing any more, whatever `reviewers.yaml` says of it. Never taken back."""

    tenant_id: str
    key_id: str
    public_key: str | None
    """The key itself, so that it is not listed again under another id; None when nobody knew it."""
    reason: str
    denied_by: str
    denied_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRecord:
    """The ledger's row for one business key: at most one side effect in the world."""

    tenant_id: str
    principal_id: str
    capability: str
    business_key: str
    status: EffectStatus
    idempotency_key: str
    action_digest: str
    run_id: str
    owner: str
    fencing: int
    """Grows with every claim and reconciliation; a worker that holds an older one cannot settle."""
    attempt: int
    lease_expires_at_ms: int
    """From this millisecond of the database clock on, `in_flight` reads as `side_effect_unknown`."""
    receipt: Json | None
    evidence_ref: str | None
    version: int
    late_receipt: Json | None = None
    """A receipt that came after the lease ran out: evidence for a reconciliation, not an outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyRecord:
    """What an idempotency key was first used for; never changed."""

    idempotency_key: str
    action_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterUse:
    """What a call wants to spend of a limit, as the decision saw it. Amounts are whole minor units (cents)."""

    name: str
    """Which counter; a limit for a day or a currency has both in its name."""
    amount: int
    limit: int
    """The counter may reach this value and not pass it."""
    read: int
    """The value the decision read; 0 for a counter that does not exist yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterRecord:
    """How much of a limit is spent or held by effects whose outcome is not known to be a failure."""

    tenant_id: str
    name: str
    value: int
    """Whole minor units."""
    version: int
    """Grows with every change; 0 for a counter that nothing was counted on yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStep:
    """One step in the history of a run, as the decision saw the history."""

    version: int | None
    """How many steps the history had; None for a step that holds whatever came meanwhile."""
    payload: Mapping[str, Any]
    """Ids, digests and amounts of the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Everything a decision relied on, to be compared again inside the transaction that claims the effect."""

    tenant_id: str
    run_id: str
    run_version: int
    principal_id: str
    capability: str
    business_key: str
    idempotency_key: str
    action_digest: str
    owner: str
    """Who will run the effect; unique to one attempt of one process."""
    lease_ms: int
    effect_version: int | None = None
    """Version of the effect row that was read; None when there was none."""
    approval_id: str | None = None
    approval_version: int | None = None
    constraint_version: int = 0
    """Version of the principal's constraints that the decision read; one that grew since loses the claim."""
    intent_digest: str | None = None
    """What a rejection is remembered by; a rejection that was recorded since the decision loses the claim."""
    standing_digest: str | None = None
    """Digest that a standing approval must have; None when the approval is for one execution."""
    max_uses: int = 1
    """Executions that the approval is good for."""
    step: HistoryStep | None = None
    """The step that the effect adds to the history of its run; None when no rule over history is about it."""
    counters: tuple[CounterUse, ...] = ()
    """What the effect spends; given back when it settles or is reconciled as not having happened."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The won claim; its `effect` carries the fencing number that `settle` asks for."""

    effect: EffectRecord
    approval_id: str | None = None
    """The approval that the claim consumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One link of the hash chain of a run; `payload` holds ids, digests and statuses only."""

    tenant_id: str
    run_id: str
    seq: int
    """1-based, without gaps."""
    prev_hash: str
    hash: str
    event_type: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The events of a run, and what a walk of their chain found."""

    integrity: str
    """`verified`, or `corrupt` when the chain does not hold; then there are no events."""
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A stateful conversation of a run with the server of a tool."""

    tenant_id: str
    session_id: str
    run_id: str
    principal_id: str
    trace_session_id: str
    """Session of the agent that opened it."""
    server: str
    capability: str | None
    """Capability it was opened for; None when it lists tools."""
    remote_digest: str | None = None
    """Digest of the server's own session id, which is as good as a credential and kept nowhere."""
    reinitialized_from: str | None = None
    """Expired session that this one replaces."""
    status: SessionStatus = SessionStatus.ACTIVE
    expires_at_ms: int = 0
    """Database clock; equality counts as expired."""
    paused_at_ms: int | None = None
    """When it was last paused; None when it never was."""
    progress_events: int = 0
    elicitations: int = 0
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRecord:
    """A plan of several steps as it was first recorded; never changed."""

    tenant_id: str
    plan_ref: str
    run_id: str
    principal_id: str
    capability: str
    """Capability that carries the plan out."""
    task_ref: str
    plan_digest: str
    content: Mapping[str, Any]
    """Steps and requirements: names and digests, no argument values."""
