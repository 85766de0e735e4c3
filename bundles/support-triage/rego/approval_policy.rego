# "What contracts leave out". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

# METADATA
# title: "Defaults of approval contracts"
# custom:
#   source: "approvals.yaml#/approvals"
approval_policy := {
	"default_reviewer": "manager",
	"max_wait_seconds": 1800,
	"require_principal_binding": true,
	"delegation_reviewer": "manager",
}
