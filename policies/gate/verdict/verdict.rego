# METADATA
# title: From findings to a verdict
# description: >-
#   collects what every guard found, adds the refusal when nothing permits, and keeps a stranger from learning more
#   than that he is one. A guard that is not loaded leaves everything here undefined, which the gate refuses
package gate.verdict

import data.gate.approval
import data.gate.approval.delegated
import data.gate.capability
import data.gate.compaction_release
import data.gate.compound
import data.gate.constraint
import data.gate.continuity
import data.gate.continuity.lineage
import data.gate.continuity.rehydration
import data.gate.effect
import data.gate.effect.limit
import data.gate.evidence
import data.gate.finding
import data.gate.identity
import data.gate.inventory
import data.gate.longtask
import data.gate.operation
import data.gate.router
import data.gate.run
import data.gate.runtime
import data.gate.trajectory
import data.gate.transition
import data.gate.transition.lapse
import data.gate.transition.withdrawal

# METADATA
# title: The strictest verdict among the findings that may be shown
verdict := finding.strictest(shown)

# METADATA
# title: The findings that leave the gate
# description: on a mismatch of identity nothing else does
shown := {_at_resumption(f) | some f in (_found | _validated)} if rehydration.resuming

else := _found

_found := _about_identity if stranger

else := _raised if _permitted

# A refusal says why; that nothing permits besides would only hide it.
else := _raised if _refused

else := _raised | {finding.new("no_rule_permits", "deny", "gate.verdict", "", "")}

# METADATA
# title: The caller is not who the run belongs to
stranger if count(_about_identity) > 0

# METADATA
# title: The reasons of the decision
# description: >-
#   sorted by strings, which every engine orders alike; the remedy is joined here, after the finding exists
reasons := [reason |
	some key in sort(object.keys(_by_key))
	reason := _by_key[key]
]

_by_key[concat(" ", [f.code, f.rule, f.requirement, f.source, f.verdict])] := object.union(f, {"remedy": finding.remedy(f.code)}) if {
	some f in shown
}

# Only these guards say who is a stranger: a control of a bundle may have any name.
_about_identity := {f | some f in run.raised; f.code in finding.identity_codes} | lineage.about_identity

# Three verdicts leave a resumption: none of them permits anything, and a reviewer cannot approve one.
_at_resumption(f) := object.union(f, {"verdict": "continuity_validation_failed"}) if f.verdict in {"deny", "require_approval"}

else := f

# That nothing was found to have changed authorizes nothing: whatever comes next is decided afresh.
_validated := set() if not _unchanged

else := {finding.new("continuity_validated", "reauthorization_required", "gate.continuity", "", "")}

_unchanged if {f.verdict | some f in _found} == {"allow"}

_permitted if {
	some f in _raised
	f.verdict == "allow"
}

_refused if {
	some f in _raised
	f.verdict == "deny"
}

# A finding that is not made by the constructor says nothing reliable, so it is a refusal.
_raised := _sound if count(_sound) == count(_collected)

else := _sound | {finding.new("finding_malformed", "deny", "gate.verdict", "", "")}

_sound := {f | some f in _collected; _well_formed(f)}

_well_formed(f) if {
	object.keys(f) == {"code", "rule", "requirement", "source", "verdict"}
	is_string(f.code)
	is_string(f.rule)
	is_string(f.requirement)
	is_string(f.source)
	f.verdict in finding.verdicts
}

# Every group of guards answers, or nothing is decided: the number is that of the rules below.
_collected := union({answer[1] | some answer in _answers}) if count(_answers) == 5

# Each group is asked in a rule of its own. Asked in one expression, every guard would be evaluated inside the one before,
# on a stack a megabyte deep; what does not fit into the processor's cache is paid for twice.
_answers contains ["who asks", union({identity.raised, run.raised, router.findings})]

_answers contains ["what is asked", union({capability.raised, operation.findings, inventory.raised, constraint.raised})]

_answers contains ["who agreed to what effect", union({effect.raised, limit.raised, approval.raised, delegated.raised})]

_answers contains ["what is known of it", union({evidence.raised, runtime.raised})]

_answers contains ["what went before", union({
	_of_transition,
	continuity.raised,
	trajectory.raised,
	compound.raised,
	longtask.raised,
	compaction_release.raised,
})]

# A call is about no record that a person moves, and does not pay for their guards.
_of_transition := set() if not router.transition

else := union({transition.findings, lapse.findings, withdrawal.findings})
