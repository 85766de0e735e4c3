# METADATA
# title: "Bundle policy-support-triage-2026-04-07"
# description: "Compiled by `gate compile`; change the YAML, not this file."
package gate.bundles.support_triage

# METADATA
# title: "Envelope of the bundle"
# custom:
#   source: "bundle.yaml#/bundle"
bundle := {
	"bundle_id": "policy-support-triage-2026-04-07",
	"version": "2026.04.07",
	"owner_team": "platform-safety",
	"contract_version": "capability-contract-v3",
	"release_identity": "release-support-triage-2026-04-07-canary",
	"allow_network_access": ["restricted", "brokered"],
	"memory_kinds": ["validated_fact", "session_summary"],
	"show_arguments": {"create_ticket": ["/queue", "/title"]},
}
