# METADATA
# title: Calls in a user's name
# description: >-
#   what approvals.delegated_authorization asks of user-delegated calls and of the approvals they run under. A bundle
#   that says nothing about the binding gets the stricter way
package gate.approval.delegated

import data.gate.approval
import data.gate.approval.votes
import data.gate.capability
import data.gate.finding
import data.gate.router
import data.gate.transition
import data.gate.transition.lapse

# METADATA
# title: What is missing from a call in a user's name
# description: a call in nobody's name lacks nothing of it
raised := set() if {
	capability.calling
	_own_call
}

else := findings

findings contains finding.new("delegated_principal_unbound", "deny", "gate.approval.delegated", "", "") if {
	capability.calling
	router.catalogued
	not _bound
}

findings contains finding.new("delegation_reviewer_missing", "require_approval", "gate.approval.delegated", "", "") if {
	approval.needed
	not _call_reviewed
}

# Refused before the row says approved: an approval that no call can use would only stand in the way of a good one.
findings contains finding.new("delegation_reviewer_missing", "deny", "gate.approval.delegated.vote", "", "") if {
	input.operation == "approval_transition"
	not _vote_suffices
}

_bound if _own_call

_bound if {
	is_string(input.identity.principal_id)
	input.identity.principal_id == input.identity.delegated_principal_id
}

_bound if router.approval_policy.require_principal_binding == false

_own_call if input.identity.authorization_mode in {"platform_owned", "human_approved"}

_call_reviewed if _own_call

_call_reviewed if _any_role_will_do

_call_reviewed if _stored_vote_counts

# Too few have signed at all, or nothing is claimed that could lack a signature: the approval guard asks.
_call_reviewed if {
	is_number(router.contract.quorum)
	count(votes.approving) < router.contract.quorum
}

_call_reviewed if {
	input.state.approval.status in {"pending", "rejected", "expired", "revoked", "consumed", "cancelled"}
}

_vote_suffices if input.state.run.authorization_mode in {"platform_owned", "human_approved"}

_vote_suffices if _any_role_will_do

_vote_suffices if input.request.transition == "reject"

_vote_suffices if transition.next_status in {"pending", "revoked", "cancelled", "expired"}

_vote_suffices if lapse.escalates

_vote_suffices if _stored_vote_counts

_vote_suffices if _counts(input.evidence.vote)

_any_role_will_do if is_null(object.get(router.approval_policy, "delegation_reviewer", null))

_stored_vote_counts if {
	some vote in input.state.approval.votes
	_counts(vote)
}

_counts(vote) if {
	votes.counts(vote)
	router.approval_policy.delegation_reviewer in router.reviewers[vote.reviewer].roles
}
