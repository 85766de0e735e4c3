# METADATA
# title: Compaction of contexts
# description: >-
#   what a bundle's compaction contract has against a compaction that is asked for, and against a call after a boundary.
#   A bundle without a contract, and a call of a run that crossed no boundary, pay for one comparison
package gate.compaction_release

import data.gate.capability
import data.gate.compaction_release.kept
import data.gate.compaction_release.record
import data.gate.router

# METADATA
# title: The findings of the contract
# scope: document
raised := set() if _unconcerned

else := record.findings | kept.findings

_unconcerned if router.compaction.contracted == false

_unconcerned if not _at_stake

_at_stake if input.operation == "compact"

_at_stake if {
	capability.calling
	not _no_boundary_crossed
}

# For a compaction inside a provider: what the model is shown in the end is looked at before it is called.
_at_stake if {
	input.operation == "model_call"
	not _no_boundary_crossed
}

_no_boundary_crossed if input.state.run.epoch == 1
