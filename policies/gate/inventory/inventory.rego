# METADATA
# title: What the agent was approved for
# description: >-
#   when the bundle states an inventory, a call needs its capability in it, and the agent never acts in the name of its
#   own runtime principal. A bundle without agent.yaml states no inventory
package gate.inventory

import data.gate.capability
import data.gate.finding
import data.gate.router

# METADATA
# title: What the agent was not approved for
raised := set() if {
	_approved
	_somebody_else
}

else := findings

findings contains finding.new("capability_not_in_inventory", "deny", "cap_403", "", "") if {
	capability.calling
	router.catalogued
	not _approved
}

findings contains finding.new("runtime_principal_delegated", "deny", "gate.inventory", "", "") if {
	capability.calling
	router.catalogued
	not _somebody_else
}

_approved if _none_stated

_approved if {
	is_string(input.agent.agent_id)
	router.inventory.agent_id == input.agent.agent_id
	router.inventory.approved[router.capability_name] == true
}

_somebody_else if _none_stated

_somebody_else if {
	is_string(router.inventory.runtime_principal)
	count(_names) > 0
	_names & {lower(trim_space(router.inventory.runtime_principal))} == set()
}

_none_stated if router.inventory == {}

# Whom the call is for: the principal, and in a delegated call the one it stands for.
_names contains lower(trim_space(input.identity.principal_id)) if is_string(input.identity.principal_id)

_names contains lower(trim_space(input.identity.delegated_principal_id)) if {
	is_string(input.identity.delegated_principal_id)
}
