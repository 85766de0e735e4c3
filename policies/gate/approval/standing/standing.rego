# METADATA
# title: Approvals that are good for more than one execution
# description: >-
#   only where the contract says so, under a digest of its own that leaves out what the contract lets vary. Without a
#   contract that says so an approval is for one execution of one action
package gate.approval.standing

import data.gate.router

# METADATA
# title: The approval stands for this action too
covers if {
	stated
	is_string(input.digests.standing_digest)
	input.state.approval.standing_digest == input.digests.standing_digest
}

# METADATA
# title: The approval is good in every session of its principal
any_session if {
	covers
	router.contract.standing.scope == "principal"
}

# METADATA
# title: The contract lets an approval stand
stated if is_number(router.contract.standing.max_uses)

# METADATA
# title: There is an execution left
uses_left if _absent

uses_left if {
	stated
	is_number(input.state.approval.uses)
	input.state.approval.uses >= 0
	input.state.approval.uses < router.contract.standing.max_uses
}

# METADATA
# title: What is signed says whether the approval stands, and for what
signed(vote) if {
	_absent
	object.get(vote, "standing_digest", null) == null
}

signed(vote) if {
	stated
	is_string(vote.standing_digest)
	vote.standing_digest == input.state.approval.standing_digest
}

_absent if not _mentioned

_mentioned if router.contract.standing
