# METADATA
# title: Which bundle governs the agent
# description: >-
#   one bound lookup by the agent the host states; never an iteration over data.gate.bundles. What a bundle says
#   about the capability asked for is read here and nowhere else
package gate.router

import data.gate.agents
import data.gate.finding

# METADATA
# title: The findings of the compiled bundle, and its absence
findings contains finding.new("agent_not_governed", "deny", "gate.router", "", "") if not governed

findings contains f if some f in data.gate.bundles[_name].findings

_name := agents.bundle_of[input.agent.agent_id]

# METADATA
# title: A bundle governs the agent
governed if is_string(bundle.version)

default bundle := {}

# METADATA
# title: The envelope of the governing bundle
bundle := data.gate.bundles[_name].bundle

default catalog := {}

# METADATA
# title: Every capability of the governing bundle
catalog := data.gate.bundles[_name].catalog

default contracts := {}

# METADATA
# title: Every approval contract of the governing bundle, by capability
contracts := data.gate.bundles[_name].contracts

default reviewers := {}

# METADATA
# title: The reviewers of the governing bundle, by id
reviewers := data.gate.bundles[_name].reviewers

default capability := {}

# METADATA
# title: Catalog entry of the capability in question
capability := data.gate.bundles[_name].catalog[capability_name]

default contract := {}

# METADATA
# title: Approval contract of the capability in question
contract := data.gate.bundles[_name].contracts[capability_name]

# What a bundle without the document asks of every call: evidence that a host states of its own accord only.
default call_controls := {
	"authorization_mode": "user_delegated_or_platform_owned",
	"catalog_evidence_required": false,
	"mcp_evidence_required": false,
	"sandbox_evidence_required": false,
	"verifier_contract_required_for_high_risk": false,
}

# METADATA
# title: The runtime controls that every call is held against
# description: apart from the others, so that a plain call does not pay for those
call_controls := data.gate.bundles[_name].call_controls

# Each left out is the stricter: no rule then finds the value that would let the call pass.
default sessions_controls := {}

# METADATA
# title: The runtime controls of sessions
sessions_controls := data.gate.bundles[_name].sessions_controls

default mcp_controls := {}

# METADATA
# title: The runtime controls of MCP servers
mcp_controls := data.gate.bundles[_name].mcp_controls

default routing_controls := {}

# METADATA
# title: The runtime controls of who lets a call through
routing_controls := data.gate.bundles[_name].routing_controls

default authorization_controls := {}

# METADATA
# title: The runtime controls of grants and tokens
authorization_controls := data.gate.bundles[_name].authorization_controls

default orchestration_controls := {}

# METADATA
# title: The runtime controls of patterns and workers
orchestration_controls := data.gate.bundles[_name].orchestration_controls

default verifiers_controls := {}

# METADATA
# title: The runtime controls of verifiers
verifiers_controls := data.gate.bundles[_name].verifiers_controls

default sandbox_controls := {}

# METADATA
# title: The runtime controls of sandboxes
sandbox_controls := data.gate.bundles[_name].sandbox_controls

# What a bundle without the document adds at a boundary: nothing.
default continuity := {
	"compare": {
		"role": false,
		"objective": false,
		"evidence_refs": false,
		"budget_remaining": false,
		"pending_obligations": false,
	},
	"reconfirm_approval": false,
	"max_age_ms": null,
	"max_boundaries": null,
	"forbidden_states": {"obligation_open": false, "sandbox_not_saved": false, "budget_exhausted": false},
	"required_constraints": [],
}

# METADATA
# title: What the bundle adds at a boundary
continuity := data.gate.bundles[_name].continuity

# What a bundle without the document says of compactions: nothing.
default compaction := {"contracted": false}

# METADATA
# title: What a compaction must keep, and what was measured
compaction := data.gate.bundles[_name].compaction

default evidence_controls := {}

# METADATA
# title: What the bundle asks of each evidence section
# description: how old it may be, who may have checked it, whose signature it needs
evidence_controls := data.gate.bundles[_name].evidence_controls

default trajectory := {}

# METADATA
# title: What the bundle says of the history the capability depends on
# description: empty when no rule over history is about it
trajectory := data.gate.bundles[_name].trajectory[capability_name]

default trajectories := {}

# METADATA
# title: The same for every capability
trajectories := data.gate.bundles[_name].trajectory

default trajectory_rules := {}

# METADATA
# title: Every rule over history of the governing bundle, by its id
trajectory_rules := data.gate.bundles[_name].trajectory_rules

default compound := {}

# METADATA
# title: The part the capability has in plans of several steps
# description: empty when it has none
compound := data.gate.bundles[_name].compound[capability_name]

default plans := {}

# METADATA
# title: The same for every capability
plans := data.gate.bundles[_name].compound

default compound_policy := {}

# METADATA
# title: How plans are authorized
compound_policy := data.gate.bundles[_name].compound_policy

default compound_tasks := {}

# METADATA
# title: What each task may touch, by its name
compound_tasks := data.gate.bundles[_name].compound_tasks

default capability_name := null

default policy_decision := null

# METADATA
# title: What the policy says of the capability in question
# description: allow, approval_required or deny; null when it says nothing
policy_decision := data.gate.bundles[_name].decisions[capability_name]

default decisions := {}

# METADATA
# title: What the policy says of each capability
decisions := data.gate.bundles[_name].decisions

default inventory := {}

# METADATA
# title: Identity and approved inventory of the agent
# description: empty when the bundle states none
inventory := data.gate.bundles[_name].inventory

default approval_policy := {}

# METADATA
# title: What the bundle says for all approval contracts
approval_policy := data.gate.bundles[_name].approval_policy

default required_controls := {}

# METADATA
# title: Controls the bundle wants assessed
required_controls := data.gate.bundles[_name].required_controls

default blocking_controls := {}

# METADATA
# title: Findings the bundle wants to block on
blocking_controls := data.gate.bundles[_name].blocking_controls

default demands := set()

# METADATA
# title: Findings of controls that a live approval meets
demands := data.gate.bundles[_name].demands

default redactions := set()

# METADATA
# title: What controls want blanked
redactions := data.gate.bundles[_name].redactions

default limits := set()

# METADATA
# title: What the call would spend of each limit that binds its capability
limits := data.gate.bundles[_name].limits

default advice := set()

# METADATA
# title: What controls warn of
advice := data.gate.bundles[_name].advice

default controls := set()

# METADATA
# title: Every control that was looked at, with the result of its predicate
controls := data.gate.bundles[_name].controls

# METADATA
# title: The capability in question
# description: what the model asked for, except in a transition, where the record says it
capability_name := input.request.capability if not transition

capability_name := input.state.approval.capability if input.operation == "approval_transition"

capability_name := input.state.side_effect.capability if input.operation == "effect_transition"

# METADATA
# title: The document is about a record's transition, not about a call
transition if input.operation == "approval_transition"

transition if input.operation == "effect_transition"

# METADATA
# title: The capability is in the catalog
catalogued if is_string(capability.capability_version)

# METADATA
# title: The capability is named by the bundle, be it only to refuse it
named if catalogued

named if data.gate.bundles[_name].refused[capability_name]
