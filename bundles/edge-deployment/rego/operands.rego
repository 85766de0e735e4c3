# "Values the predicates look at". Compiled by `gate compile`; change the YAML, not this file.

package gate.bundles.edge_deployment

import data.gate.evidence.known

default _v_string_digests_action_digest := null

_v_string_digests_action_digest := input.digests.action_digest

_v_string_digests_action_digest_typed if is_string(_v_string_digests_action_digest)

default _v_string_evidence_verifier_action_digest := null

_v_string_evidence_verifier_action_digest := known.section.verifier.action_digest

_v_string_evidence_verifier_action_digest_typed if is_string(_v_string_evidence_verifier_action_digest)

default _v_string_evidence_verifier_contract := null

_v_string_evidence_verifier_contract := known.section.verifier.contract

_v_string_evidence_verifier_contract_typed if is_string(_v_string_evidence_verifier_contract)

default _v_string_evidence_verifier_verdict := null

_v_string_evidence_verifier_verdict := known.section.verifier.verdict

_v_string_evidence_verifier_verdict_typed if is_string(_v_string_evidence_verifier_verdict)
