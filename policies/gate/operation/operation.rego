# METADATA
# title: Operations other than tool calls
# description: >-
#   whether an operation is permitted is the bundle's word (policy.operations, compiled). Here stand the limits that
#   an operation has besides
package gate.operation

import data.gate.finding
import data.gate.router

findings contains finding.new("memory_kind_denied", "deny", "mem_002", "", "") if {
	input.operation == "memory_write"
	not _kind_allowed
}

_kind_allowed if input.request.memory_kind in router.bundle.memory_kinds
