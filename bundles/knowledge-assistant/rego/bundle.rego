# METADATA
# title: "Bundle policy-knowledge-assistant-2026-04-07"
# description: "Compiled by `gate compile`; change the YAML, not this file."
package gate.bundles.knowledge_assistant

# METADATA
# title: "Envelope of the bundle"
# custom:
#   source: "bundle.yaml#/bundle"
bundle := {
	"bundle_id": "policy-knowledge-assistant-2026-04-07",
	"version": "2026.04.07",
	"owner_team": "knowledge-platform",
	"contract_version": "knowledge-contract-v2",
	"release_identity": "release-knowledge-assistant-2026-04-07-canary",
	"allow_network_access": ["none", "restricted", "brokered"],
	"memory_kinds": ["validated_fact", "document_summary"],
	"show_arguments": {"share_answer_externally": ["/document_id", "/recipient", "/answer"]},
	"change_id": "chg-2026-04-07-knowledge-retrieval",
}
