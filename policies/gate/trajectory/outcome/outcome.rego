# METADATA
# title: How a call stands to the history of its run
# description: >-
#   first whether the history is there, whole, current and of this run, then the rules. Each step holds only when all
#   before it do, so that the first one that does not is the reason
package gate.trajectory.outcome

import data.gate.router
import data.gate.trajectory.rule

# METADATA
# title: The rule and the reason
outcome := rule.first if {
	_window_open
} else := {"rule_id": "trajectory.window", "reason": "window_not_open"} if {
	_window_matches
} else := {"rule_id": "trajectory.window", "reason": "window_mismatch"} if {
	_sequence_follows
} else := {"rule_id": "trajectory.sequence", "reason": "observed_sequence_mismatch"} if {
	_policy_matches
} else := {"rule_id": "trajectory.policy_identity", "reason": "policy_identity_mismatch"} if {
	_identity_matches
} else := {"rule_id": "trajectory.identity", "reason": "trajectory_identity_mismatch"} if {
	_version_matches
} else := {"rule_id": "trajectory.history_trust", "reason": "history_version_mismatch"} if {
	_ref_matches
} else := {"rule_id": "trajectory.history_trust", "reason": "history_ref_mismatch"} if {
	_verified
} else := {"rule_id": "trajectory.history_trust", "reason": "history_unverified"} if {
	_current
} else := {"rule_id": "trajectory.history_trust", "reason": "history_stale"} if {
	_uncorrupted
} else := {"rule_id": "trajectory.history_trust", "reason": "history_corrupt"} if {
	_found
} else := {"rule_id": "trajectory.history_trust", "reason": "history_missing"} if {
	_well_formed
} else := {"rule_id": "trajectory.history_trust", "reason": "history_malformed"} if {
	_stated
} else := {"rule_id": "trajectory.history_trust", "reason": "history_missing"}

# METADATA
# title: What the decision is, in one word
# description: allow, approval_required or deny
decision := "allow" if {
	outcome.reason == "all_rules_satisfied"
} else := "approval_required" if {
	outcome.reason in {"approval_binding_mismatch", "required_approval_missing"}
} else := "deny"

# METADATA
# title: What the audit keeps
# description: null when no rule and no observation of the bundle is about the capability
kept := null if {
	router.trajectory == {}
} else := {
	"policy_id": router.trajectory.policy_id,
	"policy_version": router.trajectory.policy_version,
	"rule_id": outcome.rule_id,
	"reason": outcome.reason,
	"decision": decision,
	"source": _source,
	"counters": _counters,
}

default _source := "trajectory.yaml#/trajectory"

_source := router.trajectory_rules[outcome.rule_id].source

# Without a history that can be trusted nothing was compared with a limit.
_counters := rule.counters if {
	_window_open
} else := {name: "not_evaluated" | some name in object.keys(router.trajectory.counters)}

_stated if input.evidence.trajectory.history != null

_well_formed if {
	_stated
	is_string(input.evidence.trajectory.history.history_ref)
	is_number(input.evidence.trajectory.history.history_version)
	is_string(input.evidence.trajectory.history.tenant_id)
	is_string(input.evidence.trajectory.history.subject_id)
	is_string(input.evidence.trajectory.history.policy_id)
	is_string(input.evidence.trajectory.history.policy_version)
	input.evidence.trajectory.history.integrity in {"verified", "missing", "corrupt", "unverified"}
	input.evidence.trajectory.history.status in {"current", "missing", "stale"}
	is_array(input.evidence.trajectory.history.observed_sequence)
	is_array(input.evidence.trajectory.history.completed_actions)
	is_array(input.evidence.trajectory.history.approval_records)
	is_string(input.evidence.trajectory.history.window_id)
	input.evidence.trajectory.history.window_state in {"open", "closed", "stale"}
	input.evidence.trajectory.history.approval_state in _approval_states
}

_approval_states := {"none", "pending", "approved", "rejected", "revoked", "expired"}

_found if {
	_well_formed
	input.evidence.trajectory.history.integrity in {"verified", "corrupt", "unverified"}
	input.evidence.trajectory.history.status in {"current", "stale"}
}

_uncorrupted if {
	_found
	input.evidence.trajectory.history.integrity in {"verified", "unverified"}
}

_current if {
	_uncorrupted
	input.evidence.trajectory.history.status == "current"
}

_verified if {
	_current
	input.evidence.trajectory.history.integrity == "verified"
}

_ref_matches if {
	_verified
	input.evidence.trajectory.request.expected_history_ref == input.evidence.trajectory.history.history_ref
}

_version_matches if {
	_ref_matches
	input.evidence.trajectory.request.expected_history_version == input.evidence.trajectory.history.history_version
}

# The records' tenant and principal against the host's, and the call against itself.
_identity_matches if {
	_version_matches
	input.evidence.trajectory.request.action == input.request.capability
	input.evidence.trajectory.request.tenant_id == input.identity.tenant_id
	input.evidence.trajectory.request.subject_id == input.identity.principal_id
	input.evidence.trajectory.history.tenant_id == input.identity.tenant_id
	input.evidence.trajectory.history.subject_id == input.identity.principal_id
}

_policy_matches if {
	_identity_matches
	input.evidence.trajectory.history.policy_id == router.trajectory.policy_id
	input.evidence.trajectory.history.policy_version == router.trajectory.policy_version
}

_sequence_follows if {
	_policy_matches
	is_number(input.evidence.trajectory.request.sequence_number)
	input.evidence.trajectory.request.sequence_number - 1 == count(input.evidence.trajectory.history.observed_sequence)
}

_window_matches if {
	_sequence_follows
	input.evidence.trajectory.request.window_id == input.evidence.trajectory.history.window_id
	input.evidence.trajectory.history.window_id == input.trace.run_id
}

_window_open if {
	_window_matches
	input.evidence.trajectory.history.window_state == "open"
}
