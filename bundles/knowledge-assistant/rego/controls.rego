# "Required controls". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

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
# title: "require known_answer_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/5"
required_controls["known_answer_eval_passed"] := {
	"at": 5,
	"kind": "eval_passed",
	"subject": "known_answer",
}

# METADATA
# title: "require insufficient_context_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/6"
required_controls["insufficient_context_eval_passed"] := {
	"at": 6,
	"kind": "eval_passed",
	"subject": "insufficient_context",
}

# METADATA
# title: "require role_denied_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/7"
required_controls["role_denied_eval_passed"] := {
	"at": 7,
	"kind": "eval_passed",
	"subject": "role_denied",
}

# METADATA
# title: "require conflicting_sources_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/8"
required_controls["conflicting_sources_eval_passed"] := {
	"at": 8,
	"kind": "eval_passed",
	"subject": "conflicting_sources",
}

# METADATA
# title: "require expired_page_eval_passed"
# custom:
#   source: "controls.yaml#/controls/require/9"
required_controls["expired_page_eval_passed"] := {
	"at": 9,
	"kind": "eval_passed",
	"subject": "expired_page",
}

# METADATA
# title: "require share_answer_externally_approval_required"
# custom:
#   source: "controls.yaml#/controls/require/10"
required_controls["share_answer_externally_approval_required"] := {
	"at": 10,
	"kind": "approval_required",
	"subject": "share_answer_externally",
}

# METADATA
# title: "require share_answer_externally_idempotency_key_required"
# custom:
#   source: "controls.yaml#/controls/require/11"
required_controls["share_answer_externally_idempotency_key_required"] := {
	"at": 11,
	"kind": "idempotency_key_required",
	"subject": "share_answer_externally",
}

# METADATA
# title: "require remember_fact_idempotency_key_required"
# custom:
#   source: "controls.yaml#/controls/require/12"
required_controls["remember_fact_idempotency_key_required"] := {
	"at": 12,
	"kind": "idempotency_key_required",
	"subject": "remember_fact",
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
# title: "block_if access_cache_shared_across_principals"
# custom:
#   source: "controls.yaml#/controls/block_if/2"
blocking_controls["access_cache_shared_across_principals"] := {
	"at": 2,
	"kind": "signal",
	"subject": "",
}
