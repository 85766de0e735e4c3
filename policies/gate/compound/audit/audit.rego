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
	router.compound == {}
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

_principal_ref := input.evidence.compound_authorization.principal_ref

default _task_ref := null

_task_ref := input.evidence.compound_authorization.task_ref

default _plan_ref := null

_plan_ref := input.evidence.compound_authorization.plan_ref

default _plan_digest := null

_plan_digest := input.evidence.compound_authorization.plan_digest

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

default _reason := "all_requirements_allowed"

_reason := _named[0] if {
	count(compound.raised) > 0
	count(_named) > 0
}

_reason := _codes[0] if {
	count(compound.raised) > 0
	count(_named) == 0
}

# As lists: what a builtin returned cannot be indexed in one of the engines.
_codes := [code | some code in sort({f.code | some f in compound.raised})]

# The bundle's own word for a lack, when the lack is one of access.
_named := [reason | some reason in sort(_reasons)]

_reasons := {reason |
	some need in _requirements
	need.decision != "allow"
	reason := router.compound_policy.reasons[need.required_access]
}
