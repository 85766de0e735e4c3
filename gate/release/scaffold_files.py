"""The text of each document of a new bundle.

Pure. Every value put into a text has been checked by the caller to be a plain word, a base64 key, a time or a number.
"""

from __future__ import annotations

from collections.abc import Mapping

from gate.release.scaffold_cases import CASES


def documents(
    *,
    name: str,
    reviewer: str,
    key_id: str,
    public_key: str,
    not_before: str,
    not_after: str,
    cases_now_ms: int,
) -> dict[str, str]:
    """Text by file name, relative to the bundle; `cases_now_ms` is the clock of the golden cases."""
    values = {
        "NAME": name,
        "REVIEWER": reviewer,
        "KEY_ID": key_id,
        "PUBLIC_KEY": public_key,
        "NOT_BEFORE": not_before,
        "NOT_AFTER": not_after,
        "NOW_MS": str(cases_now_ms),
        "ISSUED_MS": str(cases_now_ms - 60_000),
        "EXPIRES_MS": str(cases_now_ms + 600_000),
        "ACTION_DIGEST": "sha256:" + "1" * 64,
    }
    return {file: _filled(text, values) for file, text in {**_TEXTS, **CASES}.items()}


def _filled(text: str, values: Mapping[str, str]) -> str:
    for key, value in values.items():
        text = text.replace(f"<{key}>", value)
    return text


_TEXTS = {
    "bundle.yaml": """\
bundle:
  bundle_id: <NAME>
  version: "0.1.0"
  owner_team: my-team
  applies_to:
    # The host says which agent runs; only these are governed by this bundle.
    agent_ids: [<NAME>-agent]
  artifacts:
    - policy.yaml
    - capabilities.yaml
    - approvals.yaml
    - reviewers.yaml
  contract_version: contract-v1
  release_identity: release-<NAME>-0.1.0
  redaction_policy:
    # What a reviewer sees as it is; every other argument is shown as a digest.
    show_arguments:
      send_message: [/to, /subject]
""",
    "policy.yaml": """\
policy:
  run_precheck:
    require_tenant: true
    deny_if_principal_missing: true
  # What is not named here is refused.
  operations:
    run_start: allow
    model_call: allow
    approval_transition: allow
    effect_transition: allow
    list_tools: allow
    emit: allow
  capabilities:
    search_docs:
      decision: allow
    send_message:
      decision: approval_required
      approver: owner
    # Not in the catalog: named so that nobody adds it without this line being seen.
    run_shell:
      decision: deny
  execution:
    allow_network_access: [none, brokered]
""",
    "capabilities.yaml": """\
capabilities:
  search_docs:
    owner: my-team
    mode: read
    side_effect: none
    transport: local
    tool_principal: svc-docs-reader
    risk_tier: low
    network_access: none
    timeout_seconds: 5
    approval: none
    arguments:
      type: object
      additionalProperties: false
      required: [query]
      properties:
        query: {type: string, minLength: 1, maxLength: 2000}
  send_message:
    owner: my-team
    mode: write
    side_effect: external_write
    transport: gateway
    tool_principal: svc-message-sender
    risk_tier: high
    network_access: brokered
    allowed_egress: [mail.internal]
    timeout_seconds: 15
    approval: owner
    idempotency_key_required: true
    # Two calls with the same recipient and subject are the same message, whatever their idempotency keys.
    identifying_arguments: [/to, /subject]
    arguments:
      type: object
      additionalProperties: false
      required: [to, subject]
      properties:
        to: {type: string, minLength: 1, maxLength: 200}
        subject: {type: string, minLength: 1, maxLength: 200}
        body: {type: string, maxLength: 10000}
""",
    "approvals.yaml": """\
approval_contracts:
  - contract_id: send-message-owner
    capability: send_message
    risk_tier: high
    bundle_version: "0.1.0"
    release_identity: release-<NAME>-0.1.0
    required_reviewers: [owner]
    request_fields: [trace_id, session_id, idempotency_key, requested_by, reason, tool_arguments_redacted]
    allowed_decisions: [approved, rejected]
    runtime_controls:
      pause_allowed: true
      max_wait_seconds: 1800
      on_expiry: cancel_run
    on_reject: stop_run
""",
    "reviewers.yaml": """\
# Public keys only. `gate approvals keygen` makes a pair and prints the lines for this file; the private key stays
# with the reviewer. Unless `gate init` was given --reviewer-key, nobody has the private half of the key below.
reviewers:
  - id: <REVIEWER>
    human: Name of the person
    roles: [owner]
    keys:
      - key_id: "<KEY_ID>"
        public_key: "<PUBLIC_KEY>"
        not_before: "<NOT_BEFORE>"
        not_after: "<NOT_AFTER>"
""",
}
