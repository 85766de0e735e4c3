# METADATA
# title: The pending actions of an envelope
# description: >-
#   each approval and effect that the envelope froze is compared with what the records say of it now, by its place. An
#   approval used up by the envelope's own claim, and an unknown effect resolved under its own key, are no change
package gate.continuity.action

import data.gate.continuity.rehydration
import data.gate.continuity.states
import data.gate.finding
import data.gate.router

findings contains finding.new("actions_unreadable", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	not _listed
}

findings contains finding.new("action_missing", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _all_there
}

findings contains finding.new("action_unrecorded", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _none_new
}

findings contains finding.new("capability_changed", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _same_capability
}

findings contains finding.new("capability_version_changed", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _same_capability_version
}

findings contains finding.new("approval_binding_changed", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _same_approval
}

findings contains finding.new("approval_expiry_changed", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _same_expiry
}

findings contains finding.new("action_digest_changed", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _same_digest
}

findings contains finding.new("idempotency_key_changed", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _same_key
}

findings contains finding.new("business_key_changed", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _same_business_key
}

findings contains finding.new("side_effect_status_changed", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _same_status
}

findings contains finding.new("approval_revoked", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _none_revoked
}

findings contains finding.new("approval_not_active", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _all_active
}

findings contains finding.new("approval_expired", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _none_expired
}

findings contains finding.new("side_effect_state_missing", "deny", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _effects_known
}

findings contains finding.new("unknown_side_effect", "blocked_on_reconciliation", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _none_unknown
}

findings contains finding.new("partial_side_effect", "blocked_on_reconciliation", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	_listed
	not _none_partial
}

findings contains finding.new("effect_in_flight", "blocked_on_reconciliation", "gate.continuity.action", "", "") if {
	rehydration.resuming
	rehydration.present
	not _none_in_flight
}

# METADATA
# title: The keys under which effects of unknown outcome must be reconciled
# scope: document
unresolved contains a.idempotency_key if {
	is_array(input.state.continuity.actions)
	some a in input.state.continuity.actions
	is_string(a.idempotency_key)
	a.side_effect_status in {"in_flight", "side_effect_unknown", "partial_side_effect"}
}

_now := input.state.continuity.actions

_listed if {
	is_array(input.envelope.actions)
	is_array(_now)
}

_all_there if {
	count(input.envelope.actions) <= count(_now)
	places := [i |
		a := input.envelope.actions[i]
		_recorded(a, _now[i])
	]
	_everywhere(places)
}

_recorded(_, now) if _stated(now.capability_name)

_none_new if count(_now) <= count(input.envelope.actions)

_same_capability if {
	places := [i |
		a := input.envelope.actions[i]
		_stated(a.capability_name)
		a.capability_name == _now[i].capability_name
	]
	_everywhere(places)
}

_same_capability_version if {
	places := [i |
		a := input.envelope.actions[i]
		_stated(a.capability_version)
		a.capability_version == _now[i].capability_version
		a.capability_version == router.catalog[a.capability_name].capability_version
	]
	_everywhere(places)
}

# null equals null: no approval then, and none now.
_same_approval if {
	places := [i |
		a := input.envelope.actions[i]
		_text_or_null(a.approval_id)
		a.approval_id == _now[i].approval_id
	]
	_everywhere(places)
}

_same_expiry if {
	places := [i |
		a := input.envelope.actions[i]
		a.approval_expires_at_ms == _now[i].approval_expires_at_ms
	]
	_everywhere(places)
}

_same_digest if {
	places := [i |
		a := input.envelope.actions[i]
		_stated(a.action_digest)
		a.action_digest == _now[i].action_digest
	]
	_everywhere(places)
}

_same_key if {
	places := [i |
		a := input.envelope.actions[i]
		_text_or_null(a.idempotency_key)
		a.idempotency_key == _now[i].idempotency_key
	]
	_everywhere(places)
}

_same_business_key if {
	places := [i |
		a := input.envelope.actions[i]
		_text_or_null(a.business_key_digest)
		a.business_key_digest == _now[i].business_key_digest
	]
	_everywhere(places)
}

_same_status if {
	places := [i |
		a := input.envelope.actions[i]
		_follows(a.side_effect_status, _now[i].side_effect_status)
	]
	_everywhere(places)
}

_follows(then, now) if {
	then in _known
	then == now
}

_follows(then, now) if {
	then in _unsettled
	now in {"side_effect_committed", "failed_before_effect"}
}

_follows(then, now) if {
	then in _unsettled
	now in _unsettled
}

_none_revoked if {
	places := [i |
		a := input.envelope.actions[i]
		_unrevoked(a, _now[i])
	]
	_everywhere(places)
}

_unrevoked(_, now) if is_null(now.approval_status)

_unrevoked(_, now) if now.approval_status in {"approved", "pending", "rejected", "expired", "consumed", "cancelled"}

_all_active if {
	places := [i |
		a := input.envelope.actions[i]
		_active(a, _now[i])
	]
	_everywhere(places)
}

_active(then, now) if {
	is_null(then.approval_id)
	is_null(now.approval_status)
}

# Their own findings say so.
_active(_, now) if now.approval_status in {"approved", "revoked"}

_active(then, now) if _used_up(then, now)

_none_expired if {
	places := [i |
		a := input.envelope.actions[i]
		_unexpired(a, _now[i])
	]
	_everywhere(places)
}

_unexpired(then, now) if {
	is_null(then.approval_id)
	is_null(then.approval_expires_at_ms)
	is_null(now.approval_expires_at_ms)
}

_unexpired(then, now) if _used_up(then, now)

_unexpired(then, now) if {
	is_number(input.now_ms)
	is_number(then.approval_expires_at_ms)
	is_number(now.approval_expires_at_ms)
	input.now_ms < then.approval_expires_at_ms
	input.now_ms < now.approval_expires_at_ms
}

# By the claim that the envelope itself holds.
_used_up(then, now) if {
	now.approval_status == "consumed"
	then.side_effect_status in {
		"in_flight", "side_effect_unknown", "partial_side_effect", "side_effect_committed", "failed_before_effect",
	}
}

_effects_known if {
	count([a | some a in _now; a.side_effect_status in _known]) == count(_now)
}

_none_unknown if {
	count([a | some a in _now; _not_unknown(a)]) == count(_now)
}

_not_unknown(a) if a.side_effect_status in states.resolved

_not_unknown(a) if a.side_effect_status == "partial_side_effect"

# A claim whose lease ran out may have acted before its owner vanished.
_not_unknown(a) if {
	a.side_effect_status == "in_flight"
	is_number(input.now_ms)
	is_number(a.lease_expires_at_ms)
	input.now_ms < a.lease_expires_at_ms
}

_none_partial if {
	count([a | some a in _now; a.side_effect_status in _not_partial]) == count(_now)
}

_not_partial := states.resolved | {"in_flight", "side_effect_unknown"}

_none_in_flight if input.state.continuity.in_flight == false

_known := states.resolved | _unsettled

_unsettled := {"in_flight", "side_effect_unknown", "partial_side_effect"}

_everywhere(places) if count(places) == count(input.envelope.actions)

_text_or_null(value) if is_null(value)

_text_or_null(value) if _stated(value)

_stated(value) if {
	is_string(value)
	trim_space(value) != ""
}
