# METADATA
# title: A request is cancelled, an approval is revoked
# description: >-
#   whoever holds a role that the contract names takes it back with a signature; who asked may take the request back,
#   where the contract lets him. Taking authority away needs no independence: it helps nobody. An approval that a claim
#   has consumed can be taken back until its tool has started: the tool asks the records first
package gate.transition.withdrawal

import data.gate.approval.votes
import data.gate.finding
import data.gate.router

findings contains finding.new("transition_not_allowed", "deny", "gate.transition.withdrawal", "", "") if {
	asked
	not _state_allows
}

findings contains finding.new("approval_call_started", "deny", "gate.transition.withdrawal", "", "") if {
	_recalling
	not _not_started
}

findings contains finding.new("approval_expired", "deny", "gate.transition.withdrawal", "", "") if {
	asked
	not _before_expiry
}

findings contains finding.new("approval_binding_mismatch", "deny", "gate.transition.withdrawal", "", "") if {
	asked
	not _bound
}

findings contains finding.new("approval_signature_invalid", "deny", "gate.transition.withdrawal", "", "") if {
	asked
	not by_requester
	not _signed
}

findings contains finding.new("approval_reviewer_invalid", "deny", "gate.transition.withdrawal", "", "") if {
	asked
	not by_requester
	not _may_withdraw
}

findings contains finding.new("approval_key_denied", "deny", "gate.transition.withdrawal", "", "") if {
	asked
	not by_requester
	not _undenied
}

# METADATA
# title: The transition is a withdrawal
asked if {
	input.operation == "approval_transition"
	input.request.transition in {"revoke", "cancel"}
}

# METADATA
# title: Who asked takes the request back
# description: no signature is presented, the contract allows it, and the host has verified that it is he
by_requester if {
	asked
	input.request.transition == "cancel"
	is_null(input.evidence.vote)
	router.contract.requester_may_cancel == true
	input.identity.tenant_id == input.state.approval.tenant_id
	is_string(input.identity.principal_id)
	trim_space(input.identity.principal_id) != ""
	input.identity.principal_id == input.state.approval.requested_by
}

# METADATA
# title: Who asked takes the request back with his own key
# description: the contract allows it and reviewers.yaml lists the key as his; a role is not needed
signed_by_requester if {
	asked
	input.request.transition == "cancel"
	router.contract.requester_may_cancel == true
	votes.key_valid(input.evidence.vote)
	input.evidence.vote.reviewer == input.state.approval.requested_by
}

# METADATA
# title: State the approval moves to
next_status := _decisions[input.request.transition] if asked

_decisions := {"revoke": "revoked", "cancel": "cancelled"}

_from := {"revoke": "approved", "cancel": "pending"}

_state_allows if {
	input.state.approval.status == _from[input.request.transition]
	is_number(input.state.approval.version)
}

_state_allows if {
	_recalling
	is_number(input.state.approval.version)
}

_recalling if {
	asked
	input.request.transition == "revoke"
	input.state.approval.status == "consumed"
}

# Claims that consumed it, are in flight and have not been taken up by a tool.
_not_started if {
	is_number(input.state.approval.undispatched)
	input.state.approval.undispatched > 0
}

# What has been consumed is not consumed again, so that only its call can still be stopped, whatever the time.
_before_expiry if _recalling

_before_expiry if {
	is_number(input.now_ms)
	is_number(input.state.approval.expires_at_ms)
	input.now_ms < input.state.approval.expires_at_ms
}

# Neither the release nor the contract has to be the current one: an old approval can be taken back too.
_bound if {
	input.state.approval.tenant_id == input.identity.tenant_id
	input.state.approval.run_id == input.state.run.run_id
	input.state.approval.agent_id == input.agent.agent_id
}

_signed if {
	votes.authentic(input.evidence.vote)
	input.evidence.vote.contract_digest == input.state.approval.contract_digest
	input.evidence.vote.decision == _decisions[input.request.transition]
}

_may_withdraw if signed_by_requester

_may_withdraw if {
	votes.key_valid(input.evidence.vote)
	some role in router.reviewers[input.evidence.vote.reviewer].roles
	role in _roles
}

_roles := object.get(router.contract, "withdrawal_roles", object.get(router.contract, "required_reviewers", []))

_undenied if votes.undenied(input.evidence.vote)
