# METADATA
# title: Who has signed
# description: >-
#   a vote counts when its signature holds, it is for this approval and contract, and its reviewer may decide. The
#   fields of a vote come from the signed bytes; whether the signature holds is the gate's computation
package gate.approval.votes

import data.gate.approval.names
import data.gate.approval.standing
import data.gate.router

# METADATA
# title: Humans whose approving vote counts
# description: a set of folded names, so that one person counts once whatever the spelling
approving contains human(vote) if some vote in ballots

# METADATA
# title: The stored votes that count as approvals
ballots contains vote if {
	is_array(_votes)
	some vote in _votes
	counts(vote)
}

# METADATA
# title: The vote approves, and everything about it holds
# description: whoever has handed his vote to a delegate has none left
counts(vote) if {
	vote.decision == "approved"
	signed(vote)
	may_review(vote)
	independent(vote)
	undenied(vote)
	count(humans(vote) & delegators) == 0
}

# METADATA
# title: Every stored vote approves
# description: handing a vote to a delegate is no objection
all_approving if {
	is_array(_votes)
	count(_votes) == count([v | some v in _votes; v.decision in {"approved", "delegated"}])
}

# METADATA
# title: Every stored vote is signed, for this approval and its contract
all_signed if {
	is_array(_votes)
	count(_votes) == count([v | some v in _votes; signed(v)])
}

# METADATA
# title: Every stored vote is by a reviewer whom the contract names
all_may_review if {
	is_array(_votes)
	count(_votes) == count([v | some v in _votes; may_review(v)])
}

# METADATA
# title: No stored vote is by whoever asked
all_independent if {
	is_array(_votes)
	count(_votes) == count([v | some v in _votes; independent(v)])
}

# METADATA
# title: No stored vote was signed with a key that is on the denylist
all_undenied if {
	is_array(_votes)
	count(_votes) == count([v | some v in _votes; undenied(v)])
}

default _votes := null

_votes := input.state.approval.votes

# METADATA
# title: The signature holds and is for this approval, contract, action and environment, now
signed(vote) if {
	authentic(vote)
	vote.contract_digest == router.contract.contract_digest
	standing.signed(vote)
}

# METADATA
# title: The signature holds and is for this record, under whatever contract it was asked for
authentic(vote) if {
	vote.verified == true
	is_string(vote.approval_id)
	vote.approval_id == input.state.approval.approval_id
	is_string(vote.nonce)
	vote.nonce == input.state.approval.nonce
	is_string(vote.action_digest)
	vote.action_digest == input.state.approval.action_digest
	is_string(vote.contract_digest)
	is_string(vote.environment)
	vote.environment == input.agent.environment
	is_number(input.now_ms)
	is_number(vote.issued_at_ms)
	vote.issued_at_ms <= input.now_ms
	is_number(vote.expires_at_ms)
	input.now_ms < vote.expires_at_ms
}

# METADATA
# title: The reviewer stands for a role that the contract names, and the key was and is valid
may_review(vote) if {
	key_valid(vote)
	count(roles_of(vote)) > 0
}

# METADATA
# title: The reviewer's key was valid when he signed and is valid now
# description: a reviewer who was removed, or whose key was rotated, has no such key any more
key_valid(vote) if {
	is_number(vote.issued_at_ms)
	is_number(input.now_ms)
	key := router.reviewers[vote.reviewer].keys[vote.key_id]
	is_number(key.not_before_ms)
	key.not_before_ms <= vote.issued_at_ms
	is_number(key.not_after_ms)
	input.now_ms < key.not_after_ms
}

# METADATA
# title: The records do not name the key as compromised, whatever reviewers.yaml says of it
undenied(vote) if {
	is_array(input.state.approval.denied_keys)
	count([key | some key in input.state.approval.denied_keys; key == vote.key_id]) == 0
}

# METADATA
# title: The roles that a vote stands for
# description: the reviewer's own, those of whoever handed him a vote, and after an escalation the default reviewer's
roles_of(vote) := (_own_roles(vote) | _handed_roles(vote)) | _escalated_roles(vote)

_own_roles(vote) := {role |
	some role in router.reviewers[vote.reviewer].roles
	role in router.contract.required_reviewers
}

_handed_roles(vote) := {role |
	some handed in _delegations
	handed.delegate_to == vote.reviewer
	some role in _own_roles(handed)
}

_escalated_roles(vote) := {role |
	role := router.contract.runtime_controls.escalation.role
	role in router.reviewers[vote.reviewer].roles
	is_number(input.state.approval.escalated_at_ms)
	is_number(vote.issued_at_ms)
	vote.issued_at_ms >= input.state.approval.escalated_at_ms
}

# METADATA
# title: Humans who have handed their vote to a delegate
delegators contains human(vote) if some vote in _delegations

_delegations contains vote if {
	is_array(_votes)
	some vote in _votes
	delegates(vote)
}

# METADATA
# title: The vote hands the reviewer's own vote to a delegate
# description: only where the contract allows it, only to the role that approval_delegate names, never on and on
delegates(vote) if {
	vote.decision == "delegated"
	router.contract.delegation == true
	signed(vote)
	key_valid(vote)
	count(_own_roles(vote)) > 0
	independent(vote)
	undenied(vote)
	router.routing_controls.approval_delegate in router.reviewers[vote.delegate_to].roles
	names.folded(router.reviewers[vote.delegate_to].human) != human(vote)
}

# METADATA
# title: The reviewer is not a party to the action, under any spelling
# description: >-
#   requester, principal, agent and the one the run acts for. A party that the record does not state could be anybody,
#   so nobody is independent of it
independent(vote) if {
	is_string(vote.reviewer)
	names.parties_stated
	count(({names.folded(vote.reviewer)} | humans(vote)) & names.parties) == 0
}

# METADATA
# title: Name of the person behind a vote, folded
human(vote) := names.folded(router.reviewers[vote.reviewer].human)

# METADATA
# title: The person behind a vote as a set
# description: empty for a reviewer nobody knows, whose vote is refused on that ground
humans(vote) := {h | h := human(vote)}
