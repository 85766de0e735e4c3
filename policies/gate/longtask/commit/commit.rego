# METADATA
# title: Whether an artifact and its checkpoint may be committed
# description: >-
#   the third of the six steps: exactly the frozen range, the digests computed from it now, the schema, the workspace,
#   an honest descent, and no call counted as done that has not returned
package gate.longtask.commit

import data.gate.finding
import data.gate.longtask.section

# METADATA
# title: Schemas of an artifact that this gate understands
schemas := {"1.0"}

findings contains finding.new("boundary_not_open", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not section.into_open_boundary
}

findings contains finding.new("compaction_run_mismatch", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _same_run
}

findings contains finding.new("checkpoint_artifact_mismatch", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _checkpoint_names_artifact
}

findings contains finding.new("artifact_rejected_schema", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _schema_known
}

findings contains finding.new("artifact_source_unverifiable", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _resolved
}

findings contains finding.new("artifact_source_range_mismatch", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _range_read
}

findings contains finding.new("artifact_source_digest_mismatch", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _source_same
}

findings contains finding.new("stale_event_cursor", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _at_frozen_cursor
}

findings contains finding.new("stale_artifact_workspace_digest", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _workspace_agreed
}

findings contains finding.new("stale_workspace_digest", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _workspace_current
}

findings contains finding.new("artifact_lineage_invalid", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _descends
}

findings contains finding.new("fork_artifact_unverified", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _in_namespace
}

findings contains finding.new("pending_call_counted_done", "deny", "gate.longtask.commit", "", "") if {
	section.committing
	not _pending_kept_pending
}

_lt := input.state.longtask

_same_run if {
	is_string(input.state.run.run_id)
	_lt.artifact.run_id == input.state.run.run_id
	_lt.checkpoint.run_id == input.state.run.run_id
}

_checkpoint_names_artifact if {
	is_string(_lt.artifact.artifact_id)
	_lt.checkpoint.artifact_id == _lt.artifact.artifact_id
	is_string(_lt.artifact.digest)
	_lt.checkpoint.artifact_digest == _lt.artifact.digest
}

_schema_known if _lt.artifact.schema_version in schemas

_resolved if _lt.source.resolved == true

_range_read if {
	_lt.source.same_run == true
	_lt.source.increasing == true
	_lt.source.sources_present == true
	is_number(_lt.source.first_sequence)
	is_number(_lt.source.last_sequence)
	_lt.artifact.first_sequence == _lt.source.first_sequence
	_lt.artifact.last_sequence == _lt.source.last_sequence
}

_source_same if {
	is_string(_lt.source.digest)
	_lt.artifact.source_digest == _lt.source.digest
}

_at_frozen_cursor if {
	is_number(_lt.frozen_cursor)
	_lt.checkpoint.event_cursor == _lt.frozen_cursor
	_lt.artifact.last_sequence == _lt.frozen_cursor
}

_workspace_agreed if {
	is_string(_lt.checkpoint.workspace_digest)
	_lt.artifact.workspace_digest == _lt.checkpoint.workspace_digest
}

_workspace_current if {
	is_string(_lt.workspace_digest)
	_lt.checkpoint.workspace_digest == _lt.workspace_digest
}

_descends if {
	is_null(_lt.parent)
	_lt.artifact.generation == 1
	_lt.artifact.direct_source == "event_log"
	is_null(_lt.artifact.parent_artifact_id)
}

# Made of the log again: the artifact before it was looked at, and is not what it was made of.
_descends if {
	_parent_sound
	_lt.artifact.generation == 1
	_lt.artifact.direct_source == "event_log"
	is_null(_lt.artifact.parent_artifact_id)
}

_descends if {
	_parent_sound
	_lt.artifact.direct_source == "artifact"
	_same_parent
	is_number(_lt.parent.generation)
	_lt.artifact.generation == _lt.parent.generation + 1
}

# The same generation in another schema.
_descends if {
	_parent_sound
	_lt.artifact.direct_source == "migration"
	_same_parent
	is_number(_lt.parent.generation)
	_lt.artifact.generation == _lt.parent.generation
}

_same_parent if {
	is_string(_lt.parent.artifact_id)
	_lt.artifact.parent_artifact_id == _lt.parent.artifact_id
	is_string(_lt.parent.digest)
	_lt.artifact.parent_digest == _lt.parent.digest
}

_parent_sound if _lt.parent.status in {"stored", "held"}

_in_namespace if {
	is_string(_lt.namespace)
	_lt.artifact.namespace == _lt.namespace
}

_pending_kept_pending if {
	is_array(_lt.pending_calls)
	is_array(_lt.checkpoint.completed_steps)
	count([c | some c in _lt.pending_calls; c in _done]) == 0
	count([c | some c in _lt.pending_calls; c == _lt.checkpoint.pending_step]) == count(_lt.pending_calls)
}

_done contains step if some step in _lt.checkpoint.completed_steps
