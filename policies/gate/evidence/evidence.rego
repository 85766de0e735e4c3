# METADATA
# title: What evidence counts
# description: >-
#   a section that the bundle has a contract for counts only while it is young enough, was checked by whom the bundle
#   trusts and is signed where that is asked. Any other is unknown: every field of it is absent, for every guard and
#   predicate, and absence restricts
package gate.evidence

import data.gate.capability
import data.gate.finding
import data.gate.router

findings contains finding.new(
	"required_evidence_unknown", "deny", "gate.evidence", "evidence.required_for",
	"policy.yaml#/policy/evidence",
) if {
	capability.calling
	not _required_known
}

# METADATA
# title: Nothing that is stated has to count as unknown
all_known if count(_unknown) == 0

# METADATA
# title: The evidence as it counts
# description: an unknown section is an empty object rather than null, which would say that there is nothing to state
known := {section: value |
	some section, stated in input.evidence
	value := _counted(section, stated)
}

_counted(section, stated) := {} if section in _unknown

else := stated

# METADATA
# title: Why a section does not count, for people
advice := [{"type": "warn", "code": pair[1], "source": pair[0]} | some pair in sort(_doubted)]

_doubted contains [concat("", ["policy.yaml#/policy/evidence/", section]), code] if {
	some code, sections in _doubts
	some section in sections
}

_doubts := {
	"evidence_undated": _contracted - _dated,
	"evidence_future_dated": (_contracted & _dated) - _past,
	"evidence_stale": (_contracted & _past) - _fresh,
	"evidence_checker_untrusted": _contracted - _trusted,
	"evidence_unsigned": _contracted - _signed,
}

_unknown := _contracted - _accepted

_accepted := (_fresh & _trusted) & _signed

_required_known if count(_required - _accepted) == 0

_required contains section if {
	some section, contract in router.evidence_controls
	router.capability_name in contract.required_for
}

# Sections that are stated and that the bundle has a contract for.
_contracted contains section if {
	some section, _ in router.evidence_controls
	input.evidence[section] != null
}

_dated contains section if {
	some section in _contracted
	is_number(input.now_ms)
	is_number(input.evidence[section].checked_at_ms)
}

_past contains section if {
	some section in _dated
	input.evidence[section].checked_at_ms <= input.now_ms
}

_fresh contains section if {
	some section in _past
	limit := router.evidence_controls[section].max_age_ms
	is_number(limit)
	input.now_ms - input.evidence[section].checked_at_ms <= limit
}

_trusted contains section if {
	some section in _contracted
	is_null(router.evidence_controls[section].checked_by)
}

_trusted contains section if {
	some section in _contracted
	input.evidence[section].checked_by in router.evidence_controls[section].checked_by
}

_signed contains section if {
	some section in _contracted
	is_null(router.evidence_controls[section].signature_keys)
}

_signed contains section if {
	some section in _contracted
	some key_id, _ in router.evidence_controls[section].signature_keys
	input.evidence[section].signed_by == key_id
}
