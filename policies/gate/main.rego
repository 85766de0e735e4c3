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
import data.gate.identity
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
	"advice": _advice,
	"audit": object.union(_about, _kept),
} if {
	count(_decided) == 1
}

# Asked first and by itself: what the guards looked at is off the engine's stack before the rest is put together.
_decided contains verdict.verdict

_about := {
	"request_id": _told.request_id,
	"checkpoint": _told.checkpoint,
	"operation": _told.operation,
	"trace_id": _told.trace_id,
	"bundle_id": object.get(router.bundle, "bundle_id", null),
	"bundle_version": object.get(router.bundle, "version", null),
	"release_identity": object.get(router.bundle, "release_identity", null),
	"contract_version": object.get(router.bundle, "contract_version", null),
	"capability": _capability,
}

# What the guard of identities found in order is told as it stands; anything else only as far as it is text.
_told := {
	"request_id": input.request_id,
	"checkpoint": input.checkpoint,
	"operation": input.operation,
	"trace_id": input.trace.trace_id,
} if identity.in_order

else := {
	"request_id": _request_id,
	"checkpoint": _checkpoint,
	"operation": _operation,
	"trace_id": _trace_id,
}

# A guard that is not loaded leaves this undefined, and with it the decision.
_kept := {
	"controls": [],
	"approval": null,
	"credential_binding": null,
	"oauth_scope": null,
	"trajectory": null,
	"compound_authorization": null,
} if verdict.stranger

else := {
	"controls": _controls,
	"approval": audit.kept,
	"credential_binding": binding.kept,
	"oauth_scope": oauth.kept,
	"trajectory": outcome.kept,
	"compound_authorization": compound_audit.kept,
}

_advice := [] if verdict.stranger

else := array.concat(instead.advice, array.concat(evidence.advice, _warnings))

_warnings := [{"type": "warn", "code": warning.code, "source": warning.source} |
	some code in sort({w.code | some w in router.advice})
	some warning in router.advice
	warning.code == code
]

# Sorted by their names, which are unique at a checkpoint: the objects themselves are never compared.
_controls := [pair[1] |
	some pair in sort([[control.policy_requirement, control] | some control in (router.controls | constraint.holding)])
]

default _request_id := null

_request_id := input.request_id if is_string(input.request_id)

default _checkpoint := null

_checkpoint := input.checkpoint if is_string(input.checkpoint)

default _operation := null

_operation := input.operation if is_string(input.operation)

default _trace_id := null

_trace_id := input.trace.trace_id if is_string(input.trace.trace_id)

# A name that the catalog does not have is the model's invention and is not repeated.
default _capability := null

_capability := router.capability_name if {
	router.named
	not verdict.stranger
}
