# METADATA
# title: Runtime controls
# description: >-
#   what the guards of sessions, MCP, routing, authorization, orchestration, verifiers, sandboxes and bindings found.
#   They concern tools only, and a plain call is told from all others first, so that it does not pay for them
package gate.runtime

import data.gate.authorization
import data.gate.binding
import data.gate.mcp
import data.gate.orchestration
import data.gate.routing
import data.gate.sandbox
import data.gate.session
import data.gate.verifier

# METADATA
# title: The findings of every runtime control
# description: whatever is not known to be plain is looked at by every guard
raised := set() if _no_tool

else := set() if _plain

else := union({
	authorization.findings,
	binding.findings,
	mcp.findings,
	orchestration.findings,
	routing.findings,
	sandbox.findings,
	session.findings,
	verifier.findings,
})

_no_tool if input.checkpoint in {"input", "llm", "state", "output"}

# Nothing is stated that a control is about, and nothing is missing that one wants.
_plain if {
	input.operation in {"call_tool", "list_tools"}
	count(object.keys(input.agent) & {"role", "orchestration_pattern", "parent_agent_id"}) == 0
	count(object.keys(input.evidence) & _sections) == 0
	authorization.mode_allowed
	mcp.evidence_settled
	sandbox.evidence_not_needed
	verifier.verifier_settled
}

_sections := {
	"approval_route",
	"authorization",
	"classifier",
	"credential_binding",
	"destination",
	"handoff",
	"mcp",
	"sandbox",
	"session",
	"verifier",
	"worker_review",
}
