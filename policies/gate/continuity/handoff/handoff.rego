# METADATA
# title: Who goes on after a handoff
# description: >-
#   a handoff names the agent that receives the run, and its role where that matters; whoever else presents the envelope
#   is refused. Both agents are governed by one bundle, so that nothing is escaped by handing it on
package gate.continuity.handoff

import data.gate.agents
import data.gate.continuity.rehydration
import data.gate.finding

findings contains finding.new("handoff_recipient_missing", "deny", "gate.continuity.handoff", "", "") if {
	_handing_off
	not _recipient_named
}

findings contains finding.new("handoff_recipient_not_governed", "deny", "gate.continuity.handoff", "", "") if {
	_handing_off
	not _recipient_governed
}

findings contains finding.new("handoff_recipient_mismatch", "deny", "gate.continuity.handoff", "", "") if {
	rehydration.resuming
	rehydration.present
	not _of_another_kind
	not _received_by_recipient
}

# METADATA
# title: A run is to be resumed from a handoff
# scope: document
receiving if {
	rehydration.resuming
	input.envelope.reset_reason == "handoff"
}

# What is not known to be another boundary counts as a handoff.
_of_another_kind if input.envelope.reset_reason in {"context_compaction", "context_reset", "process_recovery", "fork"}

_handing_off if input.operation == "handoff"

_recipient_named if {
	_stated(input.state.continuity.handoff.agent_id)
	_role_named
}

_role_named if is_null(input.state.continuity.handoff.role)

_role_named if _stated(input.state.continuity.handoff.role)

_recipient_governed if {
	is_string(agents.bundle_of[input.agent.agent_id])
	agents.bundle_of[input.state.continuity.handoff.agent_id] == agents.bundle_of[input.agent.agent_id]
}

_received_by_recipient if {
	_stated(input.envelope.handoff_to.agent_id)
	input.envelope.handoff_to.agent_id == input.agent.agent_id
	_in_role
}

_in_role if is_null(input.envelope.handoff_to.role)

_in_role if {
	_stated(input.envelope.handoff_to.role)
	input.envelope.handoff_to.role == input.agent.role
}

_stated(value) if {
	is_string(value)
	trim_space(value) != ""
}
