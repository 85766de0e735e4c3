# "Rules over history". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

# METADATA
# title: "History that register_release makes and depends on"
# custom:
#   source: "trajectory.yaml#/trajectory/observe/register_release"
trajectory["register_release"] := {
	"policy_id": "edge-canary",
	"policy_version": "1",
	"fingerprints": {"release": "/release"},
	"counters": {},
	"rules": [],
	"scope": null,
}

# METADATA
# title: "History that run_smoke_test makes and depends on"
# custom:
#   source: "trajectory.yaml#/trajectory/observe/run_smoke_test"
trajectory["run_smoke_test"] := {
	"policy_id": "edge-canary",
	"policy_version": "1",
	"fingerprints": {"release": "/release"},
	"counters": {},
	"rules": [],
	"scope": null,
}

# METADATA
# title: "History that shift_traffic makes and depends on"
# custom:
#   source: "trajectory.yaml#/trajectory/observe/shift_traffic"
trajectory["shift_traffic"] := {
	"policy_id": "edge-canary",
	"policy_version": "1",
	"fingerprints": {"release": "/release"},
	"counters": {"traffic": "/percent"},
	"rules": ["release.bound", "smoke.first", "traffic.limit"],
	"scope": null,
}

# METADATA
# title: "History that roll_out makes and depends on"
# custom:
#   source: "trajectory.yaml#/trajectory/observe/roll_out"
trajectory["roll_out"] := {
	"policy_id": "edge-canary",
	"policy_version": "1",
	"fingerprints": {"release": "/release"},
	"counters": {},
	"rules": ["release.bound", "roll_out.approved"],
	"scope": "roll-out-release-manager",
}

# METADATA
# title: "value_binding release.bound"
# custom:
#   source: "trajectory.yaml#/trajectory/rules/0"
trajectory_rules["release.bound"] := {
	"kind": "value_binding",
	"source": "trajectory.yaml#/trajectory/rules/0",
	"fingerprint_name": "release",
}

# METADATA
# title: "required_predecessor smoke.first"
# custom:
#   source: "trajectory.yaml#/trajectory/rules/1"
trajectory_rules["smoke.first"] := {
	"kind": "required_predecessor",
	"source": "trajectory.yaml#/trajectory/rules/1",
	"predecessor": "run_smoke_test",
}

# METADATA
# title: "cumulative_limit traffic.limit"
# custom:
#   source: "trajectory.yaml#/trajectory/rules/2"
trajectory_rules["traffic.limit"] := {
	"kind": "cumulative_limit",
	"source": "trajectory.yaml#/trajectory/rules/2",
	"counter_name": "traffic",
	"limit": {"units": 25, "micros": 300000},
}

# METADATA
# title: "required_approval roll_out.approved"
# custom:
#   source: "trajectory.yaml#/trajectory/rules/3"
trajectory_rules["roll_out.approved"] := {
	"kind": "required_approval",
	"source": "trajectory.yaml#/trajectory/rules/3",
	"approval_scope": "roll-out-release-manager",
}
