# "What contracts leave out". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

# METADATA
# title: "Defaults of approval contracts"
# custom:
#   source: "approvals.yaml#/approvals"
approval_policy := {
	"default_reviewer": "incident-commander",
	"max_wait_seconds": 900,
	"require_principal_binding": true,
}
