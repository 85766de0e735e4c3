# "Reviewers and their public keys". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.refund_desk

# METADATA
# title: "Reviewer sana-support"
# custom:
#   source: "reviewers.yaml#/reviewers/0"
reviewers["sana-support"] := {
	"human": "Sana Ito",
	"roles": ["support_reviewer"],
	"keys": {"sana-support-2026": {"public_key": "as8VEQmAlpUH8IGf0BmcTFOH5CJzejSIe7FdFQcoJ/A=", "not_before_ms": 1767225600000, "not_after_ms": 2082758400000}},
}

# METADATA
# title: "Reviewer mark-manager"
# custom:
#   source: "reviewers.yaml#/reviewers/1"
reviewers["mark-manager"] := {
	"human": "Mark Adeyemi",
	"roles": ["manager"],
	"keys": {"mark-manager-2026": {"public_key": "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "not_before_ms": 1767225600000, "not_after_ms": 2082758400000}},
}
