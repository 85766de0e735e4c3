# "Required controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

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
# title: "require golden_cases_passed"
# custom:
#   source: "controls.yaml#/controls/require/4"
required_controls["golden_cases_passed"] := {
	"at": 4,
	"kind": "golden_cases_passed",
	"subject": "",
}

# METADATA
# title: "require noisy_alert_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/5"
required_controls["noisy_alert_eval_passed"] := {
	"at": 5,
	"kind": "eval_passed",
	"subject": "noisy_alert",
}

# METADATA
# title: "require notify_duplicate_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/6"
required_controls["notify_duplicate_eval_passed"] := {
	"at": 6,
	"kind": "eval_passed",
	"subject": "notify_duplicate",
}

# METADATA
# title: "require wrong_owner_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/7"
required_controls["wrong_owner_eval_passed"] := {
	"at": 7,
	"kind": "eval_passed",
	"subject": "wrong_owner",
}

# METADATA
# title: "require without_runbook_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/8"
required_controls["without_runbook_eval_passed"] := {
	"at": 8,
	"kind": "eval_passed",
	"subject": "without_runbook",
}

# METADATA
# title: "require remediate_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/9"
required_controls["remediate_eval_passed"] := {
	"at": 9,
	"kind": "eval_passed",
	"subject": "remediate",
}

# METADATA
# title: "require run_remediation_approval_required"
# custom:
#   source: "controls.yaml#/controls/require/10"
required_controls["run_remediation_approval_required"] := {
	"at": 10,
	"kind": "approval_required",
	"subject": "run_remediation",
}

# METADATA
# title: "require run_remediation_idempotency_key_required"
# custom:
#   source: "controls.yaml#/controls/require/11"
required_controls["run_remediation_idempotency_key_required"] := {
	"at": 11,
	"kind": "idempotency_key_required",
	"subject": "run_remediation",
}

# METADATA
# title: "require hand_over_incident_approval_required"
# custom:
#   source: "controls.yaml#/controls/require/12"
required_controls["hand_over_incident_approval_required"] := {
	"at": 12,
	"kind": "approval_required",
	"subject": "hand_over_incident",
}

# METADATA
# title: "require notify_customers_approval_required"
# custom:
#   source: "controls.yaml#/controls/require/13"
required_controls["notify_customers_approval_required"] := {
	"at": 13,
	"kind": "approval_required",
	"subject": "notify_customers",
}

# METADATA
# title: "require notify_responders_idempotency_key_required"
# custom:
#   source: "controls.yaml#/controls/require/14"
required_controls["notify_responders_idempotency_key_required"] := {
	"at": 14,
	"kind": "idempotency_key_required",
	"subject": "notify_responders",
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

# METADATA
# title: "block_if notification_outside_ledger_present"
# custom:
#   source: "controls.yaml#/controls/block_if/2"
blocking_controls["notification_outside_ledger_present"] := {
	"at": 2,
	"kind": "signal",
	"subject": "",
}
