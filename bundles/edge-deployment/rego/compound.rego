# "Plans and tasks". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

# METADATA
# title: "How plans are authorized"
# custom:
#   source: "compound.yaml#/compound_authorization"
compound_policy := {
	"adapters": ["edge-resource-adapter"],
	"max_age_ms": 30000,
	"reasons": {"Workers Routes Write": "missing_zone_route_permission", "Editor": "missing_worker_edit_permission"},
}

# METADATA
# title: "run_change_plan is a plan"
# custom:
#   source: "compound.yaml#/compound_authorization/plans/0"
compound["run_change_plan"] := {
	"role": "plan",
	"plan": "run_change_plan",
	"steps": ["update_worker", "write_route"],
}

# METADATA
# title: "update_worker is a step of run_change_plan"
# custom:
#   source: "compound.yaml#/compound_authorization/plans/0"
compound["update_worker"] := {
	"role": "step",
	"plan": "run_change_plan",
	"steps": ["update_worker", "write_route"],
}

# METADATA
# title: "write_route is a step of run_change_plan"
# custom:
#   source: "compound.yaml#/compound_authorization/plans/0"
compound["write_route"] := {
	"role": "step",
	"plan": "run_change_plan",
	"steps": ["update_worker", "write_route"],
}

# METADATA
# title: "Scope of approved-route-change"
# custom:
#   source: "compound.yaml#/compound_authorization/tasks/0"
compound_tasks["approved-route-change"] := {
	"actions": ["worker.update", "worker.read_metadata", "worker.read_content", "worker.create", "worker.deploy", "route.write"],
	"resources": ["account-a/worker-a", "account-a/zone-a", "account-a/zone-b"],
}
