# METADATA
# title: States in which no boundary is permitted
# description: >-
#   each is derived from the records, and a record that cannot be read counts as the state. A bundle adds to them and
#   takes none away
package gate.continuity.states

import data.gate.router

# METADATA
# title: The states that hold now
# scope: document
observed contains "approval_pending" if not approvals_settled

observed contains "tool_outcome_unknown" if not effects_settled

observed contains "multi_step_in_progress" if not steps_completed

observed contains "irreversible_awaiting_confirmation" if not confirmations_received

observed contains "credential_change_unfinished" if not credentials_settled

observed contains "user_correction_not_durable" if not corrections_durable

observed contains "incident_open" if not incidents_closed

observed contains "obligation_open" if not obligations_acceptable

observed contains "sandbox_not_saved" if not sandbox_acceptable

observed contains "budget_exhausted" if not budget_acceptable

# METADATA
# title: No approval of the run waits for its reviewers
approvals_settled if {
	_actions_listed
	count([a | some a in input.state.continuity.actions; _approval_settled(a)]) == count(input.state.continuity.actions)
}

# METADATA
# title: Nothing of the run is being carried out or of unknown outcome
effects_settled if {
	input.state.continuity.in_flight == false
	_actions_listed
	count([a | some a in input.state.continuity.actions; _effect_settled(a)]) == count(input.state.continuity.actions)
}

# METADATA
# title: No write or migration of several steps is under way
steps_completed if _ended("multi_step_in_progress")

# METADATA
# title: No payment, refund, deletion or publication waits for its confirmation
confirmations_received if _ended("irreversible_awaiting_confirmation")

# METADATA
# title: No rotation of credentials or change of permissions is unfinished
credentials_settled if _ended("credential_change_unfinished")

# METADATA
# title: Every correction of the user is stored
corrections_durable if _ended("user_correction_not_durable")

# METADATA
# title: No incident of security or privacy is under investigation
incidents_closed if _ended("incident_open")

# METADATA
# title: No obligation is open, or the bundle does not mind
obligations_acceptable if router.continuity.forbidden_states.obligation_open == false

obligations_acceptable if {
	is_array(input.state.continuity.pending_obligations)
	count(input.state.continuity.pending_obligations) == 0
}

# METADATA
# title: The sandbox has a snapshot, or the bundle does not mind
sandbox_acceptable if router.continuity.forbidden_states.sandbox_not_saved == false

sandbox_acceptable if {
	is_string(input.state.continuity.sandbox_snapshot_ref)
	trim_space(input.state.continuity.sandbox_snapshot_ref) != ""
}

# METADATA
# title: Some budget is left, or the bundle does not mind
budget_acceptable if router.continuity.forbidden_states.budget_exhausted == false

budget_acceptable if {
	is_number(input.state.continuity.budget_remaining)
	input.state.continuity.budget_remaining > 0
}

# METADATA
# title: An effect whose status is known and final for now
resolved := {"not_started", "side_effect_committed", "failed_before_effect"}

_actions_listed if is_array(input.state.continuity.actions)

_approval_settled(a) if {
	is_null(a.approval_id)
	is_null(a.approval_status)
}

_approval_settled(a) if a.approval_status in {"approved", "rejected", "expired", "revoked", "consumed", "cancelled"}

_effect_settled(a) if a.side_effect_status in resolved

_kinds := {
	"multi_step_in_progress", "irreversible_awaiting_confirmation", "credential_change_unfinished",
	"user_correction_not_durable", "incident_open",
}

# Work of a kind that nobody knows counts as work of every kind.
_ended(kind) if {
	is_array(input.state.continuity.open_work)
	others := [w | some w in input.state.continuity.open_work; w.kind in _kinds; w.kind != kind]
	count(others) == count(input.state.continuity.open_work)
}
