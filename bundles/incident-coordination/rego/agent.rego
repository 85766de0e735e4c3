# "Agent incident-coordinator-ref and its inventory". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

# METADATA
# title: "Agent incident-coordinator-ref"
# custom:
#   source: "agent.yaml#/agent"
inventory := {
	"agent_id": "incident-coordinator-ref",
	"display_name": "Incident coordination agent",
	"owner_team": "reliability-platform",
	"runtime_principal": "svc-incident-coordinator-ref",
	"approved": {"read_runbook": true, "notify_responders": true, "notify_customers": true, "escalate_incident": true, "hand_over_incident": true, "run_remediation": true, "remember_lesson": true},
}
