# METADATA
# title: What a run carries across a boundary
# description: >-
#   where it stood, what it had left, what it still owed and what the user forbade, compared with the records now. What a
#   bundle wants compared besides comes on top
package gate.continuity.carried

import data.gate.continuity.handoff
import data.gate.continuity.rehydration
import data.gate.continuity.states
import data.gate.finding
import data.gate.router

findings contains finding.new("checkpoint_changed", "deny", "gate.continuity.carried", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_checkpoint
}

findings contains finding.new("sandbox_snapshot_changed", "deny", "gate.continuity.carried", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_snapshot
}

findings contains finding.new("budget_changed", "deny", "gate.continuity.carried", "", "") if {
	rehydration.resuming
	rehydration.present
	not _budget_not_grown
}

findings contains finding.new("obligation_lost", "deny", "gate.continuity.carried", "", "") if {
	rehydration.resuming
	rehydration.present
	not _obligations_accounted_for
}

findings contains finding.new("constraint_unresolvable", "deny", "gate.continuity.carried", "", "") if {
	rehydration.resuming
	rehydration.present
	not _constraints_resolvable
}

findings contains finding.new(
	"required_constraint_missing", "deny", "gate.continuity.carried", "continuity.required_constraints",
	"continuity.yaml#/continuity/required_constraints",
) if {
	rehydration.resuming
	rehydration.present
	not _constraints_complete
}

findings contains finding.new("role_changed", "deny", "gate.continuity.carried", "continuity.compare", "continuity.yaml#/continuity/compare") if {
	rehydration.resuming
	rehydration.present
	not _role_settled
}

findings contains finding.new("objective_changed", "deny", "gate.continuity.carried", "continuity.compare", "continuity.yaml#/continuity/compare") if {
	rehydration.resuming
	rehydration.present
	not _objective_settled
}

findings contains finding.new(
	"evidence_unresolvable", "deny", "gate.continuity.carried", "continuity.compare",
	"continuity.yaml#/continuity/compare",
) if {
	rehydration.resuming
	rehydration.present
	not _evidence_settled
}

findings contains finding.new("budget_spent", "deny", "gate.continuity.carried", "continuity.compare", "continuity.yaml#/continuity/compare") if {
	rehydration.resuming
	rehydration.present
	not _budget_settled
}

findings contains finding.new(
	"obligations_changed", "deny", "gate.continuity.carried", "continuity.compare",
	"continuity.yaml#/continuity/compare",
) if {
	rehydration.resuming
	rehydration.present
	not _obligations_settled
}

findings contains finding.new("multi_step_in_progress", "blocked_on_reconciliation", "gate.continuity.carried", "", "") if {
	rehydration.resuming
	rehydration.present
	not states.steps_completed
}

findings contains finding.new("irreversible_awaiting_confirmation", "blocked_on_reconciliation", "gate.continuity.carried", "", "") if {
	rehydration.resuming
	rehydration.present
	not states.confirmations_received
}

findings contains finding.new("credential_change_unfinished", "blocked_on_reconciliation", "gate.continuity.carried", "", "") if {
	rehydration.resuming
	rehydration.present
	not states.credentials_settled
}

findings contains finding.new("user_correction_not_durable", "blocked_on_reconciliation", "gate.continuity.carried", "", "") if {
	rehydration.resuming
	rehydration.present
	not states.corrections_durable
}

findings contains finding.new("incident_open", "blocked_on_reconciliation", "gate.continuity.carried", "", "") if {
	rehydration.resuming
	rehydration.present
	not states.incidents_closed
}

# The bundle's own states block where the boundary came over the run in one of them, and it still holds.
findings contains finding.new(
	"obligation_open", "blocked_on_reconciliation", "gate.continuity.carried", "continuity.forbidden_states",
	"continuity.yaml#/continuity/forbidden_states",
) if {
	rehydration.resuming
	rehydration.present
	not _asked_for
	not states.obligations_acceptable
}

findings contains finding.new(
	"sandbox_not_saved", "blocked_on_reconciliation", "gate.continuity.carried", "continuity.forbidden_states",
	"continuity.yaml#/continuity/forbidden_states",
) if {
	rehydration.resuming
	rehydration.present
	not _asked_for
	not states.sandbox_acceptable
}

findings contains finding.new(
	"budget_exhausted", "blocked_on_reconciliation", "gate.continuity.carried", "continuity.forbidden_states",
	"continuity.yaml#/continuity/forbidden_states",
) if {
	rehydration.resuming
	rehydration.present
	not _asked_for
	not states.budget_acceptable
}

_asked_for if input.envelope.requested == true

_same_checkpoint if {
	_stated(input.envelope.checkpoint_ref)
	input.envelope.checkpoint_ref == input.state.continuity.checkpoint_ref
}

# null equals null: no sandbox then, and none now.
_same_snapshot if input.envelope.sandbox_snapshot_ref == input.state.continuity.sandbox_snapshot_ref

_budget_not_grown if {
	is_null(input.envelope.budget_remaining)
	is_null(input.state.continuity.budget_remaining)
}

_budget_not_grown if {
	is_number(input.envelope.budget_remaining)
	is_number(input.state.continuity.budget_remaining)
	input.state.continuity.budget_remaining >= 0
	input.state.continuity.budget_remaining <= input.envelope.budget_remaining
}

_obligations_accounted_for if {
	is_array(input.envelope.pending_obligations)
	is_array(input.state.continuity.pending_obligations)
	is_array(input.state.continuity.closed_obligations)
	count([o | some o in input.envelope.pending_obligations; _accounted_for(o)]) == count(input.envelope.pending_obligations)
}

_accounted_for(obligation) if obligation in input.state.continuity.pending_obligations

_accounted_for(obligation) if obligation in input.state.continuity.closed_obligations

_constraints_resolvable if {
	is_array(input.envelope.exact_constraint_refs)
	is_array(input.state.continuity.constraints)
	count([r | some r in input.envelope.exact_constraint_refs; r in _resolvable]) == count(input.envelope.exact_constraint_refs)
}

_resolvable contains c.constraint_id if {
	some c in input.state.continuity.constraints
	c.resolvable == true
	_stated(c.digest)
}

_constraints_complete if {
	is_array(router.continuity.required_constraints)
	is_array(input.envelope.exact_constraint_refs)
	carried := [r | some r in router.continuity.required_constraints; r in input.envelope.exact_constraint_refs]
	count(carried) == count(router.continuity.required_constraints)
}

_role_settled if router.continuity.compare.role == false

_role_settled if {
	_stated(input.envelope.role)
	input.envelope.role == input.agent.role
}

_role_settled if handoff.receiving

_objective_settled if router.continuity.compare.objective == false

_objective_settled if {
	_stated(input.envelope.objective_sha256)
	input.envelope.objective_sha256 == input.state.continuity.objective_sha256
}

_evidence_settled if router.continuity.compare.evidence_refs == false

_evidence_settled if {
	is_array(input.envelope.evidence_refs)
	is_array(input.state.continuity.evidence_refs)
	found := [r | some r in input.envelope.evidence_refs; r in input.state.continuity.evidence_refs]
	count(found) == count(input.envelope.evidence_refs)
}

_budget_settled if router.continuity.compare.budget_remaining == false

_budget_settled if input.envelope.budget_remaining == input.state.continuity.budget_remaining

_obligations_settled if router.continuity.compare.pending_obligations == false

_obligations_settled if {
	is_array(input.envelope.pending_obligations)
	is_array(input.state.continuity.pending_obligations)
	then := {o | some o in input.envelope.pending_obligations}
	then == {o | some o in input.state.continuity.pending_obligations}
}

_stated(value) if {
	is_string(value)
	trim_space(value) != ""
}
