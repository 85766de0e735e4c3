# METADATA
# title: What the catalog says binds the call
# description: >-
#   where the call goes, as whom the tool runs and with whose credential, as the host's egress broker and credential
#   provider state it, against the catalog entry of the capability. Owner and type of a credential are independent
#   facts: an OAuth credential of the agent is a shared identity like any other
package gate.binding

import data.gate.capability
import data.gate.finding
import data.gate.router

findings contains finding.new("egress_destination_not_allowed", "deny", "gate.binding", "", "") if {
	capability.calling
	not _no_destination
	not _destination_allowed
}

findings contains finding.new("tool_principal_mismatch", "deny", "gate.binding", "", "") if {
	capability.calling
	not _no_credential
	not _tool_principal_used
}

findings contains finding.new("credential_binding_missing", "deny", "gate.binding", "credential", "") if {
	capability.calling
	_no_credential
	not credential_settled
}

findings contains finding.new("credential_reference_missing", "deny", "gate.binding", "credential", "") if {
	capability.calling
	not _no_credential
	not _contractless
	not _referenced
}

findings contains finding.new("credential_requester_mismatch", "deny", "gate.binding", "credential", "") if {
	capability.calling
	not _no_credential
	not _contractless
	not _requester_bound
}

findings contains finding.new("credential_tenant_mismatch", "deny", "gate.binding", "credential", "") if {
	capability.calling
	not _no_credential
	not _contractless
	not _tenant_bound
}

findings contains finding.new("credential_kind_not_accepted", "deny", "gate.binding", "credential", "") if {
	capability.calling
	not _no_credential
	not _contractless
	not _kind_accepted
}

findings contains finding.new("credential_owner_mismatch", "deny", "gate.binding", "credential", "") if {
	capability.calling
	not _no_credential
	not _contractless
	not _owner_bound
}

findings contains finding.new("credential_not_current", "deny", "gate.binding", "credential", "") if {
	capability.calling
	not _no_credential
	not _contractless
	not _current
}

# METADATA
# title: No evidence of a credential is wanted, or it is there
credential_settled if _contractless

credential_settled if _credential != null

default kept := null

# METADATA
# title: The binding of the decision's audit
# description: requester and effective principal apart, with the references; null when no credential is in question
kept := {field: object.get(_texts, field, null) | some field in _kept_fields} if {
	capability.calling
	not _no_credential
}

_kept_fields := {
	"requester_principal_ref", "effective_principal_ref", "credential_owner", "credential_type",
	"connection_ref", "credential_ref", "deployment_ref",
}

_texts := {field: value |
	some field in _kept_fields
	value := input.evidence.credential_binding[field]
	is_string(value)
}

default _contract := null

_contract := router.capability.credential

_contractless if _contract == null

default _destination := null

_destination := input.evidence.destination

_no_destination if is_null(_destination)

_destination_allowed if input.evidence.destination.host in router.capability.allowed_egress

default _credential := null

_credential := input.evidence.credential_binding

_no_credential if _credential == null

# Whom the call is for, from the verified context. An argument of the model's is never looked at.
default _acting := null

_acting := input.identity.delegated_principal_id if input.identity.authorization_mode == "user_delegated"

_acting := input.identity.principal_id if input.identity.authorization_mode in {"platform_owned", "human_approved"}

default _owner := null

_owner := input.evidence.credential_binding.credential_owner

_of_a_user if {
	_owner == "user"
	"user" in _contract.owners
}

_of_the_agent if _owner != "user"

_tool_principal_used if {
	_of_the_agent
	is_string(input.evidence.credential_binding.effective_principal_ref)
	input.evidence.credential_binding.effective_principal_ref == router.capability.tool_principal
}

_tool_principal_used if {
	_of_a_user
	is_string(_acting)
	input.evidence.credential_binding.effective_principal_ref == _acting
}

_referenced if {
	_is_name(input.evidence.credential_binding.connection_ref)
	_is_name(input.evidence.credential_binding.credential_ref)
	_is_name(input.evidence.credential_binding.deployment_ref)
}

_requester_bound if {
	_is_name(_acting)
	input.evidence.credential_binding.requester_principal_ref == _acting
}

_tenant_bound if {
	_is_name(input.identity.tenant_id)
	input.evidence.credential_binding.tenant_ref == input.identity.tenant_id
}

_kind_accepted if {
	_owner in _contract.owners
	input.evidence.credential_binding.credential_type in _contract.types
}

_owner_bound if {
	_owner == "agent"
	is_null(input.evidence.credential_binding.owner_principal_ref)
}

_owner_bound if {
	_owner == "user"
	_is_name(_acting)
	input.evidence.credential_binding.owner_principal_ref == _acting
}

_current if {
	input.evidence.credential_binding.status == "active"
	_is_name(router.bundle.version)
	input.evidence.credential_binding.policy_version == router.bundle.version
	is_number(input.now_ms)
	is_number(input.evidence.credential_binding.authorization_checked_at_ms)
	input.evidence.credential_binding.authorization_checked_at_ms <= input.now_ms
}

_is_name(value) if {
	is_string(value)
	trim_space(value) != ""
}
