# METADATA
# title: What the tests of rules over history share
# description: a bundle with one rule of each kind, and a step that all of them let pass
package gate.trajectory.fixture_test

import data.gate.fixture_test as core

# METADATA
# title: The bundle with rules over the history of create_ticket
bundles := json.patch(core.bundles, [
	{"op": "add", "path": "/triage/trajectory", "value": {"create_ticket": {
		"policy_id": "policy",
		"policy_version": "1",
		"fingerprints": {"release": "/title"},
		"counters": {"spend": "/title"},
		"rules": ["bound", "limit", "first", "approved"],
		"scope": "create-ticket-manager",
	}}},
	{"op": "add", "path": "/triage/trajectory_rules", "value": {
		"bound": {"kind": "value_binding", "fingerprint_name": "release", "source": "trajectory.yaml#/r/0"},
		"limit": {
			"kind": "cumulative_limit", "counter_name": "spend",
			"limit": {"units": 25, "micros": 300000}, "source": "trajectory.yaml#/r/1",
		},
		"first": {"kind": "required_predecessor", "predecessor": "search_docs", "source": "trajectory.yaml#/r/2"},
		"approved": {
			"kind": "required_approval", "approval_scope": "create-ticket-manager",
			"source": "trajectory.yaml#/r/3",
		},
	}},
])

# METADATA
# title: A digest
digest := concat("", ["sha256:", concat("", ["0" | some _ in [0, 1, 2, 3, 4, 5, 6, 7]; some _ in [0, 1, 2, 3, 4, 5, 6, 7]])])

# METADATA
# title: Another digest
other := concat("", ["sha256:", concat("", ["1" | some _ in [0, 1, 2, 3, 4, 5, 6, 7]; some _ in [0, 1, 2, 3, 4, 5, 6, 7]])])

# METADATA
# title: An approval of this very step
record := {
	"approval_id": "apr-1", "scope": "create-ticket-manager",
	"request_fingerprint": digest, "state": "approved",
}

# METADATA
# title: A ticket write as the second step of its run
step := core.put(core.ticket, "/evidence/trajectory", {
	"request": {
		"action": "create_ticket",
		"tenant_id": "tenant-acme",
		"subject_id": "user-42",
		"expected_history_ref": "run-log:1",
		"expected_history_version": 2,
		"sequence_number": 2,
		"fingerprints": {"release": digest},
		"counters": {"spend": {"units": 0, "micros": 200000}},
		"window_id": "run-1",
		"request_fingerprint": digest,
	},
	"history": {
		"history_ref": "run-log:1",
		"history_version": 2,
		"tenant_id": "tenant-acme",
		"subject_id": "user-42",
		"policy_id": "policy",
		"policy_version": "1",
		"integrity": "verified",
		"status": "current",
		"observed_sequence": ["search_docs"],
		"completed_actions": ["search_docs"],
		"fingerprints": {"release": digest},
		"counters": {"spend": {"units": 25, "micros": 100000}},
		"window_id": "run-1",
		"window_state": "open",
		"approval_records": [record],
		"approval_state": "approved",
	},
})

# METADATA
# title: Place of a field of the request
request(field) := concat("", ["/evidence/trajectory/request", field])

# METADATA
# title: Place of a field of the history
history(field) := concat("", ["/evidence/trajectory/history", field])
