# METADATA
# title: Whether the measured record still speaks for the compactions of the agent
# description: >-
#   it must be there, be about the model, harness, compactor, rules and tools that are in use now, and have been released.
#   A record of the harness's own trial releases nothing anywhere else
package gate.compaction_release.record

import data.gate.compaction_release.posture
import data.gate.finding
import data.gate.router

findings contains finding.new("compaction_record_missing", "deny", "gate.compaction_release.record", "compaction_release", "compaction.yaml#/compaction_release") if {
	not _recorded
}

findings contains finding.new(
	"compaction_record_stale", "deny", "gate.compaction_release.record", "decision.expires_on_change",
	"compaction.yaml#/compaction_release/decision/expires_on_change",
) if {
	_recorded
	not _current
}

findings contains finding.new(
	"compaction_runtime_changed", "deny", "gate.compaction_release.record", "runtime",
	"compaction.yaml#/compaction_release/runtime",
) if {
	not _runtime_known
}

findings contains finding.new(
	"compaction_not_released", "deny", "gate.compaction_release.record", "decision.posture",
	"compaction.yaml#/compaction_release/decision",
) if {
	_recorded
	not _released
}

# METADATA
# title: The record releases more than a pilot
# scope: document
past_pilot if posture.posture == "ship-limited"

past_pilot if _on_trial

_recorded if is_string(router.compaction.record.posture)

_current if count([name | some name in _components; _settled(name)]) == count(_components)

_components := ["model", "harness", "compactor", "rules", "tools"]

_settled(name) if router.compaction.expires[name] == false

_settled(name) if {
	is_string(router.compaction.digests[name])
	router.compaction.record.digests[name] == router.compaction.digests[name]
}

_runtime_known if {
	input.evidence.compaction.model == router.compaction.runtime.model
	input.evidence.compaction.harness == router.compaction.runtime.harness
	input.evidence.compaction.compactor == router.compaction.runtime.compactor
	input.evidence.compaction.compactor_version == router.compaction.runtime.compactor_version
}

# What is being tried is not what was released yet.
_runtime_known if _on_trial

_released if {
	posture.released == true
	router.compaction.record.posture == posture.posture
}

_released if _on_trial

_on_trial if {
	router.compaction.record.trial == true
	input.agent.environment == "compaction-trial"
}
