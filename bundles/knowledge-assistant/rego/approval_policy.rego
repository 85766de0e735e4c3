# "What contracts leave out". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

# METADATA
# title: "Defaults of approval contracts"
# custom:
#   source: "approvals.yaml#/approvals"
approval_policy := {
	"default_reviewer": "knowledge-owner",
	"max_wait_seconds": 3600,
	"require_principal_binding": true,
	"delegation_reviewer": "knowledge-owner",
}
