# METADATA
# title: What a decision log may keep
# description: >-
#   the whole input is replaced by named safe fields, and arguments stay only where the redaction policy of the served
#   bundle shows them to reviewers. Facts are not logged: they are the bundle's own content
package system.log

import data.gate.agents

# METADATA
# title: The input becomes its safe fields
mask contains {"op": "upsert", "path": "/input", "value": object.union_n([_top, _sections, _request])}

# METADATA
# title: Not a decision
drop if not _decision

_decision if input.path == "gate/decision"

default _top := {}

_top := _kept(input.input, ["schema_version", "checkpoint", "operation", "request_id", "now_ms"])

_sections[name] := section if {
	some name, fields in {
		"trace": ["trace_id", "session_id", "run_id", "step"],
		"agent": ["agent_id", "role", "orchestration_pattern", "parent_agent_id"],
		"identity": ["tenant_id", "authorization_mode"],
		"digests": ["action_digest", "intent_digest", "arguments", "tool_definition"],
	}
	section := _kept(input.input[name], fields)
}

# The model chooses the name: only one that the catalog has is no place to hide something in.
default _request := {}

_request := {"request": {"capability": _capability, "shown_arguments": _shown}} if {
	is_object(data.gate.bundles[_bundle].catalog[_capability])
}

_bundle := agents.bundle_of[input.input.agent.agent_id]

_capability := input.input.request.capability

# What the catalog's schema does not allow can be anything, wherever it stands.
_shown[pointer] := value if {
	input.input.evidence.arguments.valid == true
	some pointer in data.gate.bundles[_bundle].bundle.show_arguments[_capability]
	path := [token | some part in split(trim_prefix(pointer, "/"), "/"); token := _unescaped(part)]
	value := object.get(input.input.request.arguments, path, null)
	_scalar(value)
}

_unescaped(part) := replace(replace(part, "~1", "/"), "~0", "~")

# Scalars only: a safe name is no reason to keep what a caller put below it.
_kept(value, fields) := {field: value[field] |
	some field in fields
	_scalar(value[field])
}

_scalar(value) if is_string(value)

_scalar(value) if is_number(value)

_scalar(value) if is_boolean(value)
