# METADATA
# title: Transitions of approvals and effects
# description: >-
#   a person moves a record from one state to the next. Who may do so, from which state and on what evidence is
#   decided here; the records apply it by compare-and-set
package gate.transition

import data.gate.approval.names
import data.gate.approval.quorum
import data.gate.approval.votes
import data.gate.effect
import data.gate.finding
import data.gate.router
import data.gate.transition.lapse
import data.gate.transition.withdrawal

findings contains finding.new("transition_not_allowed", "deny", "gate.transition", "", "") if {
	_approval
	not _decidable
}

findings contains finding.new("approval_run_over", "deny", "gate.transition", "", "") if {
	_approval
	not _run_not_over
}

findings contains finding.new("approval_expired", "deny", "gate.transition", "", "") if {
	_approval
	not _before_expiry
}

findings contains finding.new("approval_contract_mismatch", "deny", "gate.transition", "", "") if {
	_approval
	not _under_this_contract
}

findings contains finding.new("approval_contract_missing", "deny", "gate.transition", "", "") if {
	_approval
	not quorum.stated
}

findings contains finding.new("approval_binding_mismatch", "deny", "gate.transition", "", "") if {
	_approval
	not _bound
}

findings contains finding.new("transition_not_by_human", "deny", "gate.transition", "", "") if {
	router.transition
	not _needs_no_human
	not _by_human
}

findings contains finding.new("approval_signature_invalid", "deny", "gate.transition", "", "") if {
	_approval
	not _signed
}

findings contains finding.new("approval_reviewer_invalid", "deny", "gate.transition", "", "") if {
	_approval
	not _may_review
}

findings contains finding.new("approval_key_denied", "deny", "gate.transition", "", "") if {
	_approval
	not _undenied
}

findings contains finding.new("approval_party_ambiguous", "deny", "gate.transition", "", "") if {
	_approval
	not names.parties_plain
}

findings contains finding.new("approval_self_approved", "deny", "gate.transition", "", "") if {
	_approval
	not _independent
}

findings contains finding.new("approval_vote_repeated", "deny", "gate.transition", "", "") if {
	_approval
	not _first_vote
}

findings contains finding.new("approval_delegate_not_allowed", "deny", "gate.transition", "", "") if {
	_approval
	_delegating
	not _delegate_accepted
}

findings contains finding.new("reconciliation_not_needed", "deny", "gate.transition", "", "") if {
	_effect
	not _reconcilable
}

findings contains finding.new("effect_binding_mismatch", "deny", "gate.transition", "", "") if {
	_effect
	not _effect_bound
}

findings contains finding.new("reconciliation_outcome_unknown", "deny", "gate.transition", "", "") if {
	_effect
	not _outcome_known
}

findings contains finding.new("reconciliation_evidence_missing", "deny", "gate.transition", "", "") if {
	_effect
	not _evidence_stated
}

findings contains finding.new("reconciliation_owner_not_fenced", "deny", "gate.transition", "", "") if {
	_effect
	not _owner_cannot_act
}

# METADATA
# title: State the approval moves to
# description: a rejection stands at once; an approval waits until the quorum of distinct humans has signed
next_status := "rejected" if {
	_approval
	_rejecting
}

next_status := "approved" if {
	_approval
	input.request.transition == "approve"
	_enough
}

next_status := "pending" if {
	_approval
	input.request.transition == "approve"
	not _enough
}

next_status := "pending" if {
	_approval
	_delegating
}

next_status := withdrawal.next_status

next_status := lapse.next_status

# METADATA
# title: State the effect moves to
next_effect_status := _by_outcome[input.request.outcome] if _effect

# METADATA
# title: The rejection ends the run
stops_run if {
	next_status == "rejected"
	not _goes_on
}

# METADATA
# title: The run that waited for this approval goes on
# description: it was paused for it and for nothing else, and the request is no longer open
resumes_run if {
	next_status in {"approved", "rejected", "cancelled", "expired"}
	input.state.run.status == "paused"
	is_string(input.state.run.waiting_for)
	input.state.run.waiting_for == input.state.approval.approval_id
}

_approval if {
	input.operation == "approval_transition"
	not _other_transition
}

_other_transition if withdrawal.asked

_other_transition if lapse.asked

_effect if input.operation == "effect_transition"

_rejecting if input.request.transition == "reject"

_delegating if input.request.transition == "delegate"

# Whether the vote at hand holds is asked above, and a vote that does not is refused.
_enough if quorum.met(votes.ballots | {input.evidence.vote})

_needs_no_human if lapse.asked

_needs_no_human if withdrawal.by_requester

_needs_no_human if withdrawal.signed_by_requester

# Both transitions are made by people: an agent, or a run acting for its principal, moves no record.
_by_human if {
	input.identity.authorization_mode == "human_approved"
	is_string(input.identity.principal_id)
	trim_space(input.identity.principal_id) != ""
	is_string(input.agent.agent_id)
	is_string(input.state.run.principal_id)
	trim_space(input.state.run.principal_id) != ""
	count({names.folded(input.identity.principal_id)} & _of_the_run) == 0
}

_of_the_run contains names.folded(input.agent.agent_id) if is_string(input.agent.agent_id)

_of_the_run contains names.folded(input.state.run.principal_id) if is_string(input.state.run.principal_id)

_of_the_run contains names.folded(input.state.run.delegated_principal_id) if {
	is_string(input.state.run.delegated_principal_id)
}

_bound if {
	input.state.approval.tenant_id == input.identity.tenant_id
	input.state.approval.run_id == input.state.run.run_id
	input.state.approval.agent_id == input.agent.agent_id
	input.state.approval.bundle_version == router.bundle.version
	input.state.approval.release_identity == router.bundle.release_identity
}

_decidable if {
	input.state.approval.status == "pending"
	votes.all_approving
	is_number(input.state.approval.version)
	input.evidence.vote.decision == _decisions[input.request.transition]
	_decision_allowed
}

_decisions := {"approve": "approved", "reject": "rejected", "delegate": "delegated"}

_decision_allowed if input.evidence.vote.decision in router.contract.allowed_decisions

_decision_allowed if {
	_delegating
	router.contract.delegation == true
}

# A run that was cancelled or stopped is over, and nothing that waited for it is decided any more. One that was
# completed may have a successor in the same session.
_run_not_over if input.state.run.status in {"running", "paused", "completed"}

_run_not_over if _rejecting

_before_expiry if {
	is_number(input.now_ms)
	is_number(input.state.approval.expires_at_ms)
	input.now_ms < input.state.approval.expires_at_ms
}

_under_this_contract if {
	is_string(router.contract.contract_digest)
	input.state.approval.contract_digest == router.contract.contract_digest
}

_signed if votes.signed(input.evidence.vote)

_may_review if votes.may_review(input.evidence.vote)

_undenied if votes.undenied(input.evidence.vote)

_independent if votes.independent(input.evidence.vote)

_delegate_accepted if votes.delegates(input.evidence.vote)

_first_vote if {
	votes.all_signed
	count((votes.approving | votes.delegators) & votes.humans(input.evidence.vote)) == 0
}

# Who approved, or gave his vote away, may have second thoughts while the request is open.
_first_vote if {
	votes.all_signed
	_rejecting
}

_goes_on if router.contract.on_reject == "continue_without"

_by_outcome := {
	"committed": "side_effect_committed",
	"not_committed": "failed_before_effect",
	"partial": "partial_side_effect",
}

_outcome_known if _by_outcome[input.request.outcome]

_reconcilable if {
	is_number(input.state.side_effect.version)
	_unresolved
}

# The effect is reconciled under the key and for the action it was claimed with, in the run that claimed it.
_effect_bound if {
	_stated(input.state.side_effect.capability)
	_stated(input.state.side_effect.business_key)
	_stated(input.state.side_effect.idempotency_key)
	_stated(input.state.side_effect.action_digest)
	is_string(input.state.side_effect.run_id)
	input.state.side_effect.run_id == input.state.run.run_id
}

_stated(value) if {
	is_string(value)
	trim_space(value) != ""
}

_unresolved if effect.unknown

_unresolved if effect.partial

_evidence_stated if {
	is_string(input.evidence.reconciliation.evidence_ref)
	trim_space(input.evidence.reconciliation.evidence_ref) != ""
}

# Said not to have happened, the effect may be tried again: that needs a worker that cannot wake up and do it twice.
_owner_cannot_act if input.request.outcome in {"committed", "partial"}

_owner_cannot_act if input.evidence.reconciliation.owner_fenced == true
