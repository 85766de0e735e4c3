# METADATA
# title: The capability asked for
# description: >-
#   facts about a capability come from the compiled catalog; what the gate computed from them must agree with what
#   is served. A capability that is not in the catalog is refused before anything else is said about it
package gate.capability

import data.gate.constraint
import data.gate.finding
import data.gate.router

# METADATA
# title: What is wrong with the call
# description: a call that is in order in every respect of the rules below pays for one rule
raised := set() if _in_order

else := findings

_in_order if {
	_catalogued_call
	_network_allowed
	_egress_stated
	_facts_current
	_arguments_valid
	_key_in_order
	_effect_identified
}

_key_in_order if _key_not_needed

_key_in_order if _key_stated

_effect_identified if unclaimed

_effect_identified if _identified

findings contains finding.new("capability_unknown", "deny", "cap_404", "", "") if {
	calling
	not router.named
}

findings contains finding.new("network_access_not_allowed", "deny", "cap_405", "", "") if {
	_catalogued_call
	not _network_allowed
}

findings contains finding.new("egress_policy_missing", "deny", "cap_406", "", "") if {
	_catalogued_call
	not _egress_stated
}

findings contains finding.new("facts_stale", "deny", "gate.capability", "", "") if {
	_catalogued_call
	not _facts_current
}

findings contains finding.new("arguments_invalid", "deny", "gate.capability", "", "") if {
	_catalogued_call
	not _arguments_valid
}

findings contains finding.new("idempotency_key_missing", "deny", "gate.capability", "", "") if {
	_catalogued_call
	not _key_in_order
}

findings contains finding.new("identifying_argument_missing", "deny", "gate.capability", "", "") if {
	_catalogued_call
	not _effect_identified
}

# METADATA
# title: A tool is being called
calling if input.operation == "call_tool"

calling if input.operation == "resume_tool"

# METADATA
# title: The call needs no claim in the ledger
# description: >-
#   the catalog says that it changes nothing and nobody has to approve it. Anything else is claimed like a write, so
#   that an approval is consumed by exactly one execution
unclaimed if {
	router.capability.mode == "read"
	router.capability.side_effect == "none"
	approval_free
}

# METADATA
# title: Nobody has to approve the call
# description: policy, catalog, controls and the user all say so; a capability of critical risk is never free
approval_free if {
	router.policy_decision in {"allow", "deny"}
	router.capability.approval == "none"
	router.capability.risk_tier in {"low", "medium", "high"}
	router.demands == set()
	constraint.approval_not_demanded
}

_catalogued_call if {
	calling
	router.catalogued
}

_network_allowed if router.capability.network_access in router.bundle.allow_network_access

_egress_stated if router.capability.network_access == "none"

_egress_stated if {
	is_array(router.capability.allowed_egress)
	count(router.capability.allowed_egress) > 0
}

_facts_current if {
	input.state.versions.bundle_version == router.bundle.version
	input.state.versions.release_identity == router.bundle.release_identity
	input.state.versions.capability_version == router.capability.capability_version
}

_arguments_valid if {
	input.evidence.arguments.valid == true
	input.evidence.arguments.schema_digest == router.capability.arguments_digest
	_is_digest(input.digests.action_digest)
	_is_digest(input.digests.intent_digest)
}

_key_not_needed if {
	unclaimed
	router.capability.idempotency_key_required == false
}

_key_stated if {
	is_string(input.request.idempotency_key)
	trim_space(input.request.idempotency_key) != ""
}

_is_digest(value) if {
	is_string(value)
	startswith(value, "sha256:")
}

_identified if input.evidence.arguments.identified == true
