# METADATA
# title: What evidence counts
# description: >-
#   a section that the bundle has a contract for counts only while it is young enough, was checked by whom the bundle
#   trusts and is signed where that is asked. Any other is unknown, and nothing is decided in anybody's favour on it:
#   it is a refusal of its own, so that no guard and no predicate can take what it says for a fact
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

findings contains finding.new("evidence_undated", "deny", "gate.evidence", "evidence.max_age_seconds", "policy.yaml#/policy/evidence") if {
	not _all_dated
}

findings contains finding.new("evidence_future_dated", "deny", "gate.evidence", "evidence.max_age_seconds", "policy.yaml#/policy/evidence") if {
	not _all_past
}

findings contains finding.new("evidence_stale", "deny", "gate.evidence", "evidence.max_age_seconds", "policy.yaml#/policy/evidence") if {
	not _all_fresh
}

findings contains finding.new("evidence_checker_untrusted", "deny", "gate.evidence", "evidence.checked_by", "policy.yaml#/policy/evidence") if {
	not _all_trusted
}

findings contains finding.new("evidence_unsigned", "deny", "gate.evidence", "evidence.signature_keys", "policy.yaml#/policy/evidence") if {
	not _all_signed
}

_all_dated if count(_contracted - _dated) == 0

_all_past if count(_dated - _past) == 0

_all_fresh if count(_past - _fresh) == 0

_all_trusted if count(_contracted - _trusted) == 0

_all_signed if count(_contracted - _signed) == 0

# METADATA
# title: Which section does not count, and why, for people
advice := [{"type": "warn", "code": pair[1], "source": pair[0]} | some pair in sort(_doubted)]

_doubted contains [concat("", ["policy.yaml#/policy/evidence/", section]), code] if {
	some code, sections in _doubts
	some section in sections
}

_doubts := {
	"evidence_undated": _contracted - _dated,
	"evidence_future_dated": _dated - _past,
	"evidence_stale": _past - _fresh,
	"evidence_checker_untrusted": _contracted - _trusted,
	"evidence_unsigned": _contracted - _signed,
}

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
