# METADATA
# title: Runtime controls
# description: >-
#   what the guards of sessions, MCP, routing, authorization, orchestration, verifiers, sandboxes and bindings found.
#   They concern tools only, and a plain call is told from all others first, so that it does not pay for them
package gate.runtime

import data.gate.authorization
import data.gate.binding
import data.gate.catalog
import data.gate.mcp
import data.gate.oauth
import data.gate.orchestration
import data.gate.routing
import data.gate.sandbox
import data.gate.session
import data.gate.verifier

# METADATA
# title: The findings of every runtime control
# description: whatever is not known to be plain is looked at by the guards it could concern
raised := set() if _no_tool

# A host with MCP tools states their server at every call; it is the one section that a plain call has.
else := mcp.raised if _plain

else := union({
	_of_authorization,
	_of_binding,
	_of_catalog,
	mcp.raised,
	_of_oauth,
	_of_orchestration,
	_of_routing,
	_of_sandbox,
	_of_session,
	_of_verifier,
})

_no_tool if input.checkpoint in {"input", "llm", "state", "output"}

# Nothing is stated that a control is about, and nothing is missing that one wants.
_plain if {
	_plain_operation
	_plain_agent
	_stated & _sections == set()
	authorization.mode_allowed
	binding.credential_settled
	catalog.settled
	oauth.settled
	sandbox.evidence_not_needed
	verifier.verifier_settled
}

_plain_operation if input.operation in {"call_tool", "list_tools"}

_plain_agent if object.keys(input.agent) & {"role", "orchestration_pattern", "parent_agent_id"} == set()

# Undefined when the evidence cannot be read; then no guard is passed over.
_stated := object.keys(input.evidence)

_sections := {
	"approval_route",
	"authorization",
	"catalog_cache",
	"classifier",
	"credential_binding",
	"destination",
	"handoff",
	"oauth_scope",
	"sandbox",
	"session",
	"verifier",
}

_of_authorization := set() if {
	count(_stated & {"authorization"}) == 0
	authorization.mode_allowed
}

else := authorization.findings

_of_binding := set() if {
	count(_stated & {"credential_binding", "destination"}) == 0
	binding.credential_settled
}

else := binding.findings

_of_catalog := set() if {
	count(_stated & {"catalog_cache"}) == 0
	catalog.settled
}

else := catalog.findings

_of_oauth := set() if {
	count(_stated & {"oauth_scope"}) == 0
	oauth.settled
}

else := oauth.findings

_of_orchestration := set() if _plain_agent

else := orchestration.findings

_of_routing := set() if {
	count(_stated & {"approval_route", "classifier", "handoff"}) == 0
	_plain_operation
	_plain_agent
}

else := routing.findings

_of_sandbox := set() if {
	count(_stated & {"sandbox"}) == 0
	sandbox.evidence_not_needed
}

else := sandbox.findings

_of_session := set() if {
	count(_stated & {"session"}) == 0
	_plain_operation
}

else := session.findings

_of_verifier := set() if {
	count(_stated & {"verifier"}) == 0
	verifier.verifier_settled
}

else := verifier.findings
