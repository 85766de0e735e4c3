# METADATA
# title: Verifier contracts
# description: >-
#   a verifier's verdict counts only under a contract the bundle trusts, for exactly this action, and never as an
#   approval. Where the bundle wants one for high risk, a call without it does not run
package gate.verifier

import data.gate.approval.cover
import data.gate.capability
import data.gate.finding
import data.gate.router

findings contains finding.new(
	"verifier_contract_missing", "deny", "gate.verifier", "verifiers.verifier_contract_required_for_high_risk",
	"runtime-controls.yaml#/runtime_controls/verifiers/verifier_contract_required_for_high_risk",
) if {
	capability.calling
	router.catalogued
	not verifier_settled
}

findings contains finding.new("verifier_not_passed", "deny", "gate.verifier", "", "") if {
	capability.calling
	not _unverified
	not _passed
}

findings contains finding.new(
	"verifier_contract_untrusted", "deny", "gate.verifier", "verifiers.trusted_verifier_contracts",
	"runtime-controls.yaml#/runtime_controls/verifiers/trusted_verifier_contracts",
) if {
	capability.calling
	not _unverified
	not _trusted
	not _untrusted_may_be_approved
}

findings contains finding.new(
	"verifier_contract_untrusted", "require_approval", "gate.verifier", "verifiers.on_untrusted_verifier_contract",
	"runtime-controls.yaml#/runtime_controls/verifiers/on_untrusted_verifier_contract",
) if {
	capability.calling
	not _unverified
	not _trusted
	_untrusted_may_be_approved
	not cover.covered
}

default _verifier := null

_verifier := input.evidence.verifier

_unverified if is_null(_verifier)

# METADATA
# title: No verifier is wanted, or one is stated
verifier_settled if router.call_controls.verifier_contract_required_for_high_risk == false

verifier_settled if router.capability.risk_tier in {"low", "medium"}

verifier_settled if is_string(input.evidence.verifier.contract)

_passed if {
	input.evidence.verifier.verdict == "passed"
	is_string(input.digests.action_digest)
	input.evidence.verifier.action_digest == input.digests.action_digest
}

_trusted if {
	input.evidence.verifier.contract in router.verifiers_controls.trusted_verifier_contracts
	_very_contract
}

# A bundle that states no contracts trusts by name alone.
_very_contract if count(object.keys(_contracts)) == 0

_very_contract if {
	is_string(input.evidence.verifier.signed_by)
	_contracts[input.evidence.verifier.contract].version == input.evidence.verifier.contract_version
	_contracts[input.evidence.verifier.contract].contract_digest == input.evidence.verifier.contract_digest
	_contracts[input.evidence.verifier.contract].key_id == input.evidence.verifier.signed_by
}

default _contracts := {}

_contracts := router.verifiers_controls.verifier_contracts

_untrusted_may_be_approved if router.verifiers_controls.on_untrusted_verifier_contract == "require_approval"
