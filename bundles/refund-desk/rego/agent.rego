# "Agent refund-desk-ref and its inventory". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.refund_desk

# METADATA
# title: "Agent refund-desk-ref"
# custom:
#   source: "agent.yaml#/agent"
inventory := {
	"agent_id": "refund-desk-ref",
	"display_name": "Refund desk reference agent",
	"owner_team": "payments-safety",
	"runtime_principal": "svc-refund-desk-ref",
	"approved": {"lookup_charge": true, "issue_refund": true, "issue_manager_refund": true},
}
