# "Required controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

# METADATA
# title: "require registry_reviewed"
# custom:
#   source: "controls.yaml#/controls/require/0"
required_controls["registry_reviewed"] := {
	"at": 0,
	"kind": "signal",
	"subject": "",
}

# METADATA
# title: "require capability_owners_confirmed"
# custom:
#   source: "controls.yaml#/controls/require/1"
required_controls["capability_owners_confirmed"] := {
	"at": 1,
	"kind": "signal",
	"subject": "",
}

# METADATA
# title: "require memory_provenance_enforced"
# custom:
#   source: "controls.yaml#/controls/require/2"
required_controls["memory_provenance_enforced"] := {
	"at": 2,
	"kind": "signal",
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
# title: "require duplicate_ticket_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/4"
required_controls["duplicate_ticket_eval_passed"] := {
	"at": 4,
	"kind": "eval_passed",
	"subject": "duplicate_ticket",
}

# METADATA
# title: "require idempotency_keys_present"
# custom:
#   source: "controls.yaml#/controls/require/5"
required_controls["idempotency_keys_present"] := {
	"at": 5,
	"kind": "signal",
	"subject": "",
}

# METADATA
# title: "require create_ticket_approval_required"
# custom:
#   source: "controls.yaml#/controls/require/6"
required_controls["create_ticket_approval_required"] := {
	"at": 6,
	"kind": "approval_required",
	"subject": "create_ticket",
}

# METADATA
# title: "require create_ticket_idempotency_key_required"
# custom:
#   source: "controls.yaml#/controls/require/7"
required_controls["create_ticket_idempotency_key_required"] := {
	"at": 7,
	"kind": "idempotency_key_required",
	"subject": "create_ticket",
}

# METADATA
# title: "block_if direct_tool_access_present"
# custom:
#   source: "controls.yaml#/controls/block_if/0"
blocking_controls["direct_tool_access_present"] := {
	"at": 0,
	"kind": "signal",
	"subject": "",
}

# METADATA
# title: "block_if unmanaged_runtime_present"
# custom:
#   source: "controls.yaml#/controls/block_if/1"
blocking_controls["unmanaged_runtime_present"] := {
	"at": 1,
	"kind": "signal",
	"subject": "",
}
