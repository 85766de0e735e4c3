# METADATA
# title: Whether a boundary may be crossed now
# description: >-
#   a compaction, reset, handoff or fork that is asked for is refused in every forbidden state. One that nobody asked for
#   happened already: it is recorded with the states it happened in, and resumes blocked
package gate.continuity.boundary

import data.gate.continuity.states
import data.gate.finding
import data.gate.router

findings contains finding.new("approval_pending", "deny", "gate.continuity.boundary", "", "") if {
	_requested
	not states.approvals_settled
}

findings contains finding.new("tool_outcome_unknown", "deny", "gate.continuity.boundary", "", "") if {
	_requested
	not states.effects_settled
}

findings contains finding.new("multi_step_in_progress", "deny", "gate.continuity.boundary", "", "") if {
	_requested
	not states.steps_completed
}

findings contains finding.new("irreversible_awaiting_confirmation", "deny", "gate.continuity.boundary", "", "") if {
	_requested
	not states.confirmations_received
}

findings contains finding.new("credential_change_unfinished", "deny", "gate.continuity.boundary", "", "") if {
	_requested
	not states.credentials_settled
}

findings contains finding.new("user_correction_not_durable", "deny", "gate.continuity.boundary", "", "") if {
	_requested
	not states.corrections_durable
}

findings contains finding.new("incident_open", "deny", "gate.continuity.boundary", "", "") if {
	_requested
	not states.incidents_closed
}

findings contains finding.new(
	"obligation_open", "deny", "gate.continuity.boundary", "continuity.forbidden_states",
	"continuity.yaml#/continuity/forbidden_states",
) if {
	_requested
	not states.obligations_acceptable
}

findings contains finding.new(
	"sandbox_not_saved", "deny", "gate.continuity.boundary", "continuity.forbidden_states",
	"continuity.yaml#/continuity/forbidden_states",
) if {
	_requested
	not states.sandbox_acceptable
}

findings contains finding.new(
	"budget_exhausted", "deny", "gate.continuity.boundary", "continuity.forbidden_states",
	"continuity.yaml#/continuity/forbidden_states",
) if {
	_requested
	not states.budget_acceptable
}

findings contains finding.new(
	"boundary_limit_reached", "deny", "gate.continuity.boundary", "continuity.max_boundaries",
	"continuity.yaml#/continuity/max_boundaries",
) if {
	_requested
	not _below_limit
}

findings contains finding.new("checkpoint_missing", "deny", "gate.continuity.boundary", "", "") if {
	_requested
	not _checkpointed
}

findings contains finding.new("event_chain_broken", "deny", "gate.continuity.boundary", "", "") if {
	crossing
	not _chain_intact
}

findings contains finding.new("constraint_unresolvable", "deny", "gate.continuity.boundary", "", "") if {
	_requested
	not _constraints_resolvable
}

findings contains finding.new(
	"required_constraint_missing", "deny", "gate.continuity.boundary", "continuity.required_constraints",
	"continuity.yaml#/continuity/required_constraints",
) if {
	_requested
	not _constraints_complete
}

# METADATA
# title: The operation is a boundary
# scope: document
crossing if _requested

crossing if input.operation == "recover"

# METADATA
# title: Somebody asked for the boundary
# scope: document
requested if _requested

else := false

_requested if input.operation in {"compact", "reset", "handoff", "fork"}

_below_limit if is_null(router.continuity.max_boundaries)

_below_limit if {
	is_number(router.continuity.max_boundaries)
	is_number(input.state.continuity.boundary.count)
	input.state.continuity.boundary.count < router.continuity.max_boundaries
}

_checkpointed if {
	is_string(input.state.continuity.checkpoint_ref)
	trim_space(input.state.continuity.checkpoint_ref) != ""
}

_chain_intact if input.state.continuity.event_range.intact == true

_constraints_resolvable if {
	is_array(input.state.continuity.constraints)
	count([c | some c in input.state.continuity.constraints; c.resolvable == true]) == count(input.state.continuity.constraints)
}

_constraints_complete if {
	is_array(router.continuity.required_constraints)
	count([r | some r in router.continuity.required_constraints; r in _resolvable]) == count(router.continuity.required_constraints)
}

_resolvable contains c.constraint_id if {
	some c in input.state.continuity.constraints
	c.resolvable == true
}
