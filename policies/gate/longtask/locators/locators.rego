# METADATA
# title: Whether the evidence is still what it was
# description: >-
#   each locator was read again. What is gone is to be made again, what changed is to be looked at again, what is
#   forbidden needs authorization: three findings, never one. A required one that does not match blocks
package gate.longtask.locators

import data.gate.finding
import data.gate.longtask.pair
import data.gate.longtask.section

findings contains finding.new("locator_missing", "deny", "gate.longtask.locators", "", "") if {
	_carrying
	not _none_missing
}

findings contains finding.new("locator_stale", "deny", "gate.longtask.locators", "", "") if {
	_carrying
	not _none_stale
}

findings contains finding.new("locator_denied", "deny", "gate.longtask.locators", "", "") if {
	_carrying
	not _none_denied
}

findings contains finding.new("locator_unresolved", "deny", "gate.longtask.locators", "", "") if {
	_carrying
	not _all_resolved
}

_carrying if section.committing

_carrying if pair.current

_none_missing if {
	is_array(_locators)
	count([l | some l in _locators; _other_than(l, "missing")]) == count(_locators)
}

_none_stale if {
	is_array(_locators)
	count([l | some l in _locators; _other_than(l, "stale")]) == count(_locators)
}

_none_denied if {
	is_array(_locators)
	count([l | some l in _locators; _other_than(l, "denied")]) == count(_locators)
}

# Whatever is not one of the four words was not resolved, and a locator that does not say is required.
_all_resolved if {
	is_array(_locators)
	count([l | some l in _locators; _resolved(l)]) == count(_locators)
}

_resolved(locator) if {
	locator.result in {"match", "missing", "stale", "denied"}
	is_string(locator.content_digest)
}

_other_than(locator, _) if locator.required == false

_other_than(locator, word) if object.get(locator, "result", null) != word

_locators := input.state.longtask.locators
