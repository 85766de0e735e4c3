# METADATA
# scope: subpackages
# schemas:
#   - input: schema.input
package gate

import data.gate.approval.audit
import data.gate.binding
import data.gate.compound.audit as compound_audit
import data.gate.constraint
import data.gate.continuity.advice as instead
import data.gate.evidence
import data.gate.oauth
import data.gate.obligation
import data.gate.router
import data.gate.trajectory.outcome
import data.gate.verdict

# METADATA
# title: The decision
# description: >-
#   always one complete object. Every finding is a reason and the strictest verdict wins; an allow needs a permitting
#   rule and no stricter finding. A guard that is not loaded leaves this undefined, which the gate refuses
# entrypoint: true
decision := {
	"verdict": verdict.verdict,
	"reasons": verdict.reasons,
	"obligations": obligation.obligations,
	"advice": array.concat(_instead, array.concat(_doubts, _advice)),
	"audit": {
		"request_id": _request_id,
		"checkpoint": _checkpoint,
		"operation": _operation,
		"trace_id": _trace_id,
		"bundle_id": _bundle_id,
		"bundle_version": _bundle_version,
		"release_identity": _release_identity,
		"contract_version": _contract_version,
		"capability": _capability,
		"controls": _controls,
		"approval": audit.kept,
		"credential_binding": _credential_binding,
		"oauth_scope": _oauth_scope,
		"trajectory": _trajectory,
		"compound_authorization": _compound,
	},
}

_doubts := [] if verdict.stranger

else := evidence.advice

_instead := [] if verdict.stranger

else := instead.advice

_advice := [{"type": "warn", "code": warning.code, "source": warning.source} |
	verdict.introduced
	some code in sort({w.code | some w in router.advice})
	some warning in router.advice
	warning.code == code
]

# Sorted by their names, which are unique at a checkpoint: the objects themselves are never compared.
_controls := [pair[1] |
	verdict.introduced
	some pair in sort([[control.policy_requirement, control] | some control in (router.controls | constraint.holding)])
]

default _credential_binding := null

_credential_binding := binding.kept if verdict.introduced

default _oauth_scope := null

_oauth_scope := oauth.kept if verdict.introduced

default _trajectory := null

_trajectory := outcome.kept if verdict.introduced

default _compound := null

_compound := compound_audit.kept if verdict.introduced

default _request_id := null

_request_id := input.request_id if is_string(input.request_id)

default _checkpoint := null

_checkpoint := input.checkpoint if is_string(input.checkpoint)

default _operation := null

_operation := input.operation if is_string(input.operation)

default _trace_id := null

_trace_id := input.trace.trace_id if is_string(input.trace.trace_id)

default _bundle_id := null

_bundle_id := router.bundle.bundle_id

default _bundle_version := null

_bundle_version := router.bundle.version

default _release_identity := null

_release_identity := router.bundle.release_identity

default _contract_version := null

_contract_version := router.bundle.contract_version

# A name that the catalog does not have is the model's invention and is not repeated.
default _capability := null

_capability := router.capability_name if {
	router.named
	verdict.introduced
}
