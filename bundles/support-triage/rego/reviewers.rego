# "Reviewers and their public keys". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.support_triage

# METADATA
# title: "Reviewer mira-manager"
# custom:
#   source: "reviewers.yaml#/reviewers/0"
reviewers["mira-manager"] := {
	"human": "Mira Okafor",
	"roles": ["manager"],
	"keys": {"mira-manager-2026": {"public_key": "as8VEQmAlpUH8IGf0BmcTFOH5CJzejSIe7FdFQcoJ/A=", "not_before_ms": 1767225600000, "not_after_ms": 1830297600000}},
}
