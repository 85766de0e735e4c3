# METADATA
# title: The run the operation belongs to
# description: >-
#   everything after run_start happens in a run that the records know as running and that belongs to whoever asks.
#   Transitions of approvals and effects are made by people, so they are bound to the tenant only
package gate.run

import data.gate.continuity.handoff
import data.gate.finding
import data.gate.identity
import data.gate.router

# METADATA
# title: What is wrong with the run
# description: a run that is in order in every respect of the rules below pays for one rule
raised := set() if _in_order

else := findings

_in_order if {
	identity.in_order # tenant, principal and agent are text
	input.state.run.status == "running"
	input.state.run.tenant_id == input.identity.tenant_id
	input.state.run.principal_id == input.identity.principal_id
	input.state.run.agent_id == input.agent.agent_id
	is_string(input.trace.run_id)
	input.state.run.run_id == input.trace.run_id
	is_string(input.trace.session_id)
	input.state.run.session_id == input.trace.session_id
	_same_authorization
}

findings contains finding.new("run_not_running", "deny", "gate.run", "", "") if {
	_by_caller
	not _running
}

findings contains finding.new("tenant_mismatch", "deny", "gate.run", "", "") if {
	_underway
	not _same_tenant
}

findings contains finding.new("principal_mismatch", "deny", "gate.run", "", "") if {
	_by_caller
	not _same_principal
}

findings contains finding.new("agent_mismatch", "deny", "gate.run", "", "") if {
	_underway
	not _same_agent
}

findings contains finding.new("session_mismatch", "deny", "gate.run", "", "") if {
	_by_caller
	not _same_session
}

findings contains finding.new("run_mismatch", "deny", "gate.run", "", "") if {
	_underway
	not _same_run
}

findings contains finding.new("authorization_changed", "deny", "gate.run", "", "") if {
	_by_caller
	not _same_authorization
}

_underway if not _starting

_starting if input.operation == "run_start"

_by_caller if {
	not _starting
	not router.transition
}

_running if input.state.run.status == "running"

_same_tenant if {
	is_string(input.identity.tenant_id)
	input.state.run.tenant_id == input.identity.tenant_id
}

_same_principal if {
	is_string(input.identity.principal_id)
	input.state.run.principal_id == input.identity.principal_id
}

_same_agent if {
	is_string(input.agent.agent_id)
	input.state.run.agent_id == input.agent.agent_id
}

# After a handoff another agent goes on: the guard of handoffs says which.
_same_agent if handoff.receiving

# As whom and with which scope the run acts was settled when it started; null equals null.
_same_authorization if {
	input.state.run.authorization_mode == input.identity.authorization_mode
	input.state.run.delegated_principal_id == input.identity.delegated_principal_id
	input.state.run.delegated_scope == input.identity.delegated_scope
}

_same_run if {
	is_string(input.trace.run_id)
	input.state.run.run_id == input.trace.run_id
}

_same_session if {
	is_string(input.trace.session_id)
	input.state.run.session_id == input.trace.session_id
}
