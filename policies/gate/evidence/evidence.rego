# METADATA
# title: Evidence that does not count
# description: >-
#   what a section says that is not dated, too old, from the future, checked by nobody trusted or unsigned is unknown.
#   A control that reads it treats it so (`gate.evidence.known`). Here a call is refused that cannot do without it:
#   where the bundle requires the section, and where a guard of the gate reads it
package gate.evidence

import data.gate.capability
import data.gate.evidence.known
import data.gate.finding
import data.gate.router

# METADATA
# title: The sections that do not count and that the call cannot do without
# description: a bundle without a contract for any section that is stated or required has nothing to hold them against
raised := set() if _uncontracted

else := findings

_uncontracted if {
	known.contracted == set()
	_required == set()
}

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

_all_dated if count(_needed & _doubts.evidence_undated) == 0

_all_past if count(_needed & _doubts.evidence_future_dated) == 0

_all_fresh if count(_needed & _doubts.evidence_stale) == 0

_all_trusted if count(_needed & _doubts.evidence_checker_untrusted) == 0

_all_signed if count(_needed & _doubts.evidence_unsigned) == 0

# Sections that guards of the gate read as they are stated; of any other only controls of a bundle read something.
_of_guards := {
	"approval_route",
	"authorization",
	"catalog_cache",
	"classifier",
	"compaction",
	"compound_authorization",
	"credential_binding",
	"destination",
	"handoff",
	"mcp",
	"oauth_scope",
	"sandbox",
	"session",
	"verifier",
	"worker_review",
}

_needed := _of_guards | _required

# METADATA
# title: Which section does not count, and why, for people
advice := [] if known.contracted == set()

else := [{"type": "warn", "code": pair[1], "source": pair[0]} | some pair in sort(_doubted)]

_doubted contains [concat("", ["policy.yaml#/policy/evidence/", section]), code] if {
	some code, sections in _doubts
	some section in sections
}

_doubts := {
	"evidence_undated": known.contracted - known.dated,
	"evidence_future_dated": known.dated - known.past,
	"evidence_stale": known.past - known.fresh,
	"evidence_checker_untrusted": known.contracted - known.trusted,
	"evidence_unsigned": known.contracted - known.signed,
}

_required_known if count(_required - known.accepted) == 0

_required contains section if {
	capability.calling
	some section, contract in router.evidence_controls
	router.capability_name in contract.required_for
}
