# "Reviewers and their public keys". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.incident_coordination

# METADATA
# title: "Reviewer ines-commander"
# custom:
#   source: "reviewers.yaml#/reviewers/0"
reviewers["ines-commander"] := {
	"human": "Ines Ferreira",
	"roles": ["incident-commander"],
	"keys": {"ines-commander-2026": {"public_key": "YEJerorYfr+e0XQB5FkLw4J6Qbwk/uvjb2SyO1Wd6B0=", "not_before_ms": 1767225600000, "not_after_ms": 1830297600000}},
}

# METADATA
# title: "Reviewer ines-pager"
# custom:
#   source: "reviewers.yaml#/reviewers/1"
reviewers["ines-pager"] := {
	"human": "ines ferreira",
	"roles": ["incident-commander"],
	"keys": {"ines-pager-2026": {"public_key": "qEuL9t+A3kvXljF0qxdTqj0i/YbVgjkMnV8OyNEp2ig=", "not_before_ms": 1767225600000, "not_after_ms": 1830297600000}},
}

# METADATA
# title: "Reviewer tomasz-service"
# custom:
#   source: "reviewers.yaml#/reviewers/2"
reviewers["tomasz-service"] := {
	"human": "Tomasz Nowak",
	"roles": ["service-owner"],
	"keys": {"tomasz-service-2026": {"public_key": "Gfvu588BaH1kqi+p5AOCA/SxcYT/5SZX2u25YSx+2eE=", "not_before_ms": 1767225600000, "not_after_ms": 1830297600000}},
}

# METADATA
# title: "Reviewer amara-comms"
# custom:
#   source: "reviewers.yaml#/reviewers/3"
reviewers["amara-comms"] := {
	"human": "Amara Diallo",
	"roles": ["communications-lead"],
	"keys": {"amara-comms-2026": {"public_key": "ZQiyOyi3SsuJc6TIottwmLNtsrTitWFgSMbWzHDdCMU=", "not_before_ms": 1767225600000, "not_after_ms": 1830297600000}},
}
