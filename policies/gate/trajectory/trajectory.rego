# METADATA
# title: What history does not permit
# description: >-
#   a call that is decided by what the run did before: bound values, limits that add up, steps that must come first and
#   approvals for this very place in the sequence. The first reason in their fixed order is the only one
package gate.trajectory

import data.gate.capability
import data.gate.effect
import data.gate.finding
import data.gate.router
import data.gate.trajectory.outcome

# METADATA
# title: The finding of a call that a rule or an observation of the bundle is about
# description: a call that already happened was judged then, and is answered with its receipt
raised := set() if _unconcerned

else := set() if effect.replay

else := findings

_unconcerned if router.trajectory == {}

findings contains finding.new("history_missing", "deny", "trajectory.history_trust", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_history_missing
}

findings contains finding.new("history_malformed", "deny", "trajectory.history_trust", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_history_malformed
}

findings contains finding.new("history_corrupt", "deny", "trajectory.history_trust", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_history_corrupt
}

findings contains finding.new("history_stale", "deny", "trajectory.history_trust", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_history_stale
}

findings contains finding.new("history_unverified", "deny", "trajectory.history_trust", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_history_unverified
}

findings contains finding.new("history_ref_mismatch", "deny", "trajectory.history_trust", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_history_ref_mismatch
}

findings contains finding.new("history_version_mismatch", "deny", "trajectory.history_trust", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_history_version_mismatch
}

findings contains finding.new("trajectory_identity_mismatch", "deny", "trajectory.identity", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_trajectory_identity_mismatch
}

findings contains finding.new("policy_identity_mismatch", "deny", "trajectory.policy_identity", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_policy_identity_mismatch
}

findings contains finding.new("observed_sequence_mismatch", "deny", "trajectory.sequence", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_observed_sequence_mismatch
}

findings contains finding.new("window_mismatch", "deny", "trajectory.window", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_window_mismatch
}

findings contains finding.new("window_not_open", "deny", "trajectory.window", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_window_not_open
}

findings contains finding.new("current_fingerprint_missing", "deny", "trajectory.value_binding", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_current_fingerprint_missing
}

findings contains finding.new("history_fingerprint_missing", "deny", "trajectory.value_binding", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_history_fingerprint_missing
}

findings contains finding.new("value_binding_mismatch", "deny", "trajectory.value_binding", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_value_binding_mismatch
}

findings contains finding.new("current_counter_missing", "deny", "trajectory.cumulative_limit", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_current_counter_missing
}

findings contains finding.new("history_counter_missing", "deny", "trajectory.cumulative_limit", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_history_counter_missing
}

findings contains finding.new("counter_arithmetic_error", "deny", "trajectory.cumulative_limit", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_counter_arithmetic_error
}

findings contains finding.new("cumulative_limit_exceeded", "deny", "trajectory.cumulative_limit", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_cumulative_limit_exceeded
}

findings contains finding.new("required_predecessor_missing", "deny", "trajectory.required_predecessor", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_required_predecessor_missing
}

findings contains finding.new("trajectory_approval_binding_mismatch", "require_approval", "trajectory.required_approval", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_approval_binding_mismatch
}

findings contains finding.new("required_approval_missing", "require_approval", "trajectory.required_approval", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_required_approval_missing
}

findings contains finding.new("approval_state_mismatch", "deny", "trajectory.required_approval", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_approval_state_mismatch
}

findings contains finding.new("required_approval_inactive", "deny", "trajectory.required_approval", "trajectory.rules", "trajectory.yaml#/trajectory/rules") if {
	capability.calling
	not _no_required_approval_inactive
}

findings contains finding.new("rules_undetermined", "deny", "trajectory.rules", "trajectory.rules", "trajectory.yaml#/trajectory") if {
	capability.calling
	not _no_rules_undetermined
}

_no_history_missing if outcome.outcome.reason != "history_missing"

_no_history_malformed if outcome.outcome.reason != "history_malformed"

_no_history_corrupt if outcome.outcome.reason != "history_corrupt"

_no_history_stale if outcome.outcome.reason != "history_stale"

_no_history_unverified if outcome.outcome.reason != "history_unverified"

_no_history_ref_mismatch if outcome.outcome.reason != "history_ref_mismatch"

_no_history_version_mismatch if outcome.outcome.reason != "history_version_mismatch"

_no_trajectory_identity_mismatch if outcome.outcome.reason != "trajectory_identity_mismatch"

_no_policy_identity_mismatch if outcome.outcome.reason != "policy_identity_mismatch"

_no_observed_sequence_mismatch if outcome.outcome.reason != "observed_sequence_mismatch"

_no_window_mismatch if outcome.outcome.reason != "window_mismatch"

_no_window_not_open if outcome.outcome.reason != "window_not_open"

_no_current_fingerprint_missing if outcome.outcome.reason != "current_fingerprint_missing"

_no_history_fingerprint_missing if outcome.outcome.reason != "history_fingerprint_missing"

_no_value_binding_mismatch if outcome.outcome.reason != "value_binding_mismatch"

_no_current_counter_missing if outcome.outcome.reason != "current_counter_missing"

_no_history_counter_missing if outcome.outcome.reason != "history_counter_missing"

_no_counter_arithmetic_error if outcome.outcome.reason != "counter_arithmetic_error"

_no_cumulative_limit_exceeded if outcome.outcome.reason != "cumulative_limit_exceeded"

_no_required_predecessor_missing if outcome.outcome.reason != "required_predecessor_missing"

_no_approval_binding_mismatch if outcome.outcome.reason != "approval_binding_mismatch"

_no_required_approval_missing if outcome.outcome.reason != "required_approval_missing"

_no_approval_state_mismatch if outcome.outcome.reason != "approval_state_mismatch"

_no_required_approval_inactive if outcome.outcome.reason != "required_approval_inactive"

_no_rules_undetermined if outcome.outcome.reason != "rules_undetermined"
