# METADATA
# title: What the gate must know before it can ask
# description: >-
#   catalog, contracts and public keys of the bundle that governs the agent; no decision. The gate caches the document
#   by revision, and the guards refuse when the two disagree
package gate.facts

import data.gate.router

# METADATA
# title: Facts of the governing bundle
# description: an ungoverned agent gets an empty document with bundle null
document := {
	"bundle": _bundle,
	"capabilities": router.catalog,
	"contracts": router.contracts,
	"reviewers": router.reviewers,
	"show_arguments": _show_arguments,
	"evidence": router.evidence_controls,
	"trajectory": router.trajectories,
	"plans": router.plans,
}

default _bundle := null

_bundle := {
	"bundle_id": router.bundle.bundle_id,
	"version": router.bundle.version,
	"release_identity": router.bundle.release_identity,
	"contract_version": router.bundle.contract_version,
}

default _show_arguments := {}

_show_arguments := router.bundle.show_arguments
