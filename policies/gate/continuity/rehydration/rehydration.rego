# METADATA
# title: Whether an envelope may be resumed from
# description: >-
#   the envelope must be one that the gate wrote and sealed, bound to the summary that is presented, of this very epoch,
#   and not resumed before. Nothing of the summary itself is read
package gate.continuity.rehydration

import data.gate.finding
import data.gate.router

findings contains finding.new("envelope_missing", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	not present
}

findings contains finding.new("envelope_version_unsupported", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _version_known
}

findings contains finding.new("envelope_malformed", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _well_formed
}

findings contains finding.new("seal_invalid", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _sealed_by_gate
}

findings contains finding.new("summary_digest_mismatch", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _summary_bound
}

findings contains finding.new("boundary_mismatch", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _of_this_boundary
}

findings contains finding.new("boundary_state_unknown", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _status_known
}

findings contains finding.new("boundary_not_sealed", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _summary_sealed
}

findings contains finding.new("envelope_already_resumed", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _never_resumed
}

findings contains finding.new("boundary_abandoned", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _not_abandoned
}

findings contains finding.new("boundary_forbidden", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _written_where_permitted
}

findings contains finding.new("boundary_from_the_future", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _written_before_now
}

findings contains finding.new(
	"boundary_too_old", "deny", "gate.continuity.rehydration", "continuity.max_age_seconds",
	"continuity.yaml#/continuity/max_age_seconds",
) if {
	resuming
	present
	not _young_enough
}

findings contains finding.new(
	"boundary_limit_reached", "deny", "gate.continuity.rehydration", "continuity.max_boundaries",
	"continuity.yaml#/continuity/max_boundaries",
) if {
	resuming
	present
	not _within_limit
}

findings contains finding.new("epoch_absent", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	not _epochs_stated
}

findings contains finding.new("epoch_backwards", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	_epochs_stated
	not _not_backwards
}

findings contains finding.new("epoch_reused", "deny", "gate.continuity.rehydration", "", "") if {
	resuming
	present
	_epochs_stated
	not _not_reused
}

# METADATA
# title: A run is to be resumed
# scope: document
resuming if input.operation == "rehydrate"

# METADATA
# title: There is an envelope to resume from
present if {
	is_string(input.envelope.envelope_id)
	trim_space(input.envelope.envelope_id) != ""
}

_version_known if input.envelope.schema_version == "continuity-envelope/v1"

_well_formed if {
	input.envelope.requires_reauthorization == true
	input.envelope.requested in {true, false}
	is_null(input.envelope.form_problem)
	input.envelope.reset_reason in {
		"context_compaction", "context_reset", "process_recovery", "handoff", "fork",
	}
	is_array(input.envelope.evidence_refs)
	is_number(input.envelope.written_at_ms)
	_summary_well_formed
	_objective_well_formed
}

# Only what nobody could prepare for may come without a summary.
_summary_well_formed if {
	is_null(input.envelope.summary_sha256)
	input.envelope.reset_reason == "process_recovery"
}

_summary_well_formed if {
	is_string(input.envelope.summary_sha256)
	regex.match(_digest, input.envelope.summary_sha256)
}

_objective_well_formed if is_null(input.envelope.objective_sha256)

_objective_well_formed if {
	is_string(input.envelope.objective_sha256)
	regex.match(_digest, input.envelope.objective_sha256)
}

_digest := "^sha256:[0-9a-f]{64}$"

_sealed_by_gate if {
	is_string(input.envelope.seal.key_id)
	trim_space(input.envelope.seal.key_id) != ""
	input.envelope.seal.valid == true
}

# null equals null here: an envelope of a recovery and no summary.
_summary_bound if input.envelope.summary_sha256 == input.digests.summary_sha256

_of_this_boundary if {
	input.state.continuity.boundary.envelope_id == input.envelope.envelope_id
	input.state.continuity.boundary.written_at_ms == input.envelope.written_at_ms
	is_number(input.state.continuity.boundary.version)
}

_status_known if input.state.continuity.boundary.status in {"open", "sealed", "resumed", "abandoned"}

_summary_sealed if input.state.continuity.boundary.status in {"sealed", "resumed", "abandoned"}

_summary_sealed if {
	input.state.continuity.boundary.status == "open"
	input.envelope.reset_reason == "process_recovery"
}

_never_resumed if {
	input.state.continuity.boundary.status in {"open", "sealed", "abandoned"}
	is_null(input.state.continuity.boundary.resumed_by)
}

_not_abandoned if input.state.continuity.boundary.status in {"open", "sealed", "resumed"}

_written_where_permitted if {
	input.envelope.requested == true
	is_array(input.envelope.forbidden_states)
	count(input.envelope.forbidden_states) == 0
}

_written_where_permitted if {
	input.envelope.requested == false
	is_array(input.envelope.forbidden_states)
}

_written_before_now if {
	is_number(input.now_ms)
	is_number(input.envelope.written_at_ms)
	input.envelope.written_at_ms <= input.now_ms
}

_young_enough if is_null(router.continuity.max_age_ms)

_young_enough if {
	is_number(input.now_ms)
	is_number(input.envelope.written_at_ms)
	is_number(router.continuity.max_age_ms)
	input.now_ms - input.envelope.written_at_ms <= router.continuity.max_age_ms
}

_within_limit if is_null(router.continuity.max_boundaries)

_within_limit if {
	is_number(router.continuity.max_boundaries)
	is_number(input.state.continuity.boundary.count)
	input.state.continuity.boundary.count <= router.continuity.max_boundaries
}

_epochs_stated if {
	_counted(input.envelope.epoch)
	_counted(input.state.continuity.epoch)
	_counted(input.state.run.epoch)
	_host_epoch_readable
}

_counted(epoch) if {
	is_number(epoch)
	epoch >= 1
}

_host_epoch_readable if is_null(input.state.continuity.host.epoch)

_host_epoch_readable if _counted(input.state.continuity.host.epoch)

# Records restored from a copy fall behind what was written; a host of an earlier epoch falls behind the records.
_not_backwards if {
	input.envelope.epoch <= input.state.continuity.epoch
	input.state.run.epoch == input.state.continuity.epoch
	_host_agrees
}

_host_agrees if is_null(input.state.continuity.host.epoch)

_host_agrees if input.state.continuity.host.epoch == input.state.continuity.epoch

_not_reused if input.envelope.epoch >= input.state.continuity.epoch
