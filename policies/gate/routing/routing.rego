# METADATA
# title: Who lets a call through
# description: >-
#   what a classifier's verdict, a delegate's word and a handoff between agents are worth. None of them is an
#   approval: they restrict, and where they do not suffice a person is asked
package gate.routing

import data.gate.approval.cover
import data.gate.approval.names
import data.gate.capability
import data.gate.finding
import data.gate.orchestration
import data.gate.router

findings contains finding.new(
	"approval_route_not_allowed", "require_approval", "gate.routing", "routing.approval_mode",
	"runtime-controls.yaml#/runtime_controls/routing/approval_mode",
) if {
	capability.calling
	not _unrouted
	not _route_accepted
	not cover.covered
}

findings contains finding.new(
	"approval_delegate_not_allowed", "require_approval", "gate.routing", "routing.approval_delegate",
	"runtime-controls.yaml#/runtime_controls/routing/approval_delegate",
) if {
	capability.calling
	not _undelegated
	not _delegate_accepted
	not cover.covered
}

findings contains finding.new(
	"classifier_refused", "deny", "gate.routing", "routing.classifier_verdict_policy",
	"runtime-controls.yaml#/runtime_controls/routing/classifier_verdict_policy",
) if {
	capability.calling
	not _unclassified
	not _classifier_tolerated
}

findings contains finding.new(
	"classifier_not_convinced", "require_approval", "gate.routing", "routing.classifier_verdict_policy",
	"runtime-controls.yaml#/runtime_controls/routing/classifier_verdict_policy",
) if {
	capability.calling
	not _unclassified
	not _classifier_settles
	not cover.covered
}

findings contains finding.new(
	"escalated_to_human", "require_approval", "gate.routing", "routing.escalate_to_human_if",
	"runtime-controls.yaml#/runtime_controls/routing/escalate_to_human_if",
) if {
	capability.calling
	not _nothing_escalates
	not cover.covered
}

findings contains finding.new(
	"handoff_not_allowed", "deny", "gate.routing", "routing.subagent_handoff_policy",
	"runtime-controls.yaml#/runtime_controls/routing/subagent_handoff_policy",
) if {
	capability.calling
	not _own_work
	not _handoff_accepted
}

findings contains finding.new(
	"handoff_needs_approval", "require_approval", "gate.routing", "routing.subagent_handoff_policy",
	"runtime-controls.yaml#/runtime_controls/routing/subagent_handoff_policy",
) if {
	capability.calling
	not _own_work
	not _handoff_settles
	not cover.covered
}

default _route := null

_route := input.evidence.approval_route

_unrouted if is_null(_route)

_route_accepted if input.evidence.approval_route.decided_by == "human"

_route_accepted if input.evidence.approval_route.decided_by in _routes[router.routing_controls.approval_mode]

_routes := {
	"human_or_delegate": {"delegate"},
	"human_or_classifier": {"classifier"},
	"human_delegate_or_classifier": {"delegate", "classifier"},
}

_undelegated if is_null(_route)

_undelegated if input.evidence.approval_route.decided_by in {"human", "classifier"}

# Who the delegate is comes from the host, what he may do from the governed reviewers.
_delegate_accepted if {
	is_string(input.evidence.approval_route.delegate_id)
	is_string(input.identity.principal_id)
	is_string(input.agent.agent_id)
	names.folded(input.evidence.approval_route.delegate_id) != names.folded(input.identity.principal_id)
	names.folded(input.evidence.approval_route.delegate_id) != names.folded(input.agent.agent_id)
	router.routing_controls.approval_delegate in router.reviewers[input.evidence.approval_route.delegate_id].roles
}

default _classifier := null

_classifier := input.evidence.classifier

_unclassified if {
	is_null(_classifier)
	_undecided_by_classifier
}

_undecided_by_classifier if is_null(_route)

_undecided_by_classifier if input.evidence.approval_route.decided_by in {"human", "delegate"}

_classifier_allows if {
	input.evidence.classifier.verdict == "allow"
	is_string(input.digests.action_digest)
	input.evidence.classifier.action_digest == input.digests.action_digest
}

_classifier_tolerated if _classifier_allows

_classifier_tolerated if router.routing_controls.classifier_verdict_policy == "escalate_unless_allow"

_classifier_tolerated if {
	router.routing_controls.classifier_verdict_policy == "refuse_on_deny"
	input.evidence.classifier.verdict in {"allow", "uncertain"}
}

_classifier_settles if _classifier_allows

_classifier_settles if router.routing_controls.classifier_verdict_policy in {"refuse_unless_allow", "refuse_on_deny"}

_nothing_escalates if {
	_classifier_calm
	_delegate_calm
	_handoff_calm
	_resume_calm
	_worker_calm
}

_classifier_calm if _unclassified

_classifier_calm if _classifier_allows

_classifier_calm if router.routing_controls.escalate_to_human_if.classifier_uncertain == false

_delegate_calm if _undelegated

_delegate_calm if router.routing_controls.escalate_to_human_if.delegate_decided == false

_handoff_calm if _own_work

_handoff_calm if router.routing_controls.escalate_to_human_if.handed_off == false

_resume_calm if input.operation == "call_tool"

_resume_calm if router.routing_controls.escalate_to_human_if.session_resumed == false

_worker_calm if orchestration.independent

_worker_calm if router.routing_controls.escalate_to_human_if.worker_agent == false

default _handoff := null

_handoff := input.evidence.handoff

_own_work if is_null(_handoff)

_handoff_accepted if {
	router.routing_controls.subagent_handoff_policy in {"explicit_binding", "explicit_binding_and_approval"}
	is_string(input.evidence.handoff.from_agent_id)
	is_string(input.evidence.handoff.to_agent_id)
	is_string(input.evidence.handoff.tenant_id)
	is_string(input.evidence.handoff.principal_id)
	input.evidence.handoff.to_agent_id == input.agent.agent_id
	input.evidence.handoff.tenant_id == input.identity.tenant_id
	input.evidence.handoff.principal_id == input.identity.principal_id
	input.evidence.handoff.delegated_scope == input.identity.delegated_scope
}

_handoff_settles if router.routing_controls.subagent_handoff_policy in {"refuse", "explicit_binding"}
