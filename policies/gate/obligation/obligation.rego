# METADATA
# title: What the gate must do with a decision
# description: >-
#   the gate discharges every obligation or refuses. Each is total in its fields, because an undefined field would
#   erase it; one that cannot be discharged (a null id, a lease of zero) is a refusal
package gate.obligation

import data.gate.approval
import data.gate.approval.record
import data.gate.approval.standing
import data.gate.capability
import data.gate.completion
import data.gate.compound
import data.gate.continuity.action
import data.gate.continuity.boundary
import data.gate.continuity.epoch
import data.gate.continuity.fork
import data.gate.continuity.handoff
import data.gate.continuity.rehydration
import data.gate.continuity.states
import data.gate.effect
import data.gate.effect.limit
import data.gate.longtask.section
import data.gate.oauth
import data.gate.router
import data.gate.transition
import data.gate.transition.lapse
import data.gate.verdict

# METADATA
# title: Every obligation of the decision
# description: a call that is allowed, and about which none of the rules below has anything to say, pays for one rule
obligations := [] if _nothing_to_do

else := array.concat(
	array.concat(array.concat(_for_approval, _for_effect), array.concat(_for_plan, _for_run)),
	array.concat(array.concat(_for_content, _for_result), _for_continuity),
)

_nothing_to_do if {
	verdict.verdict == "allow"
	capability.calling
	capability.approval_free
	capability.unclaimed
	router.redactions == set()
	not oauth.partial
	not completion.partial
}

# A call that needs none has no approval to move, and no transition is one: the plain case stands first, and is cheap.
_for_approval := [] if {
	verdict.verdict == "allow"
	capability.calling
	capability.approval_free
} else := [{
	"type": "request_approval",
	"capability": router.capability_name,
	"contract_id": _contract_id,
	"contract_digest": _contract_digest,
	"max_wait_seconds": _max_wait_seconds,
	"min_epoch": epoch.min_epoch,
}] if {
	verdict.verdict == "require_approval"
} else := [{
	"type": "consume_approval",
	"approval_id": _approval_id,
	"version": _approval_version,
	"standing_digest": _standing_digest,
	"max_uses": _max_uses,
}] if {
	verdict.verdict == "allow"
	approval.needed
	standing.stated
} else := [{"type": "consume_approval", "approval_id": _approval_id, "version": _approval_version}] if {
	verdict.verdict == "allow"
	approval.needed
} else := [{"type": "escalate_approval", "approval_id": _approval_id, "version": _approval_version}] if {
	verdict.verdict == "allow"
	lapse.escalates
} else := [{
	"type": "move_approval",
	"approval_id": _approval_id,
	"version": _approval_version,
	"to": transition.next_status,
}] if {
	verdict.verdict == "allow"
} else := []

_for_effect := [] if {
	capability.calling
	capability.unclaimed
} else := [object.union({"type": "claim_effect", "lease_seconds": _lease_seconds}, _counted)] if {
	verdict.verdict == "allow"
	effect.guarded
} else := [{"type": "return_receipt", "idempotency_key": _idempotency_key}] if {
	effect.replay
	_only_already_committed
} else := [{"type": "reconcile", "idempotency_key": _idempotency_key}] if {
	_blocked
} else := [{"type": "move_effect", "version": _effect_version, "to": transition.next_effect_status}] if {
	verdict.verdict == "allow"
} else := []

# A step that is refused ends the plan it belongs to; one that waits for a person does not.
_for_plan := [{"type": "stop_plan", "plan_ref": _plan_ref, "to": compound.stopped_as}] if {
	verdict.verdict in {"deny", "continuity_validation_failed", "blocked_on_reconciliation"}
	not verdict.stranger
	compound.stoppable
} else := []

_for_run := [] if {
	verdict.verdict == "allow"
	capability.calling
} else := [{"type": "end_run", "status": "cancelled"}] if {
	record.ends_run_on_expiry
	not verdict.stranger
} else := [{"type": "end_run", "status": "stopped"}] if {
	verdict.verdict == "allow"
	transition.stops_run
} else := [{"type": "end_run", "status": "cancelled"}] if {
	verdict.verdict == "allow"
	lapse.ends_run
} else := [{"type": "resume_run", "approval_id": _approval_id}] if {
	verdict.verdict == "allow"
	transition.resumes_run
} else := [{"type": "pause_run"}] if {
	verdict.verdict == "require_approval"
	router.contract.runtime_controls.while_pending == "pause_run"
} else := []

# One obligation for all controls, so that what is blanked does not depend on their order. It stands beside a
# request for approval too: what is approved is what will run, redacted.
_for_content := [{"type": "redact", "pointers": sort(_pointers)}] if {
	verdict.verdict in {"allow", "require_approval"}
	count(_pointers) > 0
} else := []

_for_continuity := [] if {
	capability.calling
} else := [{
	"type": "commit_artifact",
	"envelope_id": input.state.longtask.envelope_id,
	"artifact_id": input.state.longtask.artifact.artifact_id,
	"artifact_digest": input.state.longtask.artifact.digest,
	"checkpoint_id": input.state.longtask.checkpoint.checkpoint_id,
	"event_cursor": input.state.longtask.frozen_cursor,
}] if {
	section.committing
	verdict.verdict == "allow"
} else := [{
	"type": "write_boundary",
	"requested": boundary.requested,
	"forbidden_states": sort(states.observed),
}] if {
	boundary.crossing
	verdict.verdict == "allow"
} else := array.concat(
	[{
		"type": "resume_boundary",
		"envelope_id": input.envelope.envelope_id,
		"version": input.state.continuity.boundary.version,
		"epoch": input.envelope.epoch,
	}],
	_for_successor,
) if {
	rehydration.resuming
	verdict.verdict == "reauthorization_required"
} else := [{"type": "reconcile", "idempotency_key": key} | some key in sort(action.unresolved)] if {
	_at_boundary
	not verdict.stranger
} else := []

_for_successor := [{
	"type": "fork_run",
	"run_id": input.state.continuity.child.run_id,
	"session_id": input.state.continuity.child.session_id,
}] if {
	fork.forking
} else := [{"type": "hand_over_run", "agent_id": input.envelope.handoff_to.agent_id}] if {
	handoff.receiving
} else := []

_at_boundary if boundary.crossing

_at_boundary if rehydration.resuming

# Less was granted than asked for, or less done than was set out to: what comes of it is a part, and must say so.
_for_result := [{"type": "mark_partial", "refused_scopes": sort(oauth.refused)}] if {
	verdict.verdict == "allow"
	capability.calling
	oauth.partial
} else := [{"type": "mark_partial", "refused_scopes": []}] if {
	verdict.verdict == "allow"
	completion.partial
} else := []

_pointers contains pointer if {
	some redaction in router.redactions
	some pointer in redaction.pointers
}

# The receipt of the first execution goes only to a call that would be refused for nothing else.
_only_already_committed if {f.code | some f in verdict.shown; f.verdict != "allow"} == {"effect_already_committed"}

# Only where something is counted. The gate knows from the catalog how many there must be, and refuses otherwise.
default _counted := {}

_counted := {"counters": limit.counters} if count(limit.counters) > 0

default _lease_seconds := 0

_lease_seconds := router.capability.timeout_seconds if is_number(router.capability.timeout_seconds)

default _contract_id := null

_contract_id := router.contract.contract_id

default _contract_digest := null

_contract_digest := router.contract.contract_digest

default _max_wait_seconds := 0

_max_wait_seconds := router.contract.runtime_controls.max_wait_seconds if {
	is_number(router.contract.runtime_controls.max_wait_seconds)
	not standing.stated
}

_max_wait_seconds := router.contract.standing.valid_seconds if is_number(router.contract.standing.valid_seconds)

# Null where the record says nothing, which cannot be discharged.
default _standing_digest := null

_standing_digest := input.digests.standing_digest

_max_uses := router.contract.standing.max_uses

# Whatever else refuses the call, the effect must be reconciled.
_blocked if {
	effect.guarded
	some f in verdict.shown
	f.verdict == "blocked_on_reconciliation"
}

default _approval_id := null

_approval_id := input.state.approval.approval_id

default _approval_version := null

_approval_version := input.state.approval.version

default _plan_ref := null

_plan_ref := input.state.plan.plan_ref

default _idempotency_key := null

_idempotency_key := input.state.side_effect.idempotency_key

default _effect_version := null

_effect_version := input.state.side_effect.version
