"""The governed documents as typed values.

Pure data, made by `gate.documents.reading` from a document that passed its schema. What one document says of
another must not be checked here but by the linker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gate.documents.governance import Ancestor
from gate.documents.limits import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleMeta:
    """`bundle.yaml`: which documents are the policy, for which agents, in which release."""

    bundle_id: str
    version: str
    owner_team: str
    agent_ids: tuple[str, ...]
    """Agents the bundle governs, from `applies_to.agent_ids`."""
    artifacts: tuple[str, ...]
    """File names of the documents beside `bundle.yaml`, in its order."""
    contract_version: str
    release_identity: str
    show_arguments: Mapping[str, tuple[str, ...]]
    """Capability name to the JSON pointers an approval view may show; empty when nothing may be shown."""
    change_id: str | None = None
    lineage: tuple[Ancestor, ...] = ()
    """Versions this one was made from, newest first."""
    deprecated_rules: tuple[str, ...] = ()
    """Rules that must no longer be in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityPolicy:
    """`policy.capabilities.NAME`: what is decided about a capability."""

    name: str
    decision: str
    """`allow`, `approval_required` or `deny`."""
    approver: str | None
    """Reviewer role, or None when the policy names none."""
    when: str | None = None
    """Predicate that must be provably true for the capability to be permitted; None when it always is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceContract:
    """`policy.evidence.SECTION`: when a section of evidence counts as known."""

    section: str
    max_age_seconds: int
    checked_by: tuple[str, ...] | None
    """Sources that are trusted; None when any is that the host installed."""
    signature_keys: Mapping[str, str] | None
    """Ed25519 public keys in base64 by key id, one of which must have signed; None when nobody need sign."""
    required_for: tuple[str, ...]
    """Capabilities that are not called without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument:
    """`policy.yaml`: what the agent may do."""

    require_tenant: bool
    deny_if_principal_missing: bool
    operations: Mapping[str, str]
    """Operation to `allow` or `deny`; one that is not named is refused."""
    capabilities: Mapping[str, CapabilityPolicy]
    """By name, in the order of the YAML."""
    allow_kinds: tuple[str, ...]
    """Kinds of memory that may be written; none when the policy has no `memory_write`."""
    allow_network_access: tuple[str, ...]
    limits: tuple[Limit, ...] = ()
    run_budget: int | None = None
    """How many effects one run may have; None when the policy sets no budget."""
    evidence: Mapping[str, EvidenceContract] = field(default_factory=dict)
    """By section, in the order of the YAML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """`capabilities.NAME`: an entry of the catalog, where facts come from, never from a caller."""

    name: str
    owner: str
    mode: str
    """`read` or `write`."""
    side_effect: str
    """`none`, `internal_write` or `external_write`."""
    transport: str
    server: str | None
    """MCP server that offers it; None when the catalog names none."""
    tool_principal: str
    risk_tier: str
    network_access: str
    allowed_egress: tuple[str, ...]
    timeout_seconds: int
    approval: str
    """Reviewer role it always needs, or `none`."""
    idempotency_key_required: bool
    identifying_arguments: tuple[str, ...]
    """JSON pointers of the arguments that make the business key."""
    arguments: Mapping[str, Any]
    """JSON Schema of the arguments."""
    spec: Mapping[str, Any] = field(repr=False)
    """The entry as it was written; must not be changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingTerms:
    """`standing` of a contract: an approval that is good for more than one execution."""

    max_uses: int
    valid_seconds: int
    """Life of the request and of the approval it yields."""
    scope: str
    """`session` or `principal`."""
    free_arguments: tuple[str, ...] = ()
    """JSON pointers of arguments that may differ between executions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationTerms:
    """Who may decide too when a request stays undecided, and from when on."""

    role: str
    """`approvals.default_reviewer`."""
    after_ms: int
    """Milliseconds after the request: `approvals.escalation_sla_minutes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalContract:
    """One of `approval_contracts`: where reasoning stops for a human."""

    contract_id: str
    capability: str
    risk_tier: str
    bundle_version: str
    release_identity: str
    required_reviewers: tuple[str, ...]
    """Roles, any of which may approve; every one of which must with `all_roles`."""
    quorum: int
    """Number of distinct humans that must approve."""
    request_fields: tuple[str, ...]
    allowed_decisions: tuple[str, ...]
    pause_allowed: bool
    max_wait_seconds: int
    on_expiry: str
    """`cancel_run` or `request_again`."""
    on_reject: str
    """`stop_run` or `continue_without`."""
    audit_fields: tuple[str, ...] = ()
    """What the audit of a decision keeps of the approval."""
    all_roles: bool = False
    """One vote of each required role, each by another human."""
    delegation: bool = False
    """A reviewer may hand his vote to a delegate."""
    withdrawal_roles: tuple[str, ...] | None = None
    """Roles that may cancel and revoke; None when they are the required ones."""
    requester_may_cancel: bool = False
    while_pending: str = "keep_running"
    """`keep_running` or `pause_run`."""
    escalation: EscalationTerms | None = None
    """None when only the required roles may ever decide."""
    standing: StandingTerms | None = None
    """None when every approval is for one execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerKey:
    """A public key that a reviewer's signatures are checked against, good in [not_before, not_after)."""

    key_id: str
    public_key: str
    """Ed25519 public key, 32 bytes in base64."""
    not_before: str
    not_after: str
    not_before_ms: int
    """Milliseconds since the epoch."""
    not_after_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """One of `reviewers`: who may review, in which roles."""

    id: str
    human: str
    """The person behind the id, as written."""
    roles: tuple[str, ...]
    keys: tuple[ReviewerKey, ...]
