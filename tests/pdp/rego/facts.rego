package gate.facts

document := {
	"bundle": _bundle,
	"capabilities": {name: entry | some name, entry in _catalog; _bundle != null},
	"contracts": {},
	"reviewers": {},
	"show_arguments": {},
	"evidence": {},
	"trajectory": {},
	"plans": {},
}

default _bundle := null

_bundle := {
	"bundle_id": "sample",
	"version": "1",
	"release_identity": "sample-release",
	"contract_version": null,
} if {
	input.agent.agent_id == "governed"
}

_catalog := {"search_docs": {"version": "1"}}
