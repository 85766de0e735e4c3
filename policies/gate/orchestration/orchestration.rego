# METADATA
# title: Orchestration patterns and workers
# description: >-
#   through which patterns a capability may be called, and what a worker that another agent delegated to may do: in
#   whose authority, with which capabilities, and after whose review. A worker is whoever is not known to be none
package gate.orchestration

import data.gate.capability
import data.gate.finding
import data.gate.router

findings contains finding.new(
	"orchestration_pattern_not_allowed", "deny", "gate.orchestration", "orchestration.allowed_orchestration_patterns",
	"runtime-controls.yaml#/runtime_controls/orchestration/allowed_orchestration_patterns",
) if {
	input.checkpoint == "tool_execution"
	not _single
	not _pattern_allowed
}

findings contains finding.new(
	"orchestration_pattern_disallowed", "deny", "gate.orchestration", "orchestration.disallowed_orchestration_patterns",
	"runtime-controls.yaml#/runtime_controls/orchestration/disallowed_orchestration_patterns",
) if {
	input.checkpoint == "tool_execution"
	not _single
	not _pattern_open
}

findings contains finding.new(
	"worker_authority_not_inherited", "deny", "gate.orchestration", "orchestration.worker_inheritance_policy",
	"runtime-controls.yaml#/runtime_controls/orchestration/worker_inheritance_policy",
) if {
	capability.calling
	not independent
	not _authority_held
}

findings contains finding.new(
	"worker_capability_not_allowed", "deny", "gate.orchestration", "orchestration.worker_capability_subset",
	"runtime-controls.yaml#/runtime_controls/orchestration/worker_capability_subset",
) if {
	capability.calling
	not independent
	not _in_subset
}

findings contains finding.new(
	"worker_write_not_reviewed", "deny", "gate.orchestration", "orchestration.review_required_before_worker_write",
	"runtime-controls.yaml#/runtime_controls/orchestration/review_required_before_worker_write",
) if {
	capability.calling
	not independent
	not _review_settled
}

# METADATA
# title: The agent is known not to be a worker
# description: no parent is stated, its role is another, and its pattern has no workers unless the role says otherwise
independent if {
	is_null(_parent)
	input.agent.role in {"agent", "orchestrator"}
}

independent if {
	is_null(_parent)
	is_null(_role)
	_workerless
}

default _pattern := null

_pattern := input.agent.orchestration_pattern

default _parent := null

_parent := input.agent.parent_agent_id

default _role := null

_role := input.agent.role

_single if is_null(_pattern)

_single if input.agent.orchestration_pattern == "single_agent"

_workerless if _single

_workerless if input.agent.orchestration_pattern in {
	"prompt_chaining", "routing", "parallelization", "evaluator_optimizer",
}

_pattern_allowed if {
	input.agent.orchestration_pattern in router.orchestration_controls.allowed_orchestration_patterns
}

default _disallowed := {}

_disallowed := router.orchestration_controls.disallowed_orchestration_patterns

_pattern_open if {
	is_string(input.agent.orchestration_pattern)
	refused := object.get(_disallowed, router.capability_name, [])
	count([pattern | some pattern in refused; pattern == input.agent.orchestration_pattern]) == 0
}

_authority_held if {
	input.identity.authorization_mode == "platform_owned"
	capability.approval_free
}

_authority_held if {
	router.orchestration_controls.worker_inheritance_policy == "explicit_only"
	is_string(input.evidence.handoff.from_agent_id)
	is_string(input.evidence.handoff.principal_id)
	input.evidence.handoff.from_agent_id == input.agent.parent_agent_id
	input.evidence.handoff.to_agent_id == input.agent.agent_id
	input.evidence.handoff.principal_id == input.identity.principal_id
	input.evidence.handoff.delegated_scope == input.identity.delegated_scope
}

_authority_held if {
	router.orchestration_controls.worker_inheritance_policy == "same_run"
	is_string(input.agent.parent_agent_id)
	is_string(input.trace.run_id)
	input.state.run.run_id == input.trace.run_id
}

_in_subset if router.capability_name in router.orchestration_controls.worker_capability_subset

_review_settled if capability.unclaimed

_review_settled if router.orchestration_controls.review_required_before_worker_write == false

_review_settled if {
	input.evidence.worker_review.verdict == "passed"
	is_string(input.digests.action_digest)
	input.evidence.worker_review.action_digest == input.digests.action_digest
	is_string(input.evidence.worker_review.reviewer_id)
	trim_space(input.evidence.worker_review.reviewer_id) != ""
	input.evidence.worker_review.reviewer_id != input.agent.agent_id
}
