# METADATA
# title: Capability sessions
# description: >-
#   a stateful session with a capability outlives the call that opened it, so what was approved then is asked again
#   here: whose session it is, whether it lives, and whether it may be resumed, opened anew, elicit or report progress
package gate.session

import data.gate.approval.cover
import data.gate.finding
import data.gate.router

findings contains finding.new(
	"session_mode_not_allowed", "deny", "gate.session", "sessions.capability_session_mode",
	"runtime-controls.yaml#/runtime_controls/sessions/capability_session_mode",
) if {
	not _sessionless
	not _stateful_allowed
}

findings contains finding.new("session_binding_mismatch", "deny", "gate.session", "", "") if {
	not _sessionless
	not _bound
}

findings contains finding.new("session_not_live", "deny", "gate.session", "", "") if {
	not _sessionless
	not _live
}

# The permit of an operation names no capability, so what the policy says of the capability is asked here.
findings contains finding.new("session_capability_denied", "deny", "gate.session", "", "") if {
	_session_operation
	not _capability_permitted
}

findings contains finding.new(
	"session_resume_not_allowed", "deny", "gate.session", "sessions.resume_policy",
	"runtime-controls.yaml#/runtime_controls/sessions/resume_policy",
) if {
	input.operation == "resume_tool"
	not _resume_allowed
}

findings contains finding.new(
	"session_authorization_stale", "reauthorization_required", "gate.session", "sessions.resume_policy",
	"runtime-controls.yaml#/runtime_controls/sessions/resume_policy",
) if {
	input.operation == "resume_tool"
	not _authorization_fresh
}

findings contains finding.new(
	"session_reinit_not_allowed", "deny", "gate.session", "sessions.on_session_expiry",
	"runtime-controls.yaml#/runtime_controls/sessions/on_session_expiry",
) if {
	not _original
	not _reinit_allowed
}

findings contains finding.new(
	"session_reinit_needs_approval", "require_approval", "gate.session", "sessions.reinit_requires_approval",
	"runtime-controls.yaml#/runtime_controls/sessions/reinit_requires_approval",
) if {
	not _original
	not _reinit_free
	not cover.covered
}

findings contains finding.new(
	"progress_event_refused", "deny", "gate.session", "sessions.progress_event_policy",
	"runtime-controls.yaml#/runtime_controls/sessions/progress_event_policy",
) if {
	input.operation == "progress"
	not _progress_allowed
}

findings contains finding.new(
	"elicitation_refused", "deny", "gate.session", "sessions.elicitation_policy",
	"runtime-controls.yaml#/runtime_controls/sessions/elicitation_policy",
) if {
	input.operation == "elicit"
	not _elicitation_allowed
}

default _session := null

_session := input.evidence.session

_sessionless if {
	is_null(_session)
	not _session_operation
}

_session_operation if input.operation in {"resume_tool", "elicit", "progress"}

_stateful_allowed if router.sessions_controls.capability_session_mode == "stateful"

_bound if {
	_identified
	input.evidence.session.tenant_id == input.identity.tenant_id
	input.evidence.session.principal_id == input.identity.principal_id
	input.evidence.session.trace_session_id == input.trace.session_id
	input.evidence.session.capability == router.capability_name
}

_identified if {
	is_string(input.evidence.session.session_id)
	trim_space(input.evidence.session.session_id) != ""
	is_string(input.evidence.session.tenant_id)
	is_string(input.evidence.session.principal_id)
	is_string(input.evidence.session.trace_session_id)
}

_live if {
	_usable
	is_number(input.now_ms)
	is_number(input.evidence.session.expires_at_ms)
	input.now_ms < input.evidence.session.expires_at_ms
}

_usable if input.evidence.session.status == "active"

# What is paused is there to be resumed, and for nothing else.
_usable if {
	input.operation == "resume_tool"
	input.evidence.session.status == "paused"
}

_capability_permitted if router.policy_decision in {"allow", "approval_required"}

_resume_allowed if router.sessions_controls.resume_policy in {
	"resume_existing_session_if_valid", "reauthorize_then_resume",
}

_authorization_fresh if router.sessions_controls.resume_policy == "resume_existing_session_if_valid"

_authorization_fresh if {
	is_number(input.now_ms)
	is_number(input.evidence.session.paused_at_ms)
	is_number(input.evidence.authorization.checked_at_ms)
	input.evidence.session.paused_at_ms <= input.evidence.authorization.checked_at_ms
	input.evidence.authorization.checked_at_ms <= input.now_ms
}

default _replaces := null

_replaces := input.evidence.session.reinitialized_from

_original if is_null(_replaces)

_reinit_allowed if router.sessions_controls.on_session_expiry == "reinitialize"

_reinit_free if router.sessions_controls.reinit_requires_approval == false

_progress_allowed if router.sessions_controls.progress_event_policy == "from_live_session"

_elicitation_allowed if router.sessions_controls.elicitation_policy == "from_live_session"

_elicitation_allowed if {
	router.sessions_controls.elicitation_policy == "non_sensitive_only"
	input.evidence.session.elicits_sensitive == false
}
