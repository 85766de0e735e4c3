# METADATA
# title: The section of a long task
# description: at which operation it stands for what; it says nothing anywhere else
package gate.longtask.section

import data.gate.finding

findings contains finding.new("longtask_phase_invalid", "deny", "gate.longtask.section", "", "") if {
	not _absent
	not _fits
}

# METADATA
# title: A pair is to be committed
# scope: document
committing if {
	input.operation == "compact"
	input.state.longtask.phase == "commit"
}

# METADATA
# title: A pair is to be rebuilt from
# scope: document
rehydrating if {
	input.operation == "rehydrate"
	input.state.longtask.phase == "rehydrate"
}

# METADATA
# title: The pair belongs to the boundary that is open in the run
# scope: document
into_open_boundary if {
	committing
	is_string(input.state.longtask.envelope_id)
	input.state.run.boundary.envelope_id == input.state.longtask.envelope_id
	input.state.run.boundary.status == "open"
}

_fits if committing

_fits if rehydrating

_absent if is_null(_section)

default _section := null

_section := input.state.longtask
