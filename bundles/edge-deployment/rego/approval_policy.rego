# "What contracts leave out". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

# METADATA
# title: "Defaults of approval contracts"
# custom:
#   source: "approvals.yaml#/approvals"
approval_policy := {
	"default_reviewer": "release_manager",
	"max_wait_seconds": 1800,
}
