# METADATA
# title: What the gate must do with a decision
# description: >-
#   the gate discharges every obligation or refuses. Each is total in its fields, because an undefined field would
#   erase it; one that cannot be discharged (a null id, a lease of zero) is a refusal
package gate.obligation

import data.gate.approval
import data.gate.capability
import data.gate.compound
import data.gate.effect
import data.gate.oauth
import data.gate.router
import data.gate.transition
import data.gate.verdict

# METADATA
# title: Every obligation of the decision
obligations := array.concat(
	array.concat(array.concat(_for_approval, _for_effect), array.concat(_for_plan, _for_run)),
	array.concat(_for_content, _for_result),
)

_for_approval := [{
	"type": "request_approval",
	"capability": router.capability_name,
	"contract_id": _contract_id,
	"contract_digest": _contract_digest,
	"max_wait_seconds": _max_wait_seconds,
}] if {
	verdict.verdict == "require_approval"
} else := [{"type": "consume_approval", "approval_id": _approval_id, "version": _approval_version}] if {
	verdict.verdict == "allow"
	approval.needed
} else := [{
	"type": "move_approval",
	"approval_id": _approval_id,
	"version": _approval_version,
	"to": transition.next_status,
}] if {
	verdict.verdict == "allow"
} else := []

_for_effect := [{"type": "claim_effect", "lease_seconds": _lease_seconds}] if {
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

_for_run := [{"type": "end_run", "status": "cancelled"}] if {
	approval.ends_run_on_expiry
	not verdict.stranger
} else := [{"type": "end_run", "status": "stopped"}] if {
	verdict.verdict == "allow"
	transition.stops_run
} else := []

# One obligation for all controls, so that what is blanked does not depend on their order. It stands beside a
# request for approval too: what is approved is what will run, redacted.
_for_content := [{"type": "redact", "pointers": sort(_pointers)}] if {
	verdict.verdict in {"allow", "require_approval"}
	count(_pointers) > 0
} else := []

# Less was granted than asked for, so what the call achieves may be a part of what was wanted, and must say so.
_for_result := [{"type": "mark_partial", "refused_scopes": sort(oauth.refused)}] if {
	verdict.verdict == "allow"
	capability.calling
	oauth.partial
} else := []

_pointers contains pointer if {
	some redaction in router.redactions
	some pointer in redaction.pointers
}

# The receipt of the first execution goes only to a call that would be refused for nothing else.
_only_already_committed if {f.code | some f in verdict.shown; f.verdict != "allow"} == {"effect_already_committed"}

default _lease_seconds := 0

_lease_seconds := router.capability.timeout_seconds if is_number(router.capability.timeout_seconds)

default _contract_id := null

_contract_id := router.contract.contract_id

default _contract_digest := null

_contract_digest := router.contract.contract_digest

default _max_wait_seconds := 0

_max_wait_seconds := router.contract.runtime_controls.max_wait_seconds if {
	is_number(router.contract.runtime_controls.max_wait_seconds)
}

# Whatever else refuses the call, the effect must be reconciled.
_blocked if {
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
