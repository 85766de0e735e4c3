# METADATA
# title: What the record of an approval says
# description: >-
#   for which action, under which contract, for whom and how long it was given, and who signed it. A row that says
#   approved approves nothing by itself. Without a record there is nothing to say
package gate.approval.record

import data.gate.approval
import data.gate.approval.names
import data.gate.approval.quorum
import data.gate.approval.standing
import data.gate.approval.votes
import data.gate.finding
import data.gate.router

findings contains finding.new("approval_pending", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_pending
	not _expired
}

findings contains finding.new("approval_consumed", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_consumed
}

# The uses are rows of their own: a status that was set back does not make a standing approval new.
findings contains finding.new("approval_consumed", "require_approval", "gate.approval.standing", "", "") if {
	approval.needed
	_claims_approval
	not standing.uses_left
}

findings contains finding.new("approval_revoked", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_revoked
}

findings contains finding.new("approval_cancelled", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_cancelled
}

findings contains finding.new("approval_status_unknown", "deny", "gate.approval", "", "") if {
	approval.needed
	stated
	not _status_known
}

findings contains finding.new("approval_expired", "require_approval", "gate.approval", "", "") if {
	approval.needed
	stated
	_expired
}

findings contains finding.new("approval_expired", "deny", "gate.approval.on_expiry", "", "") if {
	ends_run_on_expiry
}

findings contains finding.new("approval_digest_mismatch", "require_approval", "gate.approval", "", "") if {
	approval.needed
	stated
	not _for_this_action
}

findings contains finding.new("approval_contract_mismatch", "require_approval", "gate.approval", "", "") if {
	approval.needed
	stated
	not _under_this_contract
}

findings contains finding.new("approval_binding_mismatch", "require_approval", "gate.approval", "", "") if {
	approval.needed
	stated
	not _bound
}

# One signed rejection stands, whatever the row says.
findings contains finding.new("approval_rejected", "deny", "gate.approval.votes", "", "") if {
	approval.needed
	_claims_approval
	not votes.all_approving
}

findings contains finding.new("approval_signature_invalid", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_claims_approval
	not votes.all_signed
}

findings contains finding.new("approval_reviewer_invalid", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_claims_approval
	not votes.all_may_review
}

# A key that is known to be stolen signs nothing, though reviewers.yaml still lists it.
findings contains finding.new("approval_key_denied", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_claims_approval
	not votes.all_undenied
}

findings contains finding.new("approval_party_ambiguous", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_claims_approval
	not names.parties_plain
}

findings contains finding.new("approval_self_approved", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_claims_approval
	not votes.all_independent
}

findings contains finding.new("approval_quorum_not_met", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_claims_approval
	not _quorum_met
}

findings contains finding.new("approval_roles_not_met", "require_approval", "gate.approval", "", "") if {
	approval.needed
	_claims_approval
	_quorum_met
	not _roles_met
}

# METADATA
# title: The run ends because its approval expired
ends_run_on_expiry if {
	approval.needed
	stated
	_expired
	_for_this_action
	_under_this_contract
	_bound
	not _may_ask_again
	not _of_another_run
}

_may_ask_again if router.contract.runtime_controls.on_expiry == "request_again"

# The approval ran out in an earlier run of the session; that run has ended already.
_of_another_run if {
	is_string(input.state.approval.run_id)
	is_string(input.trace.run_id)
	input.state.approval.run_id != input.trace.run_id
}

# METADATA
# title: There is a record of an approval
stated if {
	is_string(input.state.approval.approval_id)
	is_number(input.state.approval.version)
}

_pending if input.state.approval.status == "pending"

_consumed if input.state.approval.status == "consumed"

_revoked if input.state.approval.status == "revoked"

_cancelled if input.state.approval.status == "cancelled"

_claims_approval if input.state.approval.status == "approved"

# METADATA
# title: The approval holds in every respect
granted_in_full if {
	stated
	granted
	_for_this_action
	_under_this_contract
	_bound
	votes.all_approving
	votes.all_signed
	votes.all_may_review
	votes.all_independent
	votes.all_undenied
	names.parties_plain
	standing.uses_left
	_quorum_met
	_roles_met
}

# METADATA
# title: The record says approved, and its time is not over
# description: what a pause would be waited for is already there
granted if {
	_claims_approval
	not _expired
}

_status_known if input.state.approval.status in {
	"pending", "approved", "rejected", "expired", "revoked", "consumed", "cancelled",
}

_expired if input.state.approval.status == "expired"

_expired if {
	input.state.approval.status in {"pending", "approved"}
	not _before_expiry
}

_before_expiry if {
	is_number(input.now_ms)
	is_number(input.state.approval.expires_at_ms)
	input.now_ms < input.state.approval.expires_at_ms
}

_for_this_action if {
	is_string(input.digests.action_digest)
	input.state.approval.action_digest == input.digests.action_digest
}

_for_this_action if standing.covers

_under_this_contract if input.state.approval.contract_digest == router.contract.contract_digest

_bound if {
	input.state.approval.tenant_id == input.identity.tenant_id
	input.state.approval.principal_id == input.identity.principal_id
	_in_its_session
	input.state.approval.agent_id == input.agent.agent_id
	input.state.approval.capability == router.capability_name
	input.state.approval.bundle_version == router.bundle.version
	input.state.approval.release_identity == router.bundle.release_identity
}

_in_its_session if input.state.approval.session_id == input.trace.session_id

_in_its_session if standing.any_session

_quorum_met if quorum.counted(votes.ballots)

_roles_met if quorum.roles_voted(votes.ballots)
