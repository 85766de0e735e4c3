# METADATA
# title: What to do instead of a boundary that is refused
# description: >-
#   a context that is full in a forbidden state still has ways out. None of them permits anything, and which of them is
#   taken is the host's business
package gate.continuity.advice

import data.gate.continuity.boundary
import data.gate.continuity.states

# METADATA
# title: The ways out, the cheapest first
# scope: document
advice := [] if not _refused

else := [{"type": "instead", "code": code, "source": "gate.continuity.boundary"} | some code in _ways; code in _open]

_refused if {
	boundary.requested == true
	count(states.observed) > 0
}

_ways := ["drop_tool_noise", "save_checkpoint", "ask_for_budget", "stop_before_next_action"]

_open := {"drop_tool_noise", "ask_for_budget", "stop_before_next_action"} if _saved

else := {"drop_tool_noise", "save_checkpoint", "ask_for_budget", "stop_before_next_action"}

# A checkpoint that is there, with nothing of the user or the sandbox left out of it.
_saved if {
	is_string(input.state.continuity.checkpoint_ref)
	trim_space(input.state.continuity.checkpoint_ref) != ""
	states.corrections_durable
	states.sandbox_acceptable
}
