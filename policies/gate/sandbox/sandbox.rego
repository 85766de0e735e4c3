# METADATA
# title: Sandbox profiles
# description: >-
#   a call that runs in a sandbox runs under the profile the bundle names, at most as open as it says, and reviewed
#   in exactly the form that is used. Once a bundle names a profile, local tools must show theirs
package gate.sandbox

import data.gate.capability
import data.gate.finding
import data.gate.router

findings contains finding.new(
	"sandbox_profile_mismatch", "deny", "gate.sandbox", "sandbox.sandbox_profile_contract",
	"runtime-controls.yaml#/runtime_controls/sandbox/sandbox_profile_contract",
) if {
	capability.calling
	not _unsandboxed
	not _profile_matches
}

findings contains finding.new(
	"sandbox_profile_not_reviewed", "deny", "gate.sandbox", "sandbox.sandbox_profile_review_required",
	"runtime-controls.yaml#/runtime_controls/sandbox/sandbox_profile_review_required",
) if {
	capability.calling
	not _unsandboxed
	not _reviewed
}

findings contains finding.new(
	"sandbox_workspace_not_allowed", "deny", "gate.sandbox", "sandbox.sandbox_profile_contract.workspace",
	"runtime-controls.yaml#/runtime_controls/sandbox/sandbox_profile_contract",
) if {
	capability.calling
	not _unsandboxed
	not _workspace_allowed
}

findings contains finding.new(
	"sandbox_resume_not_allowed", "deny", "gate.sandbox", "sandbox.sandbox_profile_contract.resume",
	"runtime-controls.yaml#/runtime_controls/sandbox/sandbox_profile_contract",
) if {
	capability.calling
	not _unsandboxed
	not _started_as_allowed
}

default _sandbox := null

_sandbox := input.evidence.sandbox

_unsandboxed if {
	is_null(_sandbox)
	evidence_not_needed
}

# METADATA
# title: The call need not show a sandbox
evidence_not_needed if router.call_controls.sandbox_evidence_required == false

evidence_not_needed if router.capability.transport in {"mcp", "gateway"}

# Whatever the catalog does not have is refused for that.
evidence_not_needed if not router.catalogued

_profile_matches if {
	is_string(input.evidence.sandbox.profile_contract)
	input.evidence.sandbox.profile_contract == router.sandbox_controls.sandbox_profile_contract.contract_id
	input.evidence.sandbox.network in _networks[router.sandbox_controls.sandbox_profile_contract.network]
	input.evidence.sandbox.secrets in _secrets[router.sandbox_controls.sandbox_profile_contract.secrets]
	input.evidence.sandbox.shell in _shells[router.sandbox_controls.sandbox_profile_contract.shell]
}

_networks := {
	"denied": {"denied"},
	"restricted": {"denied", "restricted"},
}

_secrets := {
	"none": {"none"},
	"brokered": {"none", "brokered"},
}

_shells := {
	"none": {"none"},
	"restricted": {"none", "restricted"},
}

_reviewed if router.sandbox_controls.sandbox_profile_review_required == false

_reviewed if {
	is_string(input.evidence.sandbox.review_ref)
	trim_space(input.evidence.sandbox.review_ref) != ""
	is_string(input.evidence.sandbox.profile_digest)
	input.evidence.sandbox.reviewed_digest == input.evidence.sandbox.profile_digest
	input.evidence.sandbox.review_state == "approved"
}

_workspace_allowed if {
	is_array(input.evidence.sandbox.workspace_entries)
	count(input.evidence.sandbox.workspace_entries) == count([entry |
		some entry in input.evidence.sandbox.workspace_entries
		entry in router.sandbox_controls.sandbox_profile_contract.workspace
	])
}

# That it says so itself: a sandbox of unknown origin is no fresh one.
_started_as_allowed if is_null(input.evidence.sandbox.resumed_from)

_started_as_allowed if {
	router.sandbox_controls.sandbox_profile_contract.resume == "own_snapshot"
	is_string(input.evidence.sandbox.snapshot_digest)
	input.evidence.sandbox.resumed_from == input.evidence.sandbox.snapshot_digest
}
