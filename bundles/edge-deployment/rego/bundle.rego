# METADATA
# title: "Bundle policy-edge-deployment-2026-09-08"
# description: "Compiled by `gate compile`; change the YAML, not this file."
package gate.bundles.edge_deployment

# METADATA
# title: "Envelope of the bundle"
# custom:
#   source: "bundle.yaml#/bundle"
bundle := {
	"bundle_id": "policy-edge-deployment-2026-09-08",
	"version": "2026.09.08",
	"owner_team": "platform-safety",
	"contract_version": "capability-contract-v3",
	"release_identity": "release-edge-deployment-2026-09-08-canary",
	"allow_network_access": ["brokered"],
	"memory_kinds": [],
	"show_arguments": {"run_change_plan": ["/plan_ref", "/plan_digest", "/task_ref"], "shift_traffic": ["/release", "/percent"]},
}
