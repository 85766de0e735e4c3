# METADATA
# title: Plans of several steps
# description: >-
#   a plan is authorized as a whole: every requirement that an adapter derived from it is allowed, now, within its task,
#   before the first step and again before each. What is unknown or denied for one step refuses all of them. Nothing here
#   promises that a finished step could be taken back
package gate.compound

import data.gate.capability
import data.gate.effect
import data.gate.finding
import data.gate.router

# METADATA
# title: The findings of a call that carries out a plan or is a step of one
# description: a call that already happened was judged then, and is answered with its receipt
raised := set() if _outside

else := set() if effect.replay

else := findings

# METADATA
# title: The running plan that this refusal stops
# description: only a plan that runs can be stopped, and a step that already happened is no reason to
stoppable if {
	not _outside
	not _not_a_step
	not effect.replay
	running
}

# METADATA
# title: What becomes of a plan that is stopped
# description: partial as soon as one step had an effect or may have had one
stopped_as := "failed_before_effect" if {
	input.state.plan.touched_steps == 0
} else := "partial_side_effect"

findings contains finding.new(
	"plan_evidence_missing", "deny", "gate.compound", "compound_authorization",
	"compound.yaml#/compound_authorization",
) if {
	capability.calling
	not _stated
}

findings contains finding.new(
	"plan_principal_mismatch", "deny", "gate.compound", "compound_authorization",
	"compound.yaml#/compound_authorization",
) if {
	capability.calling
	not _of_this_principal
}

findings contains finding.new(
	"plan_changed", "deny", "gate.compound", "compound_authorization",
	"compound.yaml#/compound_authorization",
) if {
	capability.calling
	not _unchanged
}

findings contains finding.new(
	"plan_arguments_mismatch", "deny", "gate.compound", "compound_authorization.plans",
	"compound.yaml#/compound_authorization/plans",
) if {
	capability.calling
	not _not_a_plan
	not _asked_as_recorded
}

findings contains finding.new(
	"plan_adapter_untrusted", "deny", "gate.compound", "compound_authorization.adapters",
	"compound.yaml#/compound_authorization/adapters",
) if {
	capability.calling
	not _adapter_trusted
}

findings contains finding.new(
	"plan_rights_stale", "deny", "gate.compound", "compound_authorization.max_age_seconds",
	"compound.yaml#/compound_authorization/max_age_seconds",
) if {
	capability.calling
	not _fresh
}

findings contains finding.new(
	"plan_step_not_allowed", "deny", "gate.compound", "compound_authorization.plans",
	"compound.yaml#/compound_authorization/plans",
) if {
	capability.calling
	not _steps_allowed
}

findings contains finding.new(
	"plan_requirements_incomplete", "deny", "gate.compound", "compound_authorization",
	"compound.yaml#/compound_authorization",
) if {
	capability.calling
	not _complete
}

findings contains finding.new(
	"plan_requirement_denied", "deny", "gate.compound", "compound_authorization",
	"compound.yaml#/compound_authorization",
) if {
	capability.calling
	not _none_denied
}

findings contains finding.new(
	"plan_requirement_unknown", "deny", "gate.compound", "compound_authorization",
	"compound.yaml#/compound_authorization",
) if {
	capability.calling
	not _all_known
}

findings contains finding.new(
	"plan_out_of_task", "deny", "gate.compound", "compound_authorization.tasks",
	"compound.yaml#/compound_authorization/tasks",
) if {
	capability.calling
	not _within_task
}

findings contains finding.new(
	"plan_not_running", "deny", "gate.compound", "compound_authorization.plans",
	"compound.yaml#/compound_authorization/plans",
) if {
	capability.calling
	not _not_a_step
	not running
}

findings contains finding.new(
	"plan_step_mismatch", "deny", "gate.compound", "compound_authorization.plans",
	"compound.yaml#/compound_authorization/plans",
) if {
	capability.calling
	not _not_a_step
	not _step_as_planned
}

findings contains finding.new(
	"plan_step_out_of_order", "deny", "gate.compound", "compound_authorization.plans",
	"compound.yaml#/compound_authorization/plans",
) if {
	capability.calling
	not _not_a_step
	not _next_in_order
}

_outside if router.compound == {}

# Each says what the capability is not: a role that nobody knows has the duties of both.
_not_a_step if router.compound.role == "plan"

_not_a_plan if router.compound.role == "step"

_stated if {
	is_string(input.evidence.compound_authorization.plan_ref)
	is_string(input.evidence.compound_authorization.plan_digest)
	is_string(input.evidence.compound_authorization.task_ref)
	is_array(input.evidence.compound_authorization.steps)
	is_array(input.evidence.compound_authorization.requirements)
}

_of_this_principal if {
	is_string(input.identity.principal_id)
	input.evidence.compound_authorization.principal_ref == input.identity.principal_id
	input.evidence.compound_authorization.tenant_ref == input.identity.tenant_id
	input.state.plan.principal_id == input.identity.principal_id
	input.state.plan.run_id == input.trace.run_id
}

_unchanged if {
	_stated
	input.state.plan.plan_ref == input.evidence.compound_authorization.plan_ref
	input.state.plan.plan_digest == input.evidence.compound_authorization.plan_digest
	input.state.plan.task_ref == input.evidence.compound_authorization.task_ref
}

# What a reviewer approves is the digest of the whole plan.
_asked_as_recorded if {
	_stated
	input.request.arguments.plan_ref == input.evidence.compound_authorization.plan_ref
	input.request.arguments.plan_digest == input.evidence.compound_authorization.plan_digest
	input.request.arguments.task_ref == input.evidence.compound_authorization.task_ref
}

_adapter_trusted if input.evidence.compound_authorization.adapter in router.compound_policy.adapters

_fresh if {
	is_number(input.now_ms)
	is_number(input.evidence.compound_authorization.checked_at_ms)
	is_number(router.compound_policy.max_age_ms)
	input.now_ms - input.evidence.compound_authorization.checked_at_ms >= 0
	input.now_ms - input.evidence.compound_authorization.checked_at_ms <= router.compound_policy.max_age_ms
}

_steps_allowed if {
	count(_steps) > 0
	count(_steps) == count([step | some step in _steps; step.capability in router.compound.steps])
}

# A step that needs nothing is a step whose needs nobody derived.
_complete if {
	count(_steps) > 0
	count(_steps) == count({need.step | some need in _requirements; is_string(_steps[need.step].capability)})
	count(_requirements) == count([need |
		some need in _requirements
		is_string(need.action)
		is_string(need.resource_ref)
		is_string(need.required_access)
	])
}

_none_denied if count(_requirements) == count([need |
	some need in _requirements
	need.decision in {"allow", "unknown", "unavailable"}
])

_all_known if {
	count(_requirements) > 0
	count(_requirements) == count([need | some need in _requirements; need.decision in {"allow", "deny"}])
}

_within_task if {
	count(_requirements) > 0
	count(_requirements) == count([need |
		some need in _requirements
		need.action in _task.actions
		need.resource_ref in _task.resources
	])
}

default _steps := []

_steps := input.evidence.compound_authorization.steps if is_array(input.evidence.compound_authorization.steps)

default _requirements := []

_requirements := input.evidence.compound_authorization.requirements if {
	is_array(input.evidence.compound_authorization.requirements)
}

default _task := {}

_task := router.compound_tasks[input.evidence.compound_authorization.task_ref]

# METADATA
# title: The plan is being carried out
running if {
	input.state.plan.status == "in_flight"
	is_number(input.now_ms)
	is_number(input.state.plan.lease_expires_at_ms)
	input.now_ms < input.state.plan.lease_expires_at_ms
}

_step_as_planned if {
	is_string(input.digests.arguments)
	_steps[input.state.plan.step].capability == router.capability_name
	_steps[input.state.plan.step].arguments == input.digests.arguments
	_steps[input.state.plan.step].resource == input.request.resource
}

_next_in_order if {
	is_number(input.state.plan.step)
	input.state.plan.step == input.state.plan.completed_steps
	input.state.plan.touched_steps == input.state.plan.completed_steps
}
