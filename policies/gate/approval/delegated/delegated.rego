# METADATA
# title: Calls in a user's name
# description: >-
#   what approvals.delegated_authorization asks of user-delegated calls and of the approvals they run under. A bundle
#   that says nothing gets the stricter way
package gate.approval.delegated

import data.gate.approval
import data.gate.approval.votes
import data.gate.capability
import data.gate.finding
import data.gate.router
import data.gate.transition

findings contains finding.new("delegated_principal_unbound", "deny", "gate.approval.delegated", "", "") if {
	capability.calling
	router.catalogued
	not _bound
}

findings contains finding.new("delegation_reviewer_missing", "require_approval", "gate.approval.delegated", "", "") if {
	approval.needed
	_claims_approval
	not _own_call
	not _reviewed
}

# Refused before the row says approved: an approval that no call can use would only stand in the way of a good one.
findings contains finding.new("delegation_reviewer_missing", "deny", "gate.approval.delegated.transition", "", "") if {
	transition.next_status == "approved"
	not _own_run
	not _reviewed_with_this_vote
}

_bound if _own_call

_bound if {
	is_string(input.identity.principal_id)
	input.identity.principal_id == input.identity.delegated_principal_id
}

_bound if router.approval_policy.require_principal_binding == false

_own_call if input.identity.authorization_mode in {"platform_owned", "human_approved"}

_own_run if input.state.run.authorization_mode in {"platform_owned", "human_approved"}

_claims_approval if input.state.approval.status == "approved"

_reviewed if not _role_stated

_reviewed if {
	some vote in input.state.approval.votes
	_counts(vote)
}

_reviewed_with_this_vote if _reviewed

_reviewed_with_this_vote if _counts(input.evidence.vote)

_role_stated if is_string(router.approval_policy.delegation_reviewer)

_counts(vote) if {
	vote.decision == "approved"
	votes.signed(vote)
	votes.may_review(vote)
	votes.independent(vote)
	router.approval_policy.delegation_reviewer in router.reviewers[vote.reviewer].roles
}
