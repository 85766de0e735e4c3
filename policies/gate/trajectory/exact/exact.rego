# METADATA
# title: Exact amounts
# description: >-
#   an amount is whole units and millionths, each far below 2^53, so that no engine rounds it. Nothing is added up: what
#   is left of a limit is compared with what is asked
package gate.trajectory.exact

# METADATA
# title: The amount is a well-formed one
# description: at most 999999999999.999999, and not negative
sound(amount) if {
	is_number(amount.units)
	is_number(amount.micros)
	amount.units >= 0
	amount.units <= 999999999999
	amount.micros >= 0
	amount.micros <= 999999
}

# METADATA
# title: What is used and what is asked stay within the limit together
# description: reaching the limit is within it. All three must be sound
within(used, asked, limit) if {
	used.micros <= limit.micros
	_at_most(asked, limit.units - used.units, limit.micros - used.micros)
}

within(used, asked, limit) if {
	used.micros > limit.micros
	_at_most(asked, (limit.units - used.units) - 1, (limit.micros - used.micros) - -1000000)
}

_at_most(asked, units, _) if asked.units < units

_at_most(asked, units, micros) if {
	asked.units == units
	asked.micros <= micros
}
