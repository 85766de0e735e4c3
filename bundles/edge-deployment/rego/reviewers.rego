# "Reviewers and their public keys". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

# METADATA
# title: "Reviewer rhea-release"
# custom:
#   source: "reviewers.yaml#/reviewers/0"
reviewers["rhea-release"] := {
	"human": "Rhea Lindqvist",
	"roles": ["release_manager"],
	"keys": {"rhea-release-2026": {"public_key": "as8VEQmAlpUH8IGf0BmcTFOH5CJzejSIe7FdFQcoJ/A=", "not_before_ms": 1767225600000, "not_after_ms": 1830297600000}},
}
