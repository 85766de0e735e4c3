# "Required controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

# METADATA
# title: "require run_change_plan_approval_required"
# custom:
#   source: "controls.yaml#/controls/require/0"
required_controls["run_change_plan_approval_required"] := {
	"at": 0,
	"kind": "approval_required",
	"subject": "run_change_plan",
}

# METADATA
# title: "require shift_traffic_idempotency_key_required"
# custom:
#   source: "controls.yaml#/controls/require/1"
required_controls["shift_traffic_idempotency_key_required"] := {
	"at": 1,
	"kind": "idempotency_key_required",
	"subject": "shift_traffic",
}

# METADATA
# title: "require golden_cases_passed"
# custom:
#   source: "controls.yaml#/controls/require/2"
required_controls["golden_cases_passed"] := {
	"at": 2,
	"kind": "golden_cases_passed",
	"subject": "",
}

# METADATA
# title: "require policy_traces_present"
# custom:
#   source: "controls.yaml#/controls/require/3"
required_controls["policy_traces_present"] := {
	"at": 3,
	"kind": "policy_traces_present",
	"subject": "",
}

# METADATA
# title: "block_if unreviewed_zone_change"
# custom:
#   source: "controls.yaml#/controls/block_if/0"
blocking_controls["unreviewed_zone_change"] := {
	"at": 0,
	"kind": "signal",
	"subject": "",
}
