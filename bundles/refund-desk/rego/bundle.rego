# METADATA
# title: "Bundle policy-refund-desk-2026-06-01"
# description: "Compiled by `gate compile`; change the YAML, not this file."
package gate.bundles.refund_desk

# METADATA
# title: "Envelope of the bundle"
# custom:
#   source: "bundle.yaml#/bundle"
bundle := {
	"bundle_id": "policy-refund-desk-2026-06-01",
	"version": "2026.06.01",
	"owner_team": "payments-safety",
	"contract_version": "capability-contract-v3",
	"release_identity": "release-refund-desk-2026-06-01",
	"allow_network_access": ["restricted", "brokered"],
	"memory_kinds": [],
	"show_arguments": {"issue_refund": ["/charge_id", "/amount_minor", "/currency"], "issue_manager_refund": ["/charge_id", "/amount_minor", "/currency"]},
}
