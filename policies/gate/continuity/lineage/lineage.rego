# METADATA
# title: What an envelope descends from
# description: >-
#   whose run it is, under which authorization, trace, policy and events it was written. The host's verified context and
#   the records are compared with it; the request is not read
package gate.continuity.lineage

import data.gate.continuity.handoff
import data.gate.continuity.rehydration
import data.gate.finding
import data.gate.router

findings contains finding.new("tenant_mismatch", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_tenant
}

findings contains finding.new("principal_mismatch", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_principal
}

findings contains finding.new("agent_mismatch", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_agent
}

findings contains finding.new("session_mismatch", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_session
}

findings contains finding.new("run_mismatch", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_run
}

findings contains finding.new("environment_mismatch", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_environment
}

findings contains finding.new("authorization_mode_changed", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_mode
}

findings contains finding.new("delegated_principal_changed", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_delegate
}

findings contains finding.new("delegated_scope_changed", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_scope
}

findings contains finding.new("trace_lineage_broken", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_trace
}

findings contains finding.new("policy_version_changed", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_policy_version
}

findings contains finding.new("policy_digest_changed", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_policy
}

findings contains finding.new("event_range_mismatch", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _same_events
}

findings contains finding.new("event_chain_broken", "deny", "gate.continuity.lineage", "", "") if {
	rehydration.resuming
	rehydration.present
	not _chain_intact
}

# METADATA
# title: The findings by which a stranger is known
# scope: document
about_identity := set() if not rehydration.resuming

else := {f | some f in findings; f.code in finding.identity_codes}

_same_tenant if {
	_stated(input.envelope.tenant_id)
	input.envelope.tenant_id == input.identity.tenant_id
}

_same_principal if {
	_stated(input.envelope.principal_id)
	input.envelope.principal_id == input.identity.principal_id
}

_same_agent if {
	_stated(input.envelope.agent_id)
	input.envelope.agent_id == input.agent.agent_id
}

# The guard of handoffs says who may receive it.
_same_agent if handoff.receiving

_same_session if {
	_stated(input.envelope.session_id)
	input.envelope.session_id == input.trace.session_id
}

_same_run if {
	_stated(input.envelope.run_id)
	input.envelope.run_id == input.trace.run_id
}

_same_environment if {
	_stated(input.envelope.environment)
	input.envelope.environment == input.agent.environment
}

_same_mode if {
	_stated(input.envelope.authorization_mode)
	input.envelope.authorization_mode == input.identity.authorization_mode
}

# null equals null: nobody delegated then, and nobody does now.
_same_delegate if input.envelope.delegated_principal_id == input.identity.delegated_principal_id

_same_scope if input.envelope.delegated_scope == input.identity.delegated_scope

_same_trace if {
	_stated(input.envelope.source_trace_id)
	input.envelope.source_trace_id == input.state.continuity.source_trace_id
}

_same_policy_version if {
	_stated(input.envelope.policy_version)
	input.envelope.policy_version == input.state.continuity.policy.bundle_version
	input.envelope.policy_version == router.bundle.version
}

_same_policy if {
	_stated(input.envelope.policy_digest)
	input.envelope.policy_digest == input.state.continuity.policy.policy_digest
}

_same_events if {
	is_number(input.envelope.source_event_range.first_seq)
	is_number(input.envelope.source_event_range.last_seq)
	_stated(input.envelope.source_event_range.head_hash)
	input.envelope.source_event_range.first_seq <= input.envelope.source_event_range.last_seq
	input.envelope.source_event_range.first_seq == input.state.continuity.event_range.first_seq
	input.envelope.source_event_range.last_seq == input.state.continuity.event_range.last_seq
	input.envelope.source_event_range.head_hash == input.state.continuity.event_range.head_hash
}

_chain_intact if input.state.continuity.event_range.intact == true

_stated(value) if {
	is_string(value)
	trim_space(value) != ""
}
