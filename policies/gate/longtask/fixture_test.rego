# METADATA
# title: What the tests of long tasks share
# description: a sound pair to commit and a sound pair to rebuild from, over the fixture of continuity
package gate.longtask.fixture_test

import data.gate.continuity.fixture_test as continuity
import data.gate.fixture_test as core

_items := [
	_item("goal", "goal", "task", 0),
	_item("signature", "constraints", "instruction", 2),
	_item("legacy", "open_issues", "fact", 0),
	object.union(_item("plan", "decisions", "fact", 0), {"required": false}),
	object.union(_item("next-intent", "next_intent", "task", 0), {"required": false}),
]

_item(key, group, kind, authority) := {
	"key": key,
	"group": group,
	"kind": kind,
	"authority_rank": authority,
	"trust_rank": 3,
	"secret": false,
	"required": true,
	"content_digest": concat("-", ["digest", key]),
	"sourced": true,
}

_checkpoint := {
	"run_id": "run-1",
	"checkpoint_id": "cp-1",
	"artifact_id": "art-1",
	"artifact_digest": "sha256:art",
	"event_cursor": 24,
	"workspace_digest": "workspace-1",
	"pending_step": "patch",
	"completed_steps": ["inspect"],
	"intact": true,
}

_artifact := {
	"run_id": "run-1",
	"artifact_id": "art-1",
	"digest": "sha256:art",
	"status": "stored",
	"namespace": "main",
	"schema_version": "1.0",
	"first_sequence": 1,
	"last_sequence": 24,
	"source_digest": "source",
	"workspace_digest": "workspace-1",
	"generation": 1,
	"direct_source": "event_log",
	"parent_artifact_id": null,
	"parent_digest": null,
	"items": _items,
}

_source := {
	"resolved": true,
	"same_run": true,
	"increasing": true,
	"first_sequence": 1,
	"last_sequence": 24,
	"sources_present": true,
	"digest": "source",
}

_locators := [
	{"locator_id": "loc-1", "required": true, "content_digest": "content-1", "result": "match"},
	{"locator_id": "loc-2", "required": false, "content_digest": "content-2", "result": "stale"},
]

# METADATA
# title: A pair that may be committed
committing := json.patch(continuity.compacting, [
	{"op": "add", "path": "/state/run/boundary", "value": {"envelope_id": "ce-1", "status": "open"}},
	{"op": "add", "path": "/state/longtask", "value": {
		"phase": "commit",
		"envelope_id": "ce-1",
		"namespace": "main",
		"checkpoint": _checkpoint,
		"artifact": _artifact,
		"source": _source,
		"frozen_cursor": 24,
		"workspace_digest": "workspace-1",
		"seed": {"required_keys": ["goal", "signature"]},
		"said": [object.union(i, {"highest_authority_rank": i.authority_rank}) | some i in _items],
		"parent": {"artifact_id": "art-0", "digest": "sha256:art-0", "status": "stored", "generation": 1, "items": _items},
		"verifications": [],
		"user_updates": [],
		"pending_calls": ["patch"],
		"locators": _locators,
		"drifts": [],
	}},
])

# METADATA
# title: A pair that may be rebuilt from
rehydrating := json.patch(continuity.resuming, [{"op": "add", "path": "/state/longtask", "value": {
	"phase": "rehydrate",
	"envelope_id": "ce-1",
	"namespace": "main",
	"checkpoint": _checkpoint,
	"artifact": _artifact,
	"source": _source,
	"workspace_digest": "workspace-1",
	"verifications": [],
	"user_updates": [],
	"locators": _locators,
	"live": [],
	"target": {"repository": "repo", "target_path": "src"},
	"config": {"repository": "repo", "target_path": "src"},
	"packet": {"budget_bytes": 100, "required_bytes": 100},
}}])

# METADATA
# title: A verification that closes the open issue
passed := {
	"key": "legacy",
	"event_id": "evt-30",
	"command": "run the tests",
	"result": "passed",
	"exit_status": 0,
	"workspace_digest": "workspace-1",
}

# METADATA
# title: The section of a document with some values set
puts(doc, values) := continuity.puts(doc, {concat("", ["/state/longtask", path]): value | some path, value in values})

# METADATA
# title: A live item under the key of the artifact's item with that place
live_of(place, changes) := object.union(
	object.union(object.remove(_items[place], ["group"]), {"group": null, "origin": "current_user"}),
	changes,
)

# METADATA
# title: Every field of the section broken in one way each
# description: by what was done; the field absent, then of the wrong type
broken(doc, path, values) := core.broken(doc, concat("", ["/state/longtask", path]), values)
