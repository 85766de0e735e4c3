# "Runtime controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

# METADATA
# title: "routing.approval_mode"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/routing/approval_mode"
routing_controls["approval_mode"] := "human_only"

# METADATA
# title: "routing.classifier_verdict_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/routing/classifier_verdict_policy"
routing_controls["classifier_verdict_policy"] := "escalate_unless_allow"

# METADATA
# title: "routing.escalate_to_human_if"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/routing/escalate_to_human_if"
routing_controls["escalate_to_human_if"] := {
	"classifier_uncertain": true,
	"delegate_decided": true,
	"handed_off": true,
	"session_resumed": false,
	"worker_agent": false,
}

# METADATA
# title: "routing.subagent_handoff_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/routing/subagent_handoff_policy"
routing_controls["subagent_handoff_policy"] := "explicit_binding_and_approval"

# METADATA
# title: "authorization.authorization_mode"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/authorization/authorization_mode"
call_controls["authorization_mode"] := "user_delegated"

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
orchestration_controls["allowed_orchestration_patterns"] := ["orchestrator_workers"]

# METADATA
# title: "orchestration.disallowed_orchestration_patterns"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/orchestration/disallowed_orchestration_patterns"
orchestration_controls["disallowed_orchestration_patterns"] := {
	"run_remediation": ["orchestrator_workers"],
}

# METADATA
# title: "orchestration.worker_inheritance_policy"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/orchestration/worker_inheritance_policy"
orchestration_controls["worker_inheritance_policy"] := "same_run"

# METADATA
# title: "orchestration.worker_capability_subset"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/orchestration/worker_capability_subset"
orchestration_controls["worker_capability_subset"] := ["read_runbook"]

# METADATA
# title: "verifiers.trusted_verifier_contracts"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/verifiers/trusted_verifier_contracts"
verifiers_controls["trusted_verifier_contracts"] := ["remediation-dry-run-v1"]

# METADATA
# title: "verifiers.verifier_contract_required_for_high_risk"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/verifiers/verifier_contract_required_for_high_risk"
call_controls["verifier_contract_required_for_high_risk"] := false

# METADATA
# title: "verifiers.on_untrusted_verifier_contract"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/verifiers/on_untrusted_verifier_contract"
verifiers_controls["on_untrusted_verifier_contract"] := "deny"

# METADATA
# title: "mcp is left out"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls"
call_controls["mcp_evidence_required"] := false

# METADATA
# title: "mcp is left out"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls"
call_controls["catalog_evidence_required"] := false

# METADATA
# title: "sandbox is left out"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls"
call_controls["sandbox_evidence_required"] := false
