# METADATA
# title: What the audit keeps of a plan
# description: which principal, task and plan, every requirement with its decision, and one reason; no token, no argument
package gate.compound.audit

import data.gate.compound
import data.gate.router

# METADATA
# title: The record
# description: null outside a plan
kept := null if {
	count(object.keys(router.compound)) == 0
} else := {
	"principal_ref": _principal_ref,
	"task_ref": _task_ref,
	"plan_ref": _plan_ref,
	"plan_digest": _plan_digest,
	"policy_version": _policy_version,
	"requirements": _requirements,
	"decision": _decision,
	"reason": _reason,
}

default _principal_ref := null

_principal_ref := input.evidence.compound_authorization.principal_ref if is_string(input.evidence.compound_authorization.principal_ref)

default _task_ref := null

_task_ref := input.evidence.compound_authorization.task_ref if is_string(input.evidence.compound_authorization.task_ref)

default _plan_ref := null

_plan_ref := input.evidence.compound_authorization.plan_ref if is_string(input.evidence.compound_authorization.plan_ref)

default _plan_digest := null

_plan_digest := input.evidence.compound_authorization.plan_digest if is_string(input.evidence.compound_authorization.plan_digest)

default _policy_version := null

_policy_version := router.bundle.version

_requirements := [need |
	some stated in input.evidence.compound_authorization.requirements
	need := {
		"action": stated.action,
		"resource_ref": stated.resource_ref,
		"required_access": stated.required_access,
		"decision": stated.decision,
	}
]

_decision := "allow" if {
	count(compound.raised) == 0
} else := "deny"

_reason := "all_requirements_allowed" if {
	count(compound.raised) == 0
} else := _first(_named) if {
	count(_named) > 0
} else := _first({f.code | some f in compound.raised})

_first(words) := sorted[0] if sorted := sort(words)

# The bundle's own word for a lack, when the lack is one of access.
_named contains router.compound_policy.reasons[need.required_access] if {
	some need in _requirements
	need.decision != "allow"
}
