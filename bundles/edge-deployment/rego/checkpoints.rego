# "Control checkpoints". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

import data.gate.finding

# METADATA
# title: "audit of rollout_health_not_judged on roll_out"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
controls contains {"checkpoint": "tool_execution", "policy_requirement": "rollout_health_not_judged", "predicate_result": _tool_execution_rollout_health_not_judged_result, "action": "deny", "control_version": "1.0", "eval_case_id": "verifier_verdict_missing", "observed_signal": "rollout_health"} if {
	input.checkpoint == "tool_execution"
	input.request.capability == "roll_out"
}

# METADATA
# title: "deny rollout_health_not_judged on roll_out"
# custom:
#   source: "checkpoints.yaml#/control_checkpoints/0"
findings contains finding.new("rollout_health_not_judged", "deny", "control.tool_execution", "control_checkpoints.rollout_health_not_judged", "checkpoints.yaml#/control_checkpoints/0") if {
	input.checkpoint == "tool_execution"
	input.request.capability == "roll_out"
	not _tool_execution_rollout_health_not_judged_false
}

_tool_execution_rollout_health_not_judged_true if {
	_v_string_evidence_verifier_contract_typed
	_v_string_evidence_verifier_contract != "rollout-health-verifier"
}

_tool_execution_rollout_health_not_judged_true if {
	_v_string_evidence_verifier_verdict_typed
	_v_string_evidence_verifier_verdict != "passed"
}

_tool_execution_rollout_health_not_judged_true if {
	_v_string_evidence_verifier_action_digest_typed
	_v_string_digests_action_digest_typed
	_v_string_evidence_verifier_action_digest != _v_string_digests_action_digest
}

_tool_execution_rollout_health_not_judged_false if {
	_v_string_evidence_verifier_contract_typed
	_v_string_evidence_verifier_contract == "rollout-health-verifier"
	_v_string_evidence_verifier_verdict_typed
	_v_string_evidence_verifier_verdict == "passed"
	_v_string_evidence_verifier_action_digest_typed
	_v_string_digests_action_digest_typed
	_v_string_evidence_verifier_action_digest == _v_string_digests_action_digest
}

_tool_execution_rollout_health_not_judged_result := "false" if _tool_execution_rollout_health_not_judged_false

else := "true" if _tool_execution_rollout_health_not_judged_true

else := "unknown"

_tool_execution_rollout_health_not_judged_unknown contains "digests.action_digest" if not _v_string_digests_action_digest_typed

_tool_execution_rollout_health_not_judged_unknown contains "evidence.verifier.action_digest" if not _v_string_evidence_verifier_action_digest_typed

_tool_execution_rollout_health_not_judged_unknown contains "evidence.verifier.contract" if not _v_string_evidence_verifier_contract_typed

_tool_execution_rollout_health_not_judged_unknown contains "evidence.verifier.verdict" if not _v_string_evidence_verifier_verdict_typed
