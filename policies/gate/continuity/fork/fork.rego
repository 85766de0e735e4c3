# METADATA
# title: What a fork starts
# description: >-
#   a resume of a fork starts a run of its own, in a session of its own, that the records do not know yet. It inherits no
#   approval: what was approved for one run is approved for no other that descends from it
package gate.continuity.fork

import data.gate.approval
import data.gate.continuity.rehydration
import data.gate.finding

findings contains finding.new("fork_child_missing", "deny", "gate.continuity.fork", "", "") if {
	rehydration.resuming
	rehydration.present
	not _of_another_kind
	not _child_named
}

findings contains finding.new("fork_child_not_new", "deny", "gate.continuity.fork", "", "") if {
	rehydration.resuming
	rehydration.present
	not _of_another_kind
	not _child_new
}

findings contains finding.new("approval_not_inherited", "require_approval", "gate.continuity.fork", "", "") if {
	not _approval_own
	approval.needed
}

# METADATA
# title: A run is to be resumed from a fork
# scope: document
forking if {
	rehydration.resuming
	input.envelope.reset_reason == "fork"
}

# What is not known to be another boundary counts as a fork.
_of_another_kind if input.envelope.reset_reason in {"context_compaction", "context_reset", "process_recovery", "handoff"}

_child_named if {
	_stated(input.state.continuity.child.run_id)
	_stated(input.state.continuity.child.session_id)
}

_child_new if {
	is_string(input.envelope.run_id)
	is_string(input.envelope.session_id)
	input.state.continuity.child.known == false
	input.state.continuity.child.run_id != input.envelope.run_id
	input.state.continuity.child.session_id != input.envelope.session_id
}

_approval_own if {
	is_string(input.trace.run_id)
	input.state.approval.run_id == input.trace.run_id
}

# Without an approval there is none to inherit; the approval guard says what is missing.
_approval_own if is_null(input.state.approval)

# Runs of one session that nobody forked share what was approved in it.
_approval_own if is_null(input.state.run.parent_run_id)

_stated(value) if {
	is_string(value)
	trim_space(value) != ""
}
