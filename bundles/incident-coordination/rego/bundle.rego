# METADATA
# title: "Bundle policy-incident-coordination-2026-04-07"
# description: "Compiled by `gate compile`; change the YAML, not this file."
package gate.bundles.incident_coordination

# METADATA
# title: "Envelope of the bundle"
# custom:
#   source: "bundle.yaml#/bundle"
bundle := {
	"bundle_id": "policy-incident-coordination-2026-04-07",
	"version": "2026.04.07",
	"owner_team": "reliability-platform",
	"contract_version": "incident-contract-v2",
	"release_identity": "release-incident-coordination-2026-04-07-canary",
	"allow_network_access": ["none", "restricted", "brokered"],
	"memory_kinds": ["post_incident_lesson"],
	"show_arguments": {"run_remediation": ["/incident_id", "/runbook_id", "/service", "/blast_radius"], "notify_customers": ["/incident_id", "/milestone", "/severity", "/message"], "hand_over_incident": ["/incident_id", "/new_owner"]},
	"change_id": "chg-2026-04-07-incident-ownership",
}
