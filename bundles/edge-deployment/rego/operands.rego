# "Values the predicates look at". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

default _v_string_digests_action_digest := null

_v_string_digests_action_digest := input.digests.action_digest

_v_string_digests_action_digest_typed if is_string(_v_string_digests_action_digest)

default _v_string_evidence_verifier_action_digest := null

_v_string_evidence_verifier_action_digest := input.evidence.verifier.action_digest

_v_string_evidence_verifier_action_digest_typed if is_string(_v_string_evidence_verifier_action_digest)

default _v_string_evidence_verifier_contract := null

_v_string_evidence_verifier_contract := input.evidence.verifier.contract

_v_string_evidence_verifier_contract_typed if is_string(_v_string_evidence_verifier_contract)

default _v_string_evidence_verifier_verdict := null

_v_string_evidence_verifier_verdict := input.evidence.verifier.verdict

_v_string_evidence_verifier_verdict_typed if is_string(_v_string_evidence_verifier_verdict)
