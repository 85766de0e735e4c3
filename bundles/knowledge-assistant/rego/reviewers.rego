# "Reviewers and their public keys". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.knowledge_assistant

# METADATA
# title: "Reviewer kofi-knowledge"
# custom:
#   source: "reviewers.yaml#/reviewers/0"
reviewers["kofi-knowledge"] := {
	"human": "Kofi Mensah",
	"roles": ["knowledge-owner"],
	"keys": {"kofi-knowledge-2026": {"public_key": "cgbVnjUZ8OulJX/jbpfftiIvbnoFOw+g2q9Z6mCL68Y=", "not_before_ms": 1767225600000, "not_after_ms": 1830297600000}},
}

# METADATA
# title: "Reviewer lena-knowledge"
# custom:
#   source: "reviewers.yaml#/reviewers/1"
reviewers["lena-knowledge"] := {
	"human": "Lena Brandt",
	"roles": ["knowledge-owner"],
	"keys": {"lena-knowledge-2026": {"public_key": "8Fj3ROrmLp5fQRcMY6MeRgvabn46Rf2cdigOBrMxFb0=", "not_before_ms": 1767225600000, "not_after_ms": 1830297600000}},
}
