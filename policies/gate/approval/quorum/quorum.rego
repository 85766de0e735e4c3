# METADATA
# title: Whether enough people have approved
# description: distinct humans up to the contract's quorum, and where it wants every role, one human for each of them
package gate.approval.quorum

import data.gate.approval.votes
import data.gate.router

# METADATA
# title: The contract says how many humans must approve
stated if {
	is_number(router.contract.quorum)
	router.contract.quorum >= 1
}

# METADATA
# title: As many humans as the quorum
counted(ballots) if {
	stated
	count({votes.human(vote) | some vote in ballots}) >= router.contract.quorum
}

# METADATA
# title: Every role that is wanted has a human of its own
# description: >-
#   each set of roles is voted for by at least as many humans as it has roles. A human with two roles votes once, so
#   that every single role having a vote is not enough
roles_voted(_) if not _roles_mentioned

roles_voted(ballots) if {
	is_array(router.contract.role_sets)
	count(router.contract.role_sets) > 0
	count(router.contract.role_sets) == count([roles |
		some roles in router.contract.role_sets
		count(_voting_for(ballots, roles)) >= count(roles)
	])
}

# METADATA
# title: Enough, and of every role
met(ballots) if {
	counted(ballots)
	roles_voted(ballots)
}

_roles_mentioned if router.contract.role_sets

_voting_for(ballots, roles) := {votes.human(vote) |
	some vote in ballots
	count({role | some role in roles; role in votes.roles_of(vote)}) > 0
}
