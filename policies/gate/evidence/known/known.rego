# METADATA
# title: The evidence that counts
# description: >-
#   a section that the bundle has a contract for counts only while it is young enough, was checked by whom the bundle
#   trusts and is signed where that is asked. Any other is unknown: it reads as if nothing stood in it. No finding;
#   compiled predicates read evidence here, so that a restricting control fires on the unknown and a permitting one
#   does not
package gate.evidence.known

import data.gate.router

# METADATA
# title: Each section as it counts
# description: a section without a contract counts as it is stated
section[name] := input.evidence[name] if some name in ((_stated - _governed) | accepted)

_stated contains name if some name, _ in input.evidence

_governed contains name if some name, _ in router.evidence_controls

# METADATA
# title: Sections with a contract that count
accepted := (fresh & trusted) & signed

# METADATA
# title: Sections that are stated and that the bundle has a contract for
contracted contains name if {
	some name, _ in router.evidence_controls
	input.evidence[name] != null
}

# METADATA
# title: Of these, those that say when they were checked
dated contains name if {
	some name in contracted
	is_number(input.now_ms)
	is_number(input.evidence[name].checked_at_ms)
}

# METADATA
# title: Of these, those that were not checked in the future
past contains name if {
	some name in dated
	input.evidence[name].checked_at_ms <= input.now_ms
}

# METADATA
# title: Of these, those that are young enough
fresh contains name if {
	some name in past
	limit := router.evidence_controls[name].max_age_ms
	is_number(limit)
	input.now_ms - input.evidence[name].checked_at_ms <= limit
}

# METADATA
# title: Sections that were checked by whom the bundle trusts
trusted contains name if {
	some name in contracted
	is_null(router.evidence_controls[name].checked_by)
}

trusted contains name if {
	some name in contracted
	input.evidence[name].checked_by in router.evidence_controls[name].checked_by
}

# METADATA
# title: Sections that are signed, or need not be
signed contains name if {
	some name in contracted
	is_null(router.evidence_controls[name].signature_keys)
}

signed contains name if {
	some name in contracted
	some key_id, _ in router.evidence_controls[name].signature_keys
	input.evidence[name].signed_by == key_id
}
