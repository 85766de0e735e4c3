# METADATA
# title: Time passes over an approval
# description: >-
#   a request or an approval whose time is over expires; a request that nobody decided in time goes to the default
#   reviewer too. The clock decides, so nobody signs and anybody may say that it is time
package gate.transition.lapse

import data.gate.finding
import data.gate.router

findings contains finding.new("transition_not_allowed", "deny", "gate.transition.lapse", "", "") if {
	asked
	not _state_allows
}

findings contains finding.new("approval_binding_mismatch", "deny", "gate.transition.lapse", "", "") if {
	asked
	not _bound
}

findings contains finding.new("approval_not_expired", "deny", "gate.transition.lapse", "", "") if {
	_expiring
	not _time_is_over
}

findings contains finding.new("approval_expired", "deny", "gate.transition.lapse", "", "") if {
	_escalating
	not _time_is_left
}

findings contains finding.new("escalation_not_allowed", "deny", "gate.transition.lapse", "", "") if {
	_escalating
	not _contract_escalates
}

findings contains finding.new("escalation_not_due", "deny", "gate.transition.lapse", "", "") if {
	_escalating
	not _due
}

# METADATA
# title: The transition is one that time makes
# scope: document
asked if _expiring

asked if _escalating

# METADATA
# title: State the approval moves to
# description: an escalation moves it nowhere; who may decide is what changes
next_status := "expired" if _expiring

# METADATA
# title: The request is escalated
escalates if _escalating

# METADATA
# title: The run ends because its approval expired
# description: unless the contract lets the run ask again
ends_run if {
	_expiring
	not _may_ask_again
}

_expiring if {
	input.operation == "approval_transition"
	input.request.transition == "expire"
}

_escalating if {
	input.operation == "approval_transition"
	input.request.transition == "escalate"
}

_state_allows if {
	_expiring
	input.state.approval.status in {"pending", "approved"}
	is_number(input.state.approval.version)
}

_state_allows if {
	_escalating
	input.state.approval.status == "pending"
	is_number(input.state.approval.version)
	is_null(input.state.approval.escalated_at_ms)
}

_bound if {
	input.state.approval.tenant_id == input.identity.tenant_id
	input.state.approval.run_id == input.state.run.run_id
	input.state.approval.agent_id == input.agent.agent_id
}

_time_is_over if {
	is_number(input.now_ms)
	is_number(input.state.approval.expires_at_ms)
	input.now_ms >= input.state.approval.expires_at_ms
}

_time_is_left if {
	is_number(input.now_ms)
	is_number(input.state.approval.expires_at_ms)
	input.now_ms < input.state.approval.expires_at_ms
}

_contract_escalates if {
	is_string(router.contract.runtime_controls.escalation.role)
	is_string(router.contract.contract_digest)
	input.state.approval.contract_digest == router.contract.contract_digest
}

_due if {
	is_number(input.now_ms)
	is_number(input.state.approval.created_at_ms)
	is_number(router.contract.runtime_controls.escalation.after_ms)
	input.now_ms >= input.state.approval.created_at_ms + router.contract.runtime_controls.escalation.after_ms
}

_may_ask_again if router.contract.runtime_controls.on_expiry == "request_again"
