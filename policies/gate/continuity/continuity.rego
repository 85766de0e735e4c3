# METADATA
# title: Context continuity
# description: >-
#   what the guards of epochs, boundaries and resumption found, and what the gate must do when they found nothing. No
#   rule here, or anywhere, reads authority out of a summary
package gate.continuity

import data.gate.continuity.action
import data.gate.continuity.boundary
import data.gate.continuity.carried
import data.gate.continuity.epoch
import data.gate.continuity.fork
import data.gate.continuity.handoff
import data.gate.continuity.lineage
import data.gate.continuity.rehydration

# METADATA
# title: The findings of every guard of continuity
# description: a call pays for the guards of epochs and of what a fork inherits only
# scope: document
raised := union({
	epoch.findings,
	boundary.findings,
	rehydration.findings,
	lineage.findings,
	action.findings,
	carried.findings,
	fork.findings,
	handoff.findings,
}) if _at_boundary

else := epoch.raised | fork.findings

_at_boundary if boundary.crossing

_at_boundary if rehydration.resuming
