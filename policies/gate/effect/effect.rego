# METADATA
# title: The state of the side effect
# description: >-
#   a write runs only when the ledger says that nothing happened yet. Unknown, partial and in flight block until
#   somebody reconciles; no age turns them back into a go
package gate.effect

import data.gate.capability
import data.gate.finding
import data.gate.router

# METADATA
# title: What stands in the way of an effect
# description: a call that claims none has no state to look at
raised := set() if capability.unclaimed

else := findings

findings contains finding.new("side_effect_state_missing", "deny", "gate.effect", "", "") if {
	guarded
	not _status_known
}

findings contains finding.new("effect_in_flight", "blocked_on_reconciliation", "gate.effect", "", "") if {
	guarded
	_in_flight
	not _lease_ran_out
}

findings contains finding.new("unknown_side_effect", "blocked_on_reconciliation", "gate.effect", "", "") if {
	guarded
	unknown
}

findings contains finding.new("partial_side_effect", "blocked_on_reconciliation", "gate.effect", "", "") if {
	guarded
	partial
}

findings contains finding.new("effect_already_committed", "deny", "gate.effect", "", "") if {
	guarded
	_committed
}

findings contains finding.new("idempotency_conflict", "deny", "gate.effect", "", "") if {
	guarded
	not _key_free
}

# METADATA
# title: The call must claim an effect
guarded if {
	capability.calling
	router.catalogued
	not capability.unclaimed
}

# METADATA
# title: This very call already happened
# description: same business key, same idempotency key, same action digest; its first receipt is the answer
replay if {
	guarded
	_committed
	is_string(input.digests.action_digest)
	input.state.side_effect.action_digest == input.digests.action_digest
	input.state.side_effect.idempotency_key == input.request.idempotency_key
}

_status_known if input.state.side_effect.status in {
	"not_started", "in_flight", "side_effect_committed", "side_effect_unknown",
	"partial_side_effect", "failed_before_effect",
}

_in_flight if input.state.side_effect.status == "in_flight"

# METADATA
# title: The effect began, whatever became of it
begun if input.state.side_effect.status in {
	"in_flight", "side_effect_committed", "side_effect_unknown", "partial_side_effect",
}

# METADATA
# title: Nobody knows whether the effect happened
# description: an abandoned claim is an unknown effect, since the worker may have acted before it vanished
# scope: document
unknown if {
	_in_flight
	_lease_ran_out
}

unknown if input.state.side_effect.status == "side_effect_unknown"

# METADATA
# title: The effect happened in part
partial if input.state.side_effect.status == "partial_side_effect"

_committed if input.state.side_effect.status == "side_effect_committed"

_lease_ran_out if {
	is_number(input.now_ms)
	is_number(input.state.side_effect.lease_expires_at_ms)
	input.now_ms >= input.state.side_effect.lease_expires_at_ms
}

_key_free if {
	is_null(input.state.idempotency.idempotency_key)
	is_null(input.state.idempotency.action_digest)
}

_key_free if {
	is_string(input.digests.action_digest)
	is_string(input.request.idempotency_key)
	input.state.idempotency.idempotency_key == input.request.idempotency_key
	input.state.idempotency.action_digest == input.digests.action_digest
}
