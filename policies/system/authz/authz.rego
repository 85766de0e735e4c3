# METADATA
# title: Who may ask the sidecar, and for what
# description: >-
#   lives outside the bundle, whose only root is `gate`: what is served cannot widen who may ask. The settings are
#   `data.sidecar`, written when the sidecar starts; the token itself is in no file. What is not named here, such as
#   replacing a policy or reading all data, is denied
package system.authz

default allow := false

# METADATA
# title: The caller holds the token and asks one of the gate's questions
allow if {
	crypto.sha256(input.identity) == data.sidecar.token_sha256
	_asked
}

# METADATA
# title: A probe asks the diagnostics address
# description: >-
#   OPA asks this policy there, too, and does not say which address it was. Neither path says anything about a decision
allow if {
	data.sidecar.diagnostics == true
	input.method == "GET"
	input.path in {["health"], ["metrics"]}
}

# Health and status answer whatever is served: they say why nothing else does.
_asked if {
	input.method == "GET"
	input.path in {["health"], ["v1", "status"]}
}

_asked if {
	input.method == "POST"
	input.path in {["v1", "data", "gate", "decision"], ["v1", "data", "gate", "facts", "document"]}
	_expected
	_not_rolled_back
}

_expected if data.system.bundles.gate.manifest.revision in data.sidecar.revisions

# Polled bundles are signed, and the gate pins which of them it accepts.
_expected if {
	data.sidecar.follow == true
	is_string(data.system.bundles.gate.manifest.revision)
}

# Versions are compared as the build wrote them into the signed manifest: alternating numbers and words.
_not_rolled_back if {
	every id, least in data.sidecar.minimum {
		is_array(least)
		is_array(data.system.bundles.gate.manifest.metadata.versions[id])
		data.system.bundles.gate.manifest.metadata.versions[id] >= least
	}
}
