# METADATA
# title: MCP servers
# description: >-
#   where a tool was found, who answers for its server, how the server is authenticated, and what happens on a path
#   that the catalog does not know. A bundle that governs MCP wants that stated for every mcp capability
package gate.mcp

import data.gate.approval.cover
import data.gate.capability
import data.gate.finding
import data.gate.router

# METADATA
# title: What is wrong with the server
# description: one that is in order in every respect of the rules below pays for one rule
raised := set() if {
	evidence_settled
	_server_in_order
}

else := findings

_server_in_order if _unstated

_server_in_order if {
	_source_accepted
	_owner_accepted
	_auth_accepted
	_known_server
}

findings contains finding.new(
	"mcp_evidence_missing", "deny", "gate.mcp", "mcp.mcp_evidence_required",
	"runtime-controls.yaml#/runtime_controls/mcp/mcp_evidence_required",
) if {
	capability.calling
	router.catalogued
	not evidence_settled
}

findings contains finding.new(
	"mcp_discovery_source_not_allowed", "deny", "gate.mcp", "mcp.mcp_discovery_source",
	"runtime-controls.yaml#/runtime_controls/mcp/mcp_discovery_source",
) if {
	not _unstated
	not _source_accepted
}

findings contains finding.new(
	"mcp_server_owner_mismatch", "deny", "gate.mcp", "mcp.mcp_server_owner",
	"runtime-controls.yaml#/runtime_controls/mcp/mcp_server_owner",
) if {
	not _unstated
	not _owner_accepted
}

findings contains finding.new(
	"mcp_auth_mode_not_allowed", "deny", "gate.mcp", "mcp.mcp_auth_mode",
	"runtime-controls.yaml#/runtime_controls/mcp/mcp_auth_mode",
) if {
	not _unstated
	not _auth_accepted
}

findings contains finding.new(
	"mcp_shadow_server", "deny", "gate.mcp", "mcp.shadow_mcp_handling",
	"runtime-controls.yaml#/runtime_controls/mcp/shadow_mcp_handling",
) if {
	not _unstated
	not _known_server
	not _shadow_may_be_approved
}

findings contains finding.new(
	"mcp_shadow_server", "require_approval", "gate.mcp", "mcp.shadow_mcp_handling",
	"runtime-controls.yaml#/runtime_controls/mcp/shadow_mcp_handling",
) if {
	not _unstated
	not _known_server
	_shadow_may_be_approved
	not cover.covered
}

default _mcp := null

_mcp := input.evidence.mcp

_unstated if _mcp == null

# METADATA
# title: No evidence of a server is wanted, or it is there
evidence_settled if router.call_controls.mcp_evidence_required == false

evidence_settled if router.capability.transport in {"gateway", "local"}

evidence_settled if is_string(input.evidence.mcp.server)

_source_accepted if input.evidence.mcp.discovery_source == "pinned_catalog"

_source_accepted if input.evidence.mcp.discovery_source in _sources[router.mcp_controls.mcp_discovery_source]

_sources := {
	"approved_registry": {"approved_registry"},
	"runtime_discovery": {"approved_registry", "runtime_discovery"},
}

default _owner_policy := "capability_owner"

_owner_policy := router.mcp_controls.mcp_server_owner

_owner_accepted if {
	_owner_policy == "capability_owner"
	is_string(input.evidence.mcp.server_owner)
	some entry in _offered
	entry.owner == input.evidence.mcp.server_owner
}

_owner_accepted if {
	_owner_policy == "bundle_owner"
	is_string(input.evidence.mcp.server_owner)
	input.evidence.mcp.server_owner == router.bundle.owner_team
}

_auth_accepted if input.evidence.mcp.auth_mode == "mutual_tls"

_auth_accepted if input.evidence.mcp.auth_mode in _auth_modes[router.mcp_controls.mcp_auth_mode]

_auth_modes := {
	"oauth": {"oauth"},
	"api_key": {"oauth", "api_key"},
	"none": {"oauth", "api_key", "none"},
}

_known_server if {
	input.evidence.mcp.shadow == false
	is_string(input.evidence.mcp.server)
	some entry in _offered
	entry.server == input.evidence.mcp.server
}

_shadow_may_be_approved if router.mcp_controls.shadow_mcp_handling == "require_approval"

# Catalog entries that the server could be there for.
_offered contains router.capability if capability.calling

_offered contains entry if {
	input.operation in {"list_tools", "elicit", "progress"}
	some entry in router.catalog
	entry.server == input.evidence.mcp.server
}
