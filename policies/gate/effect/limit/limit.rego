# METADATA
# title: Limits and budgets
# description: >-
#   an effect runs only when everything it would spend fits into what the counters of its limits have left. The claim
#   compares each counter with the value that was read here, so two calls cannot both spend the same rest
package gate.effect.limit

import data.gate.effect
import data.gate.finding
import data.gate.router

# METADATA
# title: What the call would spend and cannot
# description: a call that no limit binds has nothing to count
raised := set() if router.limits == set()

else := findings

findings contains finding.new("limit_amount_invalid", "deny", "gate.effect.limit", "", "") if {
	_counted
	not _amounts_sound
}

findings contains finding.new("limit_counter_missing", "deny", "gate.effect.limit", "", "") if {
	_counted
	not _counters_read
}

findings contains finding.new("limit_exceeded", "deny", "gate.effect.limit", "", "") if {
	_counted
	_amounts_sound
	_counters_read
	not _all_fit
}

# METADATA
# title: What the claim must count
# description: sorted by name; one for each limit, or the call is refused
counters := [use |
	some name in sort({use.name | some use in _uses})
	some use in _uses
	use.name == name
]

# An effect that began holds what it spends already, and is refused or blocked by the effect guard whatever is left.
_counted if {
	effect.guarded
	not effect.begun
}

_amounts_sound if count(_sound) == count(router.limits)

_counters_read if count(_read) == count(router.limits)

_all_fit if count(_fitting) == count(router.limits)

# Whole numbers only: the linker wants the argument to be an integer, and its schema is checked by the capability guard.
_sound contains use.limit_id if {
	some use in router.limits
	is_number(use.amount)
	use.amount >= 1
}

_read contains use.limit_id if {
	some use in router.limits
	count(_counters_of(use)) == 1
}

_fitting contains use.limit_id if {
	some use in router.limits
	some counter in _counters_of(use)
	use.amount <= use.max - counter.value
}

_uses contains {"name": counter.name, "amount": use.amount, "limit": use.max, "read": counter.value} if {
	some use in router.limits
	some counter in _counters_of(use)
}

# What the records say of the limit for this very subject in the window that now is in.
_counters_of(use) := {counter |
	some counter in input.state.counters
	counter.limit_id == use.limit_id
	counter.per == use.per
	is_string(use.subject)
	counter.subject == use.subject
	_now_in_window(use.window, counter)
	is_string(counter.name)
	is_number(counter.value)
	counter.value >= 0
	is_number(counter.version)
}

_now_in_window("none", counter) if {
	is_null(counter.since_ms)
	is_null(counter.until_ms)
}

_now_in_window("day", counter) if {
	is_number(input.now_ms)
	is_number(counter.since_ms)
	is_number(counter.until_ms)
	counter.since_ms <= input.now_ms
	input.now_ms < counter.until_ms
	counter.until_ms - counter.since_ms == 86400000
}
