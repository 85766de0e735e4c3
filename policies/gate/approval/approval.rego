# METADATA
# title: An approval is for one frozen action
# description: >-
#   bound by digest to the exact action, to tenant, principal, session, bundle version and release; signed by
#   reviewers whom the contract names; live; consumed once. A row that says approved approves nothing by itself
package gate.approval

import data.gate.approval.record
import data.gate.capability
import data.gate.effect
import data.gate.finding
import data.gate.router

# METADATA
# title: What stands in the way of a call that nobody approved
# description: >-
#   what is asked for comes first, then the record of the approval. A call that needs none, and that
#   nobody refused to approve, does not pay for either; a call without a record not for the second
raised := set() if _unconcerned

else := findings if is_null(input.state.approval)

else := findings | record.findings

# Needing none is said by the policy, the catalog, the controls and the user; nothing is concluded from silence.
_unconcerned if {
	capability.approval_free
	_not_rejected
}

_unconcerned if not capability.calling

findings contains finding.new("approval_contract_missing", "deny", "gate.approval", "", "") if {
	needed
	not _contract_stated
}

findings contains finding.new("approval_request_incomplete", "deny", "gate.approval", "", "") if {
	needed
	_contract_stated
	not _request_complete
}

# Whatever made the first call need an approval may have changed since; the rejection has not.
findings contains finding.new("approval_rejected", "deny", "gate.approval", "", "") if {
	capability.calling
	router.catalogued
	not effect.replay
	not _not_rejected
}

# What a control demands is met by an approval that holds in every respect.
findings contains demand if {
	needed
	not record.granted_in_full
	some demand in router.demands
}

findings contains finding.new("approval_missing", "require_approval", "gate.approval", "", "") if {
	needed
	not record.stated
}

findings contains finding.new("approval_pause_not_allowed", "deny", "gate.approval", "", "") if {
	needed
	_contract_stated
	not record.granted
	not _pause_allowed
}

# METADATA
# title: The call needs an approval
# description: >-
#   unless the capability is known to need none. A call that already happened is answered with its receipt and
#   needs no second approval
needed if {
	capability.calling
	router.catalogued
	not effect.replay
	not capability.approval_free
}

_contract_stated if is_string(router.contract.contract_digest)

_pause_allowed if router.contract.runtime_controls.pause_allowed == true

_not_rejected if {
	is_null(input.state.rejection.approval_id)
	is_null(input.state.rejection.intent_digest)
	not _status_rejected
}

_status_rejected if input.state.approval.status == "rejected"

_request_complete if {
	is_array(router.contract.request_fields)
	count(router.contract.request_fields) == count([f |
		some f in router.contract.request_fields
		is_string(_request_fields[f])
		trim_space(_request_fields[f]) != ""
	])
}

_request_fields["trace_id"] := input.trace.trace_id

_request_fields["session_id"] := input.trace.session_id

_request_fields["idempotency_key"] := input.request.idempotency_key

_request_fields["requested_by"] := input.identity.principal_id

_request_fields["reason"] := input.request.reason

_request_fields["tool_arguments_redacted"] := input.digests.arguments
