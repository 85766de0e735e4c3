# METADATA
# title: The section of a long task
# description: at which operation it stands for what; it says nothing anywhere else
package gate.longtask.section

import data.gate.finding
import data.gate.router

findings contains finding.new("longtask_phase_invalid", "deny", "gate.longtask.section", "", "") if {
	not _absent
	not _fits
}

findings contains finding.new("compaction_overdue", "deny", "gate.longtask.section", "", "") if {
	_stepping
	not _stated
	not _steps_left
}

findings contains finding.new(
	"compaction_overdue", "deny", "gate.longtask.section", "continuity.max_steps_after_failed_compaction",
	"continuity.yaml#/continuity/max_steps_after_failed_compaction",
) if {
	_stepping
	_stated
	not _steps_left
}

findings contains finding.new("meaning_not_presented", "continuity_validation_failed", "gate.longtask.section", "", "") if {
	input.operation == "rehydrate"
	_absent
	not _authority_only
}

# METADATA
# title: Steps that a run may begin after a compaction failed, until one succeeds; a bundle can say another number
# scope: document
default max_steps_after_failure := 8

max_steps_after_failure := router.continuity.max_steps_after_failed_compaction

# METADATA
# title: A pair is to be committed
# scope: document
committing if {
	input.operation == "compact"
	input.state.longtask.phase == "commit"
}

# METADATA
# title: A pair is to be rebuilt from
# scope: document
rehydrating if {
	input.operation == "rehydrate"
	input.state.longtask.phase == "rehydrate"
}

# METADATA
# title: The pair belongs to the boundary that is open in the run
# scope: document
into_open_boundary if {
	committing
	is_string(input.state.longtask.envelope_id)
	input.state.run.boundary.envelope_id == input.state.longtask.envelope_id
	input.state.run.boundary.status == "open"
}

_fits if committing

_fits if rehydrating

_fits if _stepping

_stepping if {
	input.operation == "model_call"
	input.state.longtask.phase == "step"
}

_stated if is_number(router.continuity.max_steps_after_failed_compaction)

_steps_left if {
	is_number(max_steps_after_failure)
	is_number(input.state.longtask.steps_since_failure)
	input.state.longtask.steps_since_failure < max_steps_after_failure
}

# Nothing was committed with the boundary besides authority.
_authority_only if is_null(_pair)

default _pair := null

_pair := input.state.continuity.boundary.pair

_absent if _section == null

default _section := null

_section := input.state.longtask
