# METADATA
# title: Snapshots of a server's tools
# description: >-
#   a tool is called as the server offers it now, to whom it offers it. A snapshot that was kept serves no other
#   context than it was fetched in, and no longer than server, cache and bundle all allow; a tool whose definition is
#   not the reviewed one is not the tool that was reviewed
package gate.catalog

import data.gate.capability
import data.gate.finding
import data.gate.router

findings contains finding.new(
	"catalog_evidence_missing", "deny", "gate.catalog", "mcp.catalog_evidence_required",
	"runtime-controls.yaml#/runtime_controls/mcp/catalog_evidence_required",
) if {
	capability.calling
	_unstated
	not settled
}

findings contains finding.new("catalog_target_mismatch", "deny", "gate.catalog", "", "") if {
	capability.calling
	not _unstated
	not _same_target
}

findings contains finding.new(
	"catalog_partition_mismatch", "deny", "gate.catalog", "mcp.catalog_sharing",
	"runtime-controls.yaml#/runtime_controls/mcp/catalog_sharing",
) if {
	capability.calling
	not _unstated
	not _same_partition
}

findings contains finding.new(
	"catalog_snapshot_expired", "deny", "gate.catalog", "mcp.catalog_max_ttl_seconds",
	"runtime-controls.yaml#/runtime_controls/mcp/catalog_max_ttl_seconds",
) if {
	capability.calling
	not _unstated
	not _fresh
}

findings contains finding.new("tool_not_offered", "deny", "gate.catalog", "", "") if {
	capability.calling
	not _unstated
	not _offered
}

findings contains finding.new("tool_definition_changed", "deny", "gate.catalog", "tool_definition", "") if {
	capability.calling
	not _unpinned
	not _as_reviewed
}

# METADATA
# title: Nothing has to be said of a snapshot
settled if {
	_snapshot_not_needed
	_unpinned
}

settled if _snapshot != null

_snapshot_not_needed if router.call_controls.catalog_evidence_required == false

_snapshot_not_needed if router.capability.transport in {"gateway", "local"}

# Whatever the catalog does not have is refused for that.
_snapshot_not_needed if not router.catalogued

default _snapshot := null

_snapshot := input.evidence.catalog_cache

_unstated if is_null(_snapshot)

default _pin := null

_pin := router.capability.tool_definition

_unpinned if _pin == null

_as_reviewed if {
	is_string(_pin)
	input.digests.tool_definition == _pin
}

_same_target if {
	is_string(router.capability.server)
	input.evidence.catalog_cache.target_id == router.capability.server
}

_same_partition if {
	_same_tenant
	_same_policy
	_same_principal
	_same_access
}

# Both must allow it: the server by what it said, the bundle by what it governs.
_same_partition if {
	_same_tenant
	_same_policy
	input.evidence.catalog_cache.server_cache_scope == "public"
	router.mcp_controls.catalog_sharing == "public_within_tenant"
}

_same_tenant if {
	is_string(input.identity.tenant_id)
	input.evidence.catalog_cache.tenant_ref == input.identity.tenant_id
}

_same_policy if {
	is_string(router.bundle.version)
	input.evidence.catalog_cache.policy_version == router.bundle.version
}

_same_principal if {
	is_string(input.identity.principal_id)
	input.evidence.catalog_cache.principal_ref == input.identity.principal_id
}

_same_access if {
	is_string(input.evidence.catalog_cache.current_access_ref)
	input.evidence.catalog_cache.access_ref == input.evidence.catalog_cache.current_access_ref
}

_fetched if {
	is_number(input.now_ms)
	is_number(input.evidence.catalog_cache.fetched_at_ms)
	input.evidence.catalog_cache.fetched_at_ms <= input.now_ms
}

# Read from the server for this very call.
_fresh if {
	input.evidence.catalog_cache.cache_hit == false
	_fetched
}

_fresh if {
	input.evidence.catalog_cache.cache_hit == true
	_fetched
	input.now_ms - input.evidence.catalog_cache.fetched_at_ms < _effective_ttl_ms
}

# A hint that is missing or no number lets nothing be reused.
_effective_ttl_ms := min([
	input.evidence.catalog_cache.server_ttl_ms, input.evidence.catalog_cache.local_max_ttl_ms,
	router.mcp_controls.catalog_max_ttl_ms,
]) if {
	is_number(input.evidence.catalog_cache.server_ttl_ms)
	is_number(input.evidence.catalog_cache.local_max_ttl_ms)
	is_number(router.mcp_controls.catalog_max_ttl_ms)
}

_offered if {
	is_string(input.evidence.catalog_cache.tool_definition)
	input.evidence.catalog_cache.tool_definition == input.digests.tool_definition
}
