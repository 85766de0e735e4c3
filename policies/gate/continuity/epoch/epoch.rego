# METADATA
# title: The epoch of a run
# description: >-
#   the records count a run's boundaries. Who still acts in the context of an earlier epoch, or while a boundary waits to
#   be resumed, is refused; an approval of an earlier epoch is asked for again where the bundle wants it
package gate.continuity.epoch

import data.gate.approval
import data.gate.capability
import data.gate.finding
import data.gate.longtask.section
import data.gate.router

# METADATA
# title: What is wrong with the epoch
# description: a call in the epoch that the records count, outside a boundary, does not pay for the guards one by one
raised := set() if _settled

else := findings

_settled if {
	_no_boundary
	is_number(_host_epoch)
	_host_epoch >= 1
	_host_epoch == input.state.run.epoch
	_nothing_to_confirm
}

_nothing_to_confirm if capability.approval_free

_nothing_to_confirm if _approval_current

findings contains finding.new("boundary_open", "deny", "gate.continuity.epoch", "", "") if {
	not _exempt
	not _no_boundary
}

findings contains finding.new("epoch_absent", "deny", "gate.continuity.epoch", "", "") if {
	not _exempt
	not _epochs_stated
}

findings contains finding.new("epoch_backwards", "deny", "gate.continuity.epoch", "", "") if {
	not _exempt
	_both_stated
	not _host_caught_up
}

findings contains finding.new("epoch_ahead", "deny", "gate.continuity.epoch", "", "") if {
	not _exempt
	_both_stated
	not _records_caught_up
}

findings contains finding.new(
	"approval_epoch_changed", "require_approval", "gate.continuity.epoch", "continuity.reconfirm_approval",
	"continuity.yaml#/continuity/reconfirm_approval",
) if {
	approval.needed
	not _approval_current
}

# METADATA
# title: The epoch in which an approval must have been given
# description: null where the bundle takes an approval across boundaries
min_epoch := null if router.continuity.reconfirm_approval == false

else := input.state.run.epoch if is_number(input.state.run.epoch)

else := null

# A run begins before it has an epoch, a boundary is crossed in none, and people move records from outside the run.
_exempt if input.operation in {"run_start", "recover", "rehydrate", "approval_transition", "effect_transition"}

_no_boundary if is_null(input.state.run.boundary)

# The second half of a compaction is asked inside the boundary that its first half opened.
_no_boundary if section.into_open_boundary

_epochs_stated if _both_stated

_epochs_stated if {
	input.state.run.epoch == 1
	is_null(_host_epoch)
}

_both_stated if {
	is_number(input.state.run.epoch)
	input.state.run.epoch >= 1
	is_number(_host_epoch)
	_host_epoch >= 1
}

_host_caught_up if _host_epoch >= input.state.run.epoch

_records_caught_up if _host_epoch <= input.state.run.epoch

default _host_epoch := null

_host_epoch := input.trace.epoch

_approval_current if router.continuity.reconfirm_approval == false

_approval_current if {
	is_number(input.state.approval.epoch)
	input.state.approval.epoch == input.state.run.epoch
}

# Without an approval there is nothing to confirm again; the approval guard says what is missing.
_approval_current if is_null(input.state.approval)

_approval_current if input.state.approval.status in {"pending", "rejected", "expired", "revoked", "consumed", "cancelled"}
