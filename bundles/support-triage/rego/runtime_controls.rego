# "Runtime controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

# METADATA
# title: "sessions.capability_session_mode"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/sessions/capability_session_mode"
sessions_controls["capability_session_mode"] := "stateful"

# METADATA
# title: "sessions.resume_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/sessions/resume_policy"
sessions_controls["resume_policy"] := "resume_existing_session_if_valid"

# METADATA
# title: "sessions.on_session_expiry"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/sessions/on_session_expiry"
sessions_controls["on_session_expiry"] := "reinitialize"

# METADATA
# title: "sessions.reinit_requires_approval"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/sessions/reinit_requires_approval"
sessions_controls["reinit_requires_approval"] := false

# METADATA
# title: "sessions.progress_event_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/sessions/progress_event_policy"
sessions_controls["progress_event_policy"] := "from_live_session"

# METADATA
# title: "sessions.elicitation_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/sessions/elicitation_policy"
sessions_controls["elicitation_policy"] := "non_sensitive_only"

# METADATA
# title: "mcp.mcp_evidence_required"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/mcp/mcp_evidence_required"
call_controls["mcp_evidence_required"] := true

# METADATA
# title: "mcp.mcp_discovery_source"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/mcp/mcp_discovery_source"
mcp_controls["mcp_discovery_source"] := "approved_registry"

# METADATA
# title: "mcp.mcp_server_owner"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/mcp/mcp_server_owner"
mcp_controls["mcp_server_owner"] := "capability_owner"

# METADATA
# title: "mcp.mcp_auth_mode"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/mcp/mcp_auth_mode"
mcp_controls["mcp_auth_mode"] := "oauth"

# METADATA
# title: "mcp.shadow_mcp_handling"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/mcp/shadow_mcp_handling"
mcp_controls["shadow_mcp_handling"] := "deny"

# METADATA
# title: "mcp.catalog_evidence_required"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/mcp/catalog_evidence_required"
call_controls["catalog_evidence_required"] := false

# METADATA
# title: "mcp.catalog_max_ttl_seconds"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/mcp/catalog_max_ttl_seconds"
mcp_controls["catalog_max_ttl_ms"] := 30000

# METADATA
# title: "mcp.catalog_sharing"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/mcp/catalog_sharing"
mcp_controls["catalog_sharing"] := "public_within_tenant"

# METADATA
# title: "routing.approval_mode"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/routing/approval_mode"
routing_controls["approval_mode"] := "human_delegate_or_classifier"

# METADATA
# title: "routing.approval_delegate"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/routing/approval_delegate"
routing_controls["approval_delegate"] := "manager"

# METADATA
# title: "routing.classifier_verdict_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/routing/classifier_verdict_policy"
routing_controls["classifier_verdict_policy"] := "refuse_on_deny"

# METADATA
# title: "routing.escalate_to_human_if"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/routing/escalate_to_human_if"
routing_controls["escalate_to_human_if"] := {
	"classifier_uncertain": true,
	"delegate_decided": false,
	"handed_off": true,
	"session_resumed": false,
	"worker_agent": false,
}

# METADATA
# title: "routing.subagent_handoff_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/routing/subagent_handoff_policy"
routing_controls["subagent_handoff_policy"] := "explicit_binding"

# METADATA
# title: "authorization.authorization_mode"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/authorization/authorization_mode"
call_controls["authorization_mode"] := "user_delegated_or_platform_owned"

# METADATA
# title: "authorization.delegated_principal_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/authorization/delegated_principal_policy"
authorization_controls["delegated_principal_policy"] := "explicit_principal_binding_required"

# METADATA
# title: "authorization.token_reuse_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/authorization/token_reuse_policy"
authorization_controls["token_reuse_policy"] := "reuse_within_valid_paused_run_only"

# METADATA
# title: "authorization.on_authorization_revoke"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/authorization/on_authorization_revoke"
authorization_controls["on_authorization_revoke"] := "reauthorize"

# METADATA
# title: "orchestration.allowed_orchestration_patterns"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/orchestration/allowed_orchestration_patterns"
orchestration_controls["allowed_orchestration_patterns"] := ["prompt_chaining", "routing", "parallelization", "orchestrator_workers"]

# METADATA
# title: "orchestration.disallowed_orchestration_patterns"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/orchestration/disallowed_orchestration_patterns"
orchestration_controls["disallowed_orchestration_patterns"] := {
	"create_ticket": ["parallelization"],
}

# METADATA
# title: "orchestration.worker_inheritance_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/orchestration/worker_inheritance_policy"
orchestration_controls["worker_inheritance_policy"] := "explicit_only"

# METADATA
# title: "orchestration.worker_capability_subset"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/orchestration/worker_capability_subset"
orchestration_controls["worker_capability_subset"] := ["search_docs", "create_ticket"]

# METADATA
# title: "orchestration.review_required_before_worker_write"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/orchestration/review_required_before_worker_write"
orchestration_controls["review_required_before_worker_write"] := true

# METADATA
# title: "verifiers.trusted_verifier_contracts"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/verifiers/trusted_verifier_contracts"
verifiers_controls["trusted_verifier_contracts"] := ["ticket-quality-verifier-v2"]

# METADATA
# title: "verifiers.verifier_contract_required_for_high_risk"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/verifiers/verifier_contract_required_for_high_risk"
call_controls["verifier_contract_required_for_high_risk"] := true

# METADATA
# title: "verifiers.on_untrusted_verifier_contract"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/verifiers/on_untrusted_verifier_contract"
verifiers_controls["on_untrusted_verifier_contract"] := "require_approval"

# METADATA
# title: "verifiers.verifier_contracts"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/verifiers/verifier_contracts"
verifiers_controls["verifier_contracts"] := {
	"ticket-quality-verifier-v2": {"version": "2", "contract_digest": "sha256:bac322bae89a61908085506d38c160c53af80811ecd81f41ab1954639942b453", "key_id": "ticket-quality-2026"},
}

# METADATA
# title: "sandbox.sandbox_profile_contract"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/sandbox/sandbox_profile_contract"
sandbox_controls["sandbox_profile_contract"] := {
	"contract_id": "support-sandbox-v1",
	"network": "denied",
	"secrets": "none",
	"shell": "restricted",
	"workspace": [],
	"resume": "fresh",
}

# METADATA
# title: "sandbox.sandbox_profile_review_required"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/sandbox/sandbox_profile_review_required"
sandbox_controls["sandbox_profile_review_required"] := true

# METADATA
# title: "sandbox is stated"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/sandbox"
call_controls["sandbox_evidence_required"] := true
