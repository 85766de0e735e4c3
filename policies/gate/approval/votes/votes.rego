# METADATA
# title: Who has signed
# description: >-
#   a vote counts when its signature holds, it is for this approval and contract, and its reviewer may decide. The
#   fields of a vote come from the signed bytes; whether the signature holds is the gate's computation
package gate.approval.votes

import data.gate.router

# METADATA
# title: Humans whose approving vote counts
# description: a set of folded names, so that one person counts once whatever the spelling
approving contains human(vote) if {
	is_array(_votes)
	some vote in _votes
	vote.decision == "approved"
	signed(vote)
	may_review(vote)
	independent(vote)
}

# METADATA
# title: Every stored vote approves
all_approving if {
	is_array(_votes)
	count(_votes) == count([v | some v in _votes; v.decision == "approved"])
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

default _votes := null

_votes := input.state.approval.votes

# METADATA
# title: The signature holds and is for this approval, contract, action and environment, now
signed(vote) if {
	vote.verified == true
	is_string(vote.approval_id)
	vote.approval_id == input.state.approval.approval_id
	is_string(vote.nonce)
	vote.nonce == input.state.approval.nonce
	is_string(vote.action_digest)
	vote.action_digest == input.state.approval.action_digest
	is_string(vote.contract_digest)
	vote.contract_digest == router.contract.contract_digest
	is_string(vote.environment)
	vote.environment == input.agent.environment
	is_number(input.now_ms)
	is_number(vote.issued_at_ms)
	vote.issued_at_ms <= input.now_ms
	is_number(vote.expires_at_ms)
	input.now_ms < vote.expires_at_ms
}

# METADATA
# title: The reviewer holds a role the contract names, and the key was and is valid
may_review(vote) if {
	is_number(vote.issued_at_ms)
	is_number(input.now_ms)
	reviewer := router.reviewers[vote.reviewer]
	key := reviewer.keys[vote.key_id]
	is_number(key.not_before_ms)
	key.not_before_ms <= vote.issued_at_ms
	is_number(key.not_after_ms)
	input.now_ms < key.not_after_ms
	count({r | some r in reviewer.roles; r in router.contract.required_reviewers}) > 0
}

# METADATA
# title: The reviewer is not a party to the action, under any case or outer space
# description: >-
#   requester, principal, agent and the one the run acts for. A party that the record does not state could be anybody,
#   so nobody is independent of it
independent(vote) if {
	is_string(vote.reviewer)
	_parties_stated
	count(({folded(vote.reviewer)} | humans(vote)) & _parties) == 0
}

# METADATA
# title: Name of the person behind a vote, folded
human(vote) := folded(router.reviewers[vote.reviewer].human)

# METADATA
# title: The person behind a vote as a set
# description: empty for a reviewer nobody knows, whose vote is refused on that ground
humans(vote) := {h | h := human(vote)}

# METADATA
# title: A name without case and outer space
folded(name) := lower(trim_space(name))

_parties_stated if {
	_named(input.state.approval.requested_by)
	_named(input.state.approval.principal_id)
	_named(input.state.approval.agent_id)
	_delegate_stated
}

_delegate_stated if input.state.run.authorization_mode in {"platform_owned", "human_approved"}

_delegate_stated if {
	input.state.run.authorization_mode == "user_delegated"
	_named(input.state.run.delegated_principal_id)
}

_named(party) if {
	is_string(party)
	trim_space(party) != ""
}

_parties contains folded(input.state.approval.requested_by) if is_string(input.state.approval.requested_by)

_parties contains folded(input.state.approval.principal_id) if is_string(input.state.approval.principal_id)

_parties contains folded(input.state.approval.agent_id) if is_string(input.state.approval.agent_id)

_parties contains folded(input.state.run.delegated_principal_id) if is_string(input.state.run.delegated_principal_id)

_parties contains folded(input.identity.delegated_principal_id) if is_string(input.identity.delegated_principal_id)
