# "Agent edge-deployer-ref and its inventory". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

# METADATA
# title: "Agent edge-deployer-ref"
# custom:
#   source: "agent.yaml#/agent"
inventory := {
	"agent_id": "edge-deployer-ref",
	"display_name": "Edge deployment reference agent",
	"owner_team": "edge_platform",
	"runtime_principal": "svc-edge-deployer-ref",
	"approved": {"register_release": true, "run_smoke_test": true, "shift_traffic": true, "roll_out": true, "run_change_plan": true, "update_worker": true, "write_route": true},
}
