"""`runtime-controls.yaml` as typed values: one group for each kind of call that is more than a plain one.

Pure data. A field that was left out is None and stays None: what that means is decided in Rego, and is the stricter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from gate.documents.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionControls:
    """`sessions`: stateful capability sessions."""

    capability_session_mode: str | None = None
    """`stateless` or `stateful`."""
    resume_policy: str | None = None
    """`refuse`, `reauthorize_then_resume` or `resume_existing_session_if_valid`."""
    on_session_expiry: str | None = None
    """`refuse` or `reinitialize`."""
    reinit_requires_approval: bool | None = None
    progress_event_policy: str | None = None
    """`refuse` or `from_live_session`."""
    elicitation_policy: str | None = None
    """`refuse`, `non_sensitive_only` or `from_live_session`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpControls:
    """`mcp`: where tools come from and who answers for their server."""

    mcp_evidence_required: bool | None = None
    mcp_discovery_source: str | None = None
    """`pinned_catalog`, `approved_registry` or `runtime_discovery`: the loosest that is accepted."""
    mcp_server_owner: str | None = None
    """`capability_owner` or `bundle_owner`."""
    mcp_auth_mode: str | None = None
    """`mutual_tls`, `oauth`, `api_key` or `none`: the weakest that is accepted."""
    shadow_mcp_handling: str | None = None
    """`deny` or `require_approval`."""
    catalog_evidence_required: bool | None = None
    catalog_max_ttl_seconds: int | None = None
    """Greatest age of a snapshot of a server's tools; none is reused when it is left out."""
    catalog_sharing: str | None = None
    """`private` or `public_within_tenant`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingControls:
    """`routing`: who lets a call through besides the approval contracts."""

    approval_mode: str | None = None
    """`human_only`, `human_or_delegate`, `human_or_classifier` or `human_delegate_or_classifier`."""
    approval_delegate: str | None = None
    """Reviewer role."""
    classifier_verdict_policy: str | None = None
    """`refuse_unless_allow`, `escalate_unless_allow` or `refuse_on_deny`."""
    escalate_to_human_if: tuple[str, ...] | None = None
    """Empty when nothing escalates; None when everything does."""
    subagent_handoff_policy: str | None = None
    """`refuse`, `explicit_binding_and_approval` or `explicit_binding`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationControls:
    """`authorization`: under whose authority tools are called."""

    authorization_mode: str | None = None
    """`platform_owned`, `user_delegated`, `user_delegated_or_platform_owned` or `any`."""
    delegated_principal_policy: str | None = None
    """`explicit_principal_binding_required` or `verified_identity_sufficient`."""
    token_reuse_policy: str | None = None
    """`never_reuse`, `reuse_within_valid_paused_run_only` or `reuse_within_session`."""
    on_authorization_revoke: str | None = None
    """`refuse` or `reauthorize`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrchestrationControls:
    """`orchestration`: patterns and workers."""

    allowed_orchestration_patterns: tuple[str, ...] | None = None
    disallowed_orchestration_patterns: Mapping[str, tuple[str, ...]] | None = None
    """Patterns by capability."""
    worker_inheritance_policy: str | None = None
    """`denied`, `explicit_only` or `same_run`."""
    worker_capability_subset: tuple[str, ...] | None = None
    review_required_before_worker_write: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierControls:
    """`verifiers`: whose verdicts about an action count."""

    trusted_verifier_contracts: tuple[str, ...] | None = None
    verifier_contract_required_for_high_risk: bool | None = None
    on_untrusted_verifier_contract: str | None = None
    """`deny` or `require_approval`."""
    verifier_contracts: Mapping[str, Mapping[str, str]] | None = None
    """Version, contract_digest and key_id of each trusted contract; None when a name alone is trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxControls:
    """`sandbox`: the profile a sandbox runs under."""

    sandbox_profile_contract: Mapping[str, Any]
    """`contract_id`, the most `network`, `secrets` and `shell` a sandbox may have, its `workspace` and `resume`."""
    sandbox_profile_review_required: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeControls:
    """`runtime_controls`: a group that was left out is None."""

    sessions: SessionControls | None = None
    mcp: McpControls | None = None
    routing: RoutingControls | None = None
    authorization: AuthorizationControls | None = None
    orchestration: OrchestrationControls | None = None
    verifiers: VerifierControls | None = None
    sandbox: SandboxControls | None = None


_GROUPS: Mapping[str, type[Any]] = {
    "sessions": SessionControls,
    "mcp": McpControls,
    "routing": RoutingControls,
    "authorization": AuthorizationControls,
    "orchestration": OrchestrationControls,
    "verifiers": VerifierControls,
    "sandbox": SandboxControls,
}

_T = TypeVar("_T")


def runtime_controls(document: Document) -> RuntimeControls:
    """The controls that `runtime-controls.yaml` states."""
    root = document.value["runtime_controls"]
    return RuntimeControls(**{name: _group(_GROUPS[name], entry) for name, entry in root.items()})


def _group(kind: type[_T], entry: Mapping[str, Any]) -> _T:
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type] # every group is a dataclass
    return kind(**{name: _frozen(value) for name, value in entry.items() if name in known})


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _frozen(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(value)
    return value
