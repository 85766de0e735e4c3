# "Agent knowledge-assistant-ref and its inventory". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

# METADATA
# title: "Agent knowledge-assistant-ref"
# custom:
#   source: "agent.yaml#/agent"
inventory := {
	"agent_id": "knowledge-assistant-ref",
	"display_name": "Internal knowledge assistant",
	"owner_team": "knowledge-platform",
	"runtime_principal": "svc-knowledge-assistant-ref",
	"approved": {"search_knowledge": true, "read_document": true, "remember_fact": true, "share_answer_externally": true},
}
