# METADATA
# title: Under whose authority
# description: >-
#   which authorization modes the bundle accepts, whether the grant binds the principal the call is for, whether its
#   token may be used again, and what a revoked grant means. Reads what the host verified, never the request
package gate.authorization

import data.gate.finding
import data.gate.router

findings contains finding.new(
	"authorization_mode_not_allowed", "deny", "gate.authorization", "authorization.authorization_mode",
	"runtime-controls.yaml#/runtime_controls/authorization/authorization_mode",
) if {
	input.checkpoint == "tool_execution"
	not mode_allowed
}

findings contains finding.new(
	"delegated_principal_not_bound", "deny", "gate.authorization", "authorization.delegated_principal_policy",
	"runtime-controls.yaml#/runtime_controls/authorization/delegated_principal_policy",
) if {
	input.checkpoint == "tool_execution"
	not _grantless
	not _principal_bound
}

findings contains finding.new(
	"token_reuse_not_allowed", "reauthorization_required", "gate.authorization", "authorization.token_reuse_policy",
	"runtime-controls.yaml#/runtime_controls/authorization/token_reuse_policy",
) if {
	input.checkpoint == "tool_execution"
	not _grantless
	not _token_accepted
}

findings contains finding.new(
	"authorization_revoked", "deny", "gate.authorization", "authorization.on_authorization_revoke",
	"runtime-controls.yaml#/runtime_controls/authorization/on_authorization_revoke",
) if {
	input.checkpoint == "tool_execution"
	not _grantless
	not _grant_active
	not _may_reauthorize
}

findings contains finding.new(
	"authorization_revoked", "reauthorization_required", "gate.authorization", "authorization.on_authorization_revoke",
	"runtime-controls.yaml#/runtime_controls/authorization/on_authorization_revoke",
) if {
	input.checkpoint == "tool_execution"
	not _grantless
	not _grant_active
	_may_reauthorize
}

# METADATA
# title: The bundle accepts the authorization mode
mode_allowed if input.identity.authorization_mode in _modes[router.call_controls.authorization_mode]

_modes := {
	"platform_owned": {"platform_owned"},
	"user_delegated": {"user_delegated"},
	"user_delegated_or_platform_owned": {"user_delegated", "platform_owned"},
	"any": {"user_delegated", "platform_owned", "human_approved"},
}

default _authorization := null

_authorization := input.evidence.authorization

_grantless if is_null(_authorization)

_principal_bound if input.identity.authorization_mode in {"platform_owned", "human_approved"}

_principal_bound if router.authorization_controls.delegated_principal_policy == "verified_identity_sufficient"

_principal_bound if {
	is_string(input.evidence.authorization.delegated_principal_id)
	is_string(input.evidence.authorization.delegated_scope)
	input.evidence.authorization.delegated_principal_id == input.identity.delegated_principal_id
	input.evidence.authorization.delegated_scope == input.identity.delegated_scope
}

_token_accepted if input.evidence.authorization.token_reused == false

_token_accepted if {
	router.authorization_controls.token_reuse_policy in {"reuse_within_valid_paused_run_only", "reuse_within_session"}
	_token_live
	is_string(input.evidence.authorization.token_run_id)
	input.evidence.authorization.token_run_id == input.trace.run_id
}

_token_accepted if {
	router.authorization_controls.token_reuse_policy == "reuse_within_session"
	_token_live
	is_string(input.evidence.authorization.token_session_id)
	input.evidence.authorization.token_session_id == input.trace.session_id
}

_token_live if {
	is_number(input.now_ms)
	is_number(input.evidence.authorization.token_expires_at_ms)
	input.now_ms < input.evidence.authorization.token_expires_at_ms
}

_grant_active if input.evidence.authorization.status == "active"

_may_reauthorize if router.authorization_controls.on_authorization_revoke == "reauthorize"
