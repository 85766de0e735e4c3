# "What is added at a context boundary". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

# METADATA
# title: "continuity.compare"
# custom:
#   source: "continuity.yaml#/continuity/compare"
continuity["compare"] := {
	"role": true,
	"objective": false,
	"evidence_refs": false,
	"budget_remaining": false,
	"pending_obligations": true,
}

# METADATA
# title: "continuity.reconfirm_approval"
# custom:
#   source: "continuity.yaml#/continuity/reconfirm_approval"
continuity["reconfirm_approval"] := true

# METADATA
# title: "continuity.max_age_seconds"
# custom:
#   source: "continuity.yaml#/continuity/max_age_seconds"
continuity["max_age_ms"] := 3600000

# METADATA
# title: "continuity.max_boundaries"
# custom:
#   source: "continuity.yaml#/continuity/max_boundaries"
continuity["max_boundaries"] := 20

# METADATA
# title: "continuity.forbidden_states"
# custom:
#   source: "continuity.yaml#/continuity/forbidden_states"
continuity["forbidden_states"] := {
	"obligation_open": true,
	"sandbox_not_saved": false,
	"budget_exhausted": false,
}

# METADATA
# title: "continuity.required_constraints is left out and adds nothing"
# custom:
#   source: "continuity.yaml#/continuity"
continuity["required_constraints"] := []
