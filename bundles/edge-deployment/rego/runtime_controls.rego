# "Runtime controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

# METADATA
# title: "verifiers.trusted_verifier_contracts"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/verifiers/trusted_verifier_contracts"
verifiers_controls["trusted_verifier_contracts"] := ["rollout-health-verifier"]

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
# title: "verifiers.verifier_contracts"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/verifiers/verifier_contracts"
verifiers_controls["verifier_contracts"] := {
	"rollout-health-verifier": {"version": "2", "contract_digest": "sha256:8888888888888888888888888888888888888888888888888888888888888888", "key_id": "rollout-health-2026"},
}

# METADATA
# title: "authorization.authorization_mode is left out"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls"
call_controls["authorization_mode"] := "user_delegated_or_platform_owned"

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
