# "Agent support-triage-ref and its inventory". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

# METADATA
# title: "Agent support-triage-ref"
# custom:
#   source: "agent.yaml#/agent"
inventory := {
	"agent_id": "support-triage-ref",
	"display_name": "Support triage reference agent",
	"owner_team": "agent_platform",
	"runtime_principal": "svc-support-triage-ref",
	"approved": {"search_docs": true, "create_ticket": true},
}
