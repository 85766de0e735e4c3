# "What is added at a context boundary". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

# METADATA
# title: "continuity.compare"
# custom:
#   source: "continuity.yaml#/continuity/compare"
continuity["compare"] := {
	"role": false,
	"objective": false,
	"evidence_refs": true,
	"budget_remaining": true,
	"pending_obligations": false,
}

# METADATA
# title: "continuity.reconfirm_approval is left out and adds nothing"
# custom:
#   source: "continuity.yaml#/continuity"
continuity["reconfirm_approval"] := false

# METADATA
# title: "continuity.max_age_seconds"
# custom:
#   source: "continuity.yaml#/continuity/max_age_seconds"
continuity["max_age_ms"] := 604800000

# METADATA
# title: "continuity.max_boundaries is left out and adds nothing"
# custom:
#   source: "continuity.yaml#/continuity"
continuity["max_boundaries"] := null

# METADATA
# title: "continuity.forbidden_states"
# custom:
#   source: "continuity.yaml#/continuity/forbidden_states"
continuity["forbidden_states"] := {
	"obligation_open": false,
	"sandbox_not_saved": false,
	"budget_exhausted": true,
}

# METADATA
# title: "continuity.required_constraints"
# custom:
#   source: "continuity.yaml#/continuity/required_constraints"
continuity["required_constraints"] := ["answer-within-access"]
