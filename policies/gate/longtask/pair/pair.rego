# METADATA
# title: Whether a committed pair may be rebuilt from
# description: >-
#   in one fixed order, and only the first thing that is wrong is named: run, artifact, schema, source, cursor,
#   workspace, configuration. Nothing is built before this
package gate.longtask.pair

import data.gate.finding
import data.gate.longtask.commit
import data.gate.longtask.section

findings contains finding.new("checkpoint_run_mismatch", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	section.rehydrating
	not _runs_same
}

findings contains finding.new("checkpoint_artifact_mismatch", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	section.rehydrating
	_runs_same
	not _pair_whole
}

findings contains finding.new("artifact_rejected_schema", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_pair
	not _schema_known
}

findings contains finding.new("artifact_rejected_source_digest", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_schema
	not _source_named
}

findings contains finding.new("artifact_source_unverifiable", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_named
	not _resolved
}

findings contains finding.new("artifact_source_range_mismatch", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_resolved
	not _range_read
}

findings contains finding.new("artifact_source_digest_mismatch", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_range
	not _source_same
}

findings contains finding.new("stale_event_cursor", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_source
	not _cursor_at_end
}

findings contains finding.new("stale_artifact_workspace_digest", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_cursor
	not _workspace_agreed
}

findings contains finding.new("stale_workspace_digest", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_agreed
	not _workspace_current
}

findings contains finding.new("rehydration_config_mismatch", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_workspace
	not _configured
}

findings contains finding.new("artifact_tainted", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_pair
	not _clean
}

findings contains finding.new("fork_artifact_unverified", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	_upto_pair
	not _in_namespace
}

findings contains finding.new("packet_budget_too_small", "continuity_validation_failed", "gate.longtask.pair", "", "") if {
	current
	not _fits
}

# METADATA
# title: The pair is whole and the world is as it left it
# scope: document
current if _upto_workspace

_lt := input.state.longtask

_runs_same if {
	is_string(input.state.run.run_id)
	_lt.checkpoint.run_id == input.state.run.run_id
	_lt.artifact.run_id == input.state.run.run_id
}

_pair_whole if {
	_lt.checkpoint.intact == true
	is_string(_lt.checkpoint.artifact_id)
	_lt.artifact.artifact_id == _lt.checkpoint.artifact_id
	is_string(_lt.artifact.digest)
	_lt.artifact.digest == _lt.checkpoint.artifact_digest
}

_upto_pair if {
	section.rehydrating
	_runs_same
	_pair_whole
}

_schema_known if _lt.artifact.schema_version in commit.schemas

_upto_schema if {
	_upto_pair
	_schema_known
}

_source_named if {
	is_string(_lt.artifact.source_digest)
	trim_space(_lt.artifact.source_digest) != ""
}

_upto_named if {
	_upto_schema
	_source_named
}

_resolved if _lt.source.resolved == true

_upto_resolved if {
	_upto_named
	_resolved
}

_range_read if {
	_lt.source.same_run == true
	_lt.source.increasing == true
	_lt.source.sources_present == true
	is_number(_lt.source.first_sequence)
	is_number(_lt.source.last_sequence)
	_lt.source.first_sequence == _lt.artifact.first_sequence
	_lt.source.last_sequence == _lt.artifact.last_sequence
}

_upto_range if {
	_upto_resolved
	_range_read
}

_source_same if _lt.source.digest == _lt.artifact.source_digest

_upto_source if {
	_upto_range
	_source_same
}

_cursor_at_end if _lt.checkpoint.event_cursor == _lt.artifact.last_sequence

_upto_cursor if {
	_upto_source
	_cursor_at_end
}

_workspace_agreed if {
	is_string(_lt.checkpoint.workspace_digest)
	_lt.artifact.workspace_digest == _lt.checkpoint.workspace_digest
}

_upto_agreed if {
	_upto_cursor
	_workspace_agreed
}

_workspace_current if {
	is_string(_lt.workspace_digest)
	_lt.workspace_digest == _lt.checkpoint.workspace_digest
}

_upto_workspace if {
	_upto_agreed
	_workspace_current
}

_configured if {
	is_string(_lt.target.repository)
	is_string(_lt.target.target_path)
	_lt.config.repository == _lt.target.repository
	_lt.config.target_path == _lt.target.target_path
}

_clean if _lt.artifact.status in {"stored", "held"}

_in_namespace if {
	is_string(_lt.namespace)
	_lt.artifact.namespace == _lt.namespace
}

_fits if {
	is_number(_lt.packet.budget_bytes)
	is_number(_lt.packet.required_bytes)
	_lt.packet.required_bytes <= _lt.packet.budget_bytes
}
