# METADATA
# title: Whether the context after a boundary still states the rules
# description: >-
#   by id, scope and normalised content of the text that the model is shown, as the gate read it. A rule that is there
#   permits nothing; one that is missing refuses, whatever a summary says
package gate.compaction_release.kept

import data.gate.capability
import data.gate.compaction_release.record
import data.gate.finding
import data.gate.router

findings contains finding.new(
	"required_rule_missing", "deny", "gate.compaction_release.kept", "invariants.fail_closed_on_missing_rule",
	"compaction.yaml#/compaction_release/invariants/fail_closed_on_missing_rule",
) if {
	_bound
	not _kept_or_not_wanted
}

findings contains finding.new(
	"compaction_write_not_released", "deny", "gate.compaction_release.kept", "decision.posture",
	"compaction.yaml#/compaction_release/decision",
) if {
	capability.calling
	not _write_permitted
}

_bound if capability.calling

_bound if input.operation == "model_call"

_kept_or_not_wanted if router.compaction.fail_closed == false

_kept_or_not_wanted if {
	is_array(router.compaction.required)
	is_number(input.now_ms)
	count([rule | some rule in router.compaction.required; _kept(rule)]) == count(router.compaction.required)
}

_kept(rule) if {
	some stated in input.evidence.compaction.rules
	stated.rule_id == rule.rule_id
	stated.scope == rule.scope
	stated.digest in rule.digests
}

# Only what is known to be over, or not yet begun, need not be kept.
_kept(rule) if {
	is_number(rule.valid_until_ms)
	rule.valid_until_ms <= input.now_ms
}

_kept(rule) if {
	is_number(rule.valid_from_ms)
	input.now_ms < rule.valid_from_ms
}

_write_permitted if record.past_pilot

_write_permitted if router.capability.side_effect == "none"

_write_permitted if router.policy_decision == "approval_required"
