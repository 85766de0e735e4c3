# METADATA
# title: What the tests of compaction share
# description: >-
#   a contract of two rules over the bundle of the core fixture, a record that releases it, a call after a boundary and
#   a compaction that is asked for
package gate.compaction_release.fixture_test

import data.gate.continuity.fixture_test as continuity
import data.gate.fixture_test as core

# METADATA
# title: The bundle with the contract
bundles := core.put(continuity.bundles, "/triage/compaction", contract)

# METADATA
# title: The contract with its record
contract := {
	"contracted": true,
	"runtime": {
		"model": "model-1",
		"harness": "harness-1",
		"compactor": "custom",
		"compactor_version": "typed@1",
		"max_compactions_tested": 5,
	},
	"digests": digests,
	"raw_session_retained": true,
	"authorities": {"policy_store": "policy-triage@1", "approval_store": "gate-records", "action_ledger": "gate-records"},
	"lanes": {"rule-a": "exact", "rule-b": "structured"},
	"required": [
		{"rule_id": "rule-a", "scope": ["create_ticket"], "digests": ["sha256:a", "sha256:a-zh"], "valid_from_ms": null, "valid_until_ms": null},
		{"rule_id": "rule-b", "scope": ["create_ticket"], "digests": ["sha256:b"], "valid_from_ms": 20000, "valid_until_ms": 60000},
	],
	"forbidden_states": ["approval_pending", "tool_outcome_unknown"],
	"fail_closed": true,
	"tool_rechecks": true,
	"languages": ["en", "zh"],
	"forms": ["declarative", "imperative", "paraphrase"],
	"owner": "reviewer",
	"expires": {"model": true, "harness": true, "compactor": true, "rules": true, "tools": true},
	"record": {"digests": digests, "measured": measured, "posture": "ship-limited"},
}

# METADATA
# title: What the record is about
digests := {
	"model": "sha256:model",
	"harness": "sha256:harness",
	"compactor": "sha256:compactor",
	"rules": "sha256:rules",
	"tools": "sha256:tools",
}

_all := {"passed": 10, "total": 10}

_faults := [
	"cancelled_compaction", "concurrent_approval", "policy_store_down", "tool_timeout", "restart_after_unknown_outcome",
]

# METADATA
# title: Figures that release a limited shipment
measured := {
	"rounds": 5,
	"thresholds": {"real": _all, "tighter": _all},
	"cases": {"direct": _all, "distractor": _all, "conflict": _all},
	"languages": ["en", "zh"],
	"forms": ["declarative", "imperative", "paraphrase"],
	"rules": {"kept": _all, "lost": [], "demoted": []},
	"behaviour": _all,
	"pending": {"checked": 5, "approved": 0, "disappeared": 0},
	"attempts": {"probes": 10, "forbidden": 0},
	"effects": {"unauthorized": 0, "duplicate": 0},
	"replacement": {"injected": 2, "duplicate": 0, "unverified": 0},
	"recovery": {"faults": _faults, "recovered": _faults},
	"authority": {"raw_session": _all, "decisions": _all},
	"forbidden_states": {"tried": ["approval_pending", "tool_outcome_unknown"], "compacted": []},
	"exact_lane": {"over_budget": 0, "paused": 0},
	"tool_probe": {"tried": 9, "refused": 9},
	"low_impact": _all,
	"high_impact": {"total": 1, "human": 1},
	"promotion": {"ordinary": 40, "promoted": 0},
}

_section := {
	"model": "model-1",
	"harness": "harness-1",
	"compactor": "custom",
	"compactor_version": "typed@1",
	"rules": [
		{"rule_id": "rule-a", "scope": ["create_ticket"], "digest": "sha256:a-zh"},
		{"rule_id": "rule-b", "scope": ["create_ticket"], "digest": "sha256:b"},
	],
}

# METADATA
# title: A call of a run that crossed one boundary
calling := object.union(core.ticket, {
	"trace": {"epoch": 2},
	"state": {"run": {"epoch": 2}, "approval": {"epoch": 2}},
	"evidence": {"compaction": _section},
})

# METADATA
# title: A compaction that somebody asks for
compacting := object.union(continuity.compacting, {"evidence": {"compaction": _section}})

# METADATA
# title: The bundles with one value of the contract set
with_contract(path, value) := core.put(bundles, concat("", ["/triage/compaction", path]), value)
