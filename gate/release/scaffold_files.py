"""The text of each document and golden case of a new bundle.

Pure. Every value put into a text has been checked by the caller to be a plain word, a base64 key, a time or a number.
"""

from __future__ import annotations

from collections.abc import Mapping


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
    return {file: _filled(text, values) for file, text in _TEXTS.items()}


def _filled(text: str, values: Mapping[str, str]) -> str:
    for key, value in values.items():
        text = text.replace(f"<{key}>", value)
    return text


_READ = """\
  request:
    capability: search_docs
    idempotency_key: null
    reason: null
    arguments: {to: {$absent: true}, subject: {$absent: true}, query: opening hours}
  state:
    versions:
      capability_version: {$facts: /capabilities/search_docs/capability_version}
      contract_digest: null
    approval: null
    side_effect: null
    idempotency: null
  evidence:
    arguments:
      schema_digest: {$facts: /capabilities/search_docs/arguments_digest}
      identified: false
"""

_NOT_CATALOGUED = """\
  state:
    versions: {capability_version: null, contract_digest: null}
    approval: null
    side_effect: null
    idempotency: null
  evidence:
    arguments: null
  digests: {action_digest: null, intent_digest: null}
"""

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
    "cases/_base.yaml": """\
# The document every case patches: a message that was asked for, under an approval that one owner has signed, in a
# running session, with nothing in the ledger yet. It is allowed.
schema_version: gate-input/v1
checkpoint: tool_execution
operation: call_tool
request_id: req-golden
# The clock of the cases: inside the validity of the reviewer's key. Move it, and the times below, with the key.
now_ms: <NOW_MS>
trace: {trace_id: trace-1, session_id: session-1, run_id: run-1}
agent: {agent_id: <NAME>-agent, environment: golden}
identity:
  tenant_id: tenant-1
  principal_id: user-1
  authorization_mode: platform_owned
  delegated_principal_id: null
  delegated_scope: null
request:
  capability: send_message
  idempotency_key: message-1
  reason: The customer asked for the opening hours.
  arguments: {to: customer-1, subject: Opening hours}
state:
  run:
    run_id: run-1
    status: running
    tenant_id: tenant-1
    principal_id: user-1
    agent_id: <NAME>-agent
    session_id: session-1
    authorization_mode: platform_owned
    delegated_principal_id: null
    delegated_scope: null
    version: 1
    epoch: 1
    boundary: null
  constraints: []
  # `$facts` is replaced by what the compiled bundle says, so that a case survives an edit of the catalog.
  versions:
    bundle_version: {$facts: /bundle/version}
    release_identity: {$facts: /bundle/release_identity}
    capability_version: {$facts: /capabilities/send_message/capability_version}
    contract_digest: {$facts: /contracts/send_message/contract_digest}
  approval:
    approval_id: apr-1
    run_id: run-1
    status: approved
    capability: send_message
    contract_id: send-message-owner
    contract_digest: {$facts: /contracts/send_message/contract_digest}
    action_digest: <ACTION_DIGEST>
    intent_digest: <ACTION_DIGEST>
    nonce: nonce-1
    tenant_id: tenant-1
    principal_id: user-1
    agent_id: <NAME>-agent
    session_id: session-1
    requested_by: user-1
    bundle_version: {$facts: /bundle/version}
    release_identity: {$facts: /bundle/release_identity}
    created_at_ms: <ISSUED_MS>
    expires_at_ms: <EXPIRES_MS>
    escalated_at_ms: null
    standing_digest: null
    uses: 0
    denied_keys: []
    version: 2
    epoch: 1
    votes:
      - reviewer: <REVIEWER>
        key_id: "<KEY_ID>"
        decision: approved
        approval_id: apr-1
        nonce: nonce-1
        environment: golden
        action_digest: <ACTION_DIGEST>
        contract_digest: {$facts: /contracts/send_message/contract_digest}
        issued_at_ms: <ISSUED_MS>
        expires_at_ms: <EXPIRES_MS>
        verified: true
  rejection: {approval_id: null, intent_digest: null}
  side_effect: {status: not_started}
  idempotency: {idempotency_key: null, action_digest: null}
evidence:
  arguments:
    valid: true
    schema_digest: {$facts: /capabilities/send_message/arguments_digest}
    identified: true
digests:
  action_digest: <ACTION_DIGEST>
  intent_digest: <ACTION_DIGEST>
  arguments: <ACTION_DIGEST>
  tool_definition: null
""",
    "cases/message_approved.yaml": """\
id: message_approved
title: an owner's signed approval of exactly this action lets the message be sent
input: {}
expect:
  verdict: allow
  reasons: [configured_with_approval]
""",
    "cases/message_without_approval.yaml": """\
id: message_without_approval
title: a message nobody approved asks for approval, whatever the model says about it
input:
  request: {text: The user already approved this.}
  state: {approval: null}
expect:
  verdict: require_approval
  reasons: [approval_missing, configured_with_approval]
""",
    "cases/message_other_arguments.yaml": """\
id: message_other_arguments
title: an approval of other arguments is worth nothing here
input:
  digests: {action_digest: "sha256:<OTHER>"}
expect:
  verdict: require_approval
  reasons: [approval_digest_mismatch, configured_with_approval]
""".replace("<OTHER>", "2" * 64),
    "cases/message_unknown_effect.yaml": """\
id: message_unknown_effect
title: a message of which nobody knows whether it was sent is reconciled before anything is sent again
input:
  state:
    side_effect:
      status: side_effect_unknown
      idempotency_key: message-1
      action_digest: <ACTION_DIGEST>
    idempotency: {idempotency_key: message-1, action_digest: <ACTION_DIGEST>}
expect:
  verdict: blocked_on_reconciliation
  reasons: [configured_with_approval, unknown_side_effect]
""",
    "cases/search_docs_allowed.yaml": f"""\
id: search_docs_allowed
title: reading the documentation needs no approval
input:
{_READ}expect:
  verdict: allow
  reasons: [configured_allow]
""",
    "cases/run_shell_denied.yaml": f"""\
id: run_shell_denied
title: run_shell is refused by name
input:
  request: {{capability: run_shell}}
{_NOT_CATALOGUED}expect:
  verdict: deny
  reasons: [configured_deny]
""",
    "cases/unknown_tool_denied.yaml": f"""\
id: unknown_tool_denied
title: a tool nobody catalogued is refused
input:
  request: {{capability: delete_everything}}
{_NOT_CATALOGUED}expect:
  verdict: deny
  reasons: [capability_unknown]
""",
    "cases/foreign_tenant_denied.yaml": """\
id: foreign_tenant_denied
title: a stranger learns nothing but that he is one
input:
  identity: {tenant_id: tenant-2}
expect:
  verdict: deny
  reasons: [tenant_mismatch]
""",
}
