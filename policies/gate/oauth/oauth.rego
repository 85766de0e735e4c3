# METADATA
# title: What was granted
# description: >-
#   the scopes an operation needs, less those the authorization server granted, must be none; and the grant must be
#   from this principal, for this audience, resource and run, live, and checked under this bundle. What was asked for
#   grants nothing, and a finding here is no reason to try again, to use another credential or to ask for more
package gate.oauth

import data.gate.capability
import data.gate.finding
import data.gate.router

findings contains finding.new("oauth_evidence_missing", "deny", "gate.oauth", "oauth", "") if {
	capability.calling
	_unstated
	not settled
}

findings contains finding.new("insufficient_granted_scope", "deny", "gate.oauth", "oauth", "") if {
	capability.calling
	not _unstated
	not _contractless
	not _sufficient
}

findings contains finding.new("grant_not_active", "deny", "gate.oauth", "oauth", "") if {
	capability.calling
	not _unstated
	not _contractless
	not _active
}

findings contains finding.new("grant_expired", "deny", "gate.oauth", "oauth", "") if {
	capability.calling
	not _unstated
	not _contractless
	not _live
}

findings contains finding.new("grant_subject_mismatch", "deny", "gate.oauth", "oauth", "") if {
	capability.calling
	not _unstated
	not _contractless
	not _subject_bound
}

findings contains finding.new("grant_audience_mismatch", "deny", "gate.oauth", "oauth", "") if {
	capability.calling
	not _unstated
	not _contractless
	not _audience_named
}

findings contains finding.new("grant_resource_mismatch", "deny", "gate.oauth", "oauth", "") if {
	capability.calling
	not _unstated
	not _contractless
	not _resource_covered
}

findings contains finding.new("grant_task_mismatch", "deny", "gate.oauth", "oauth", "") if {
	capability.calling
	not _unstated
	not _contractless
	not _task_bound
}

findings contains finding.new("grant_policy_changed", "deny", "gate.oauth", "oauth", "") if {
	capability.calling
	not _unstated
	not _contractless
	not _policy_current
}

# METADATA
# title: No evidence of a grant is wanted, or it is there
settled if _contractless

settled if _grant != null

# METADATA
# title: Scopes the operation needs and the grant does not have
missing := _required - _granted

# METADATA
# title: The grant is less than what was asked for
# description: whatever a task achieves under it may be only a part of what was wanted
partial if {
	not _unstated
	count(refused) > 0
}

# METADATA
# title: Scopes that were asked for and not granted
refused := _requested - _granted

default kept := null

# METADATA
# title: The grant of the decision's audit
# description: null when no grant is in question; scopes are sorted
kept := {
	"grant_ref": _grant_ref,
	"requested_scopes": sort(_requested),
	"granted_scopes": sort(_granted),
	"required_scopes": sort(_required),
	"missing_scopes": sort(missing),
} if {
	capability.calling
	not _unstated
}

default _grant_ref := null

_grant_ref := input.evidence.oauth_scope.grant_ref if is_string(input.evidence.oauth_scope.grant_ref)

default _contract := null

_contract := router.capability.oauth

_contractless if _contract == null

default _grant := null

_grant := input.evidence.oauth_scope

_unstated if _grant == null

_required contains scope if {
	is_array(_contract.required_scopes)
	some scope in _contract.required_scopes
	is_string(scope)
}

_requested contains scope if {
	is_array(input.evidence.oauth_scope.requested_scopes)
	some scope in input.evidence.oauth_scope.requested_scopes
	is_string(scope)
}

_granted contains scope if {
	is_array(input.evidence.oauth_scope.granted_scopes)
	some scope in input.evidence.oauth_scope.granted_scopes
	is_string(scope)
}

_sufficient if {
	count(_required) > 0
	count(missing) == 0
}

_active if {
	input.evidence.oauth_scope.status == "active"
	_is_name(input.evidence.oauth_scope.grant_ref)
}

_live if {
	is_number(input.now_ms)
	is_number(input.evidence.oauth_scope.expires_at_ms)
	input.now_ms < input.evidence.oauth_scope.expires_at_ms
}

# Whom the call is for, from the verified context.
default _acting := null

_acting := input.identity.delegated_principal_id if input.identity.authorization_mode == "user_delegated"

_acting := input.identity.principal_id if input.identity.authorization_mode in {"platform_owned", "human_approved"}

_subject_bound if {
	_is_name(_acting)
	input.evidence.oauth_scope.subject_ref == _acting
}

_audience_named if {
	_is_name(_contract.audience)
	is_array(input.evidence.oauth_scope.audience)
	_contract.audience in input.evidence.oauth_scope.audience
}

default _resource := null

_resource := _contract.resource

_resource_covered if is_null(_resource)

_resource_covered if {
	_is_name(_resource)
	is_array(input.evidence.oauth_scope.resource)
	_resource in input.evidence.oauth_scope.resource
}

_task_bound if _contract.task_bound == false

_task_bound if {
	_is_name(input.trace.run_id)
	input.evidence.oauth_scope.task_ref == input.trace.run_id
}

_policy_current if {
	_is_name(router.bundle.version)
	input.evidence.oauth_scope.policy_version == router.bundle.version
}

_is_name(value) if {
	is_string(value)
	trim_space(value) != ""
}
