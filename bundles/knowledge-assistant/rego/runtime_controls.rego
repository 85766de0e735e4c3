# "Runtime controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

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
call_controls["catalog_evidence_required"] := true

# METADATA
# title: "mcp.catalog_max_ttl_seconds"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/mcp/catalog_max_ttl_seconds"
mcp_controls["catalog_max_ttl_ms"] := 30000

# METADATA
# title: "mcp.catalog_sharing"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/mcp/catalog_sharing"
mcp_controls["catalog_sharing"] := "private"

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
authorization_controls["token_reuse_policy"] := "never_reuse"

# METADATA
# title: "authorization.on_authorization_revoke"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls/authorization/on_authorization_revoke"
authorization_controls["on_authorization_revoke"] := "refuse"

# METADATA
# title: "verifiers is left out"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls"
call_controls["verifier_contract_required_for_high_risk"] := false

# METADATA
# title: "sandbox is left out"
# custom:
#   source: "runtime-controls.yaml#/runtime_controls"
call_controls["sandbox_evidence_required"] := false
