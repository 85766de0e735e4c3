# METADATA
# title: What the audit keeps of an approval
# description: >-
#   the fields that the contract lists in audit_fields, each there, null when the record does not say. Ids, digests and
#   times only; a stranger learns none of them
package gate.approval.audit

import data.gate.approval
import data.gate.approval.votes
import data.gate.router
import data.gate.verdict

default kept := null

# METADATA
# title: The approval of the decision's audit
# description: null when no approval is in question or the contract keeps nothing
kept := {field: object.get(_values, field, null) | some field in router.contract.audit_fields} if {
	count(router.contract.audit_fields) > 0
	_in_question
	not verdict.stranger
}

_in_question if approval.needed

_in_question if input.operation == "approval_transition"

_values["approval_id"] := input.state.approval.approval_id

_values["contract_id"] := router.contract.contract_id

_values["contract_digest"] := router.contract.contract_digest

_values["action_digest"] := input.state.approval.action_digest

_values["status"] := input.state.approval.status

_values["requested_by"] := input.state.approval.requested_by

_values["expires_at_ms"] := input.state.approval.expires_at_ms

_values["delegated_principal_id"] := input.state.run.delegated_principal_id

_values["delegated_scope"] := input.identity.delegated_scope

_values["tool_principal"] := router.capability.tool_principal

# Those whose approving signature counts.
_values["reviewers"] := sort({vote.reviewer | some vote in votes.ballots})
