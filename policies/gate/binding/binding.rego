# METADATA
# title: What the catalog says binds the call
# description: >-
#   where the call goes and as whom the tool runs, as the host's egress broker and credential provider state it,
#   against the catalog entry of the capability
package gate.binding

import data.gate.capability
import data.gate.finding
import data.gate.router

findings contains finding.new("egress_destination_not_allowed", "deny", "gate.binding", "", "") if {
	capability.calling
	not _no_destination
	not _destination_allowed
}

findings contains finding.new("tool_principal_mismatch", "deny", "gate.binding", "", "") if {
	capability.calling
	not _no_credential
	not _tool_principal_used
}

default _destination := null

_destination := input.evidence.destination

_no_destination if is_null(_destination)

_destination_allowed if input.evidence.destination.host in router.capability.allowed_egress

default _credential := null

_credential := input.evidence.credential_binding

_no_credential if is_null(_credential)

_tool_principal_used if {
	is_string(input.evidence.credential_binding.effective_principal_ref)
	input.evidence.credential_binding.effective_principal_ref == router.capability.tool_principal
}
