"""The text of each golden case of a new bundle: one for everything that its documents decide.

Pure. What stands in angle brackets is filled in with the documents.
"""

from __future__ import annotations

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
    credential_binding: {effective_principal_ref: svc-docs-reader}
"""

_NOT_CATALOGUED = """\
  state:
    versions: {capability_version: null, contract_digest: null}
    approval: null
    side_effect: null
    idempotency: null
  evidence: {arguments: null, credential_binding: null}
  digests: {action_digest: null, intent_digest: null}
"""

_SERVER = """\
    mcp:
      server: my-server
      discovery_source: pinned_catalog
      server_owner: my-team
      auth_mode: mutual_tls
      shadow: false
"""

_VOTE = """\
  checkpoint: state
  operation: approval_transition
  identity: {principal_id: <REVIEWER>, authorization_mode: human_approved}
  state:
    approval: {status: pending, votes: []}
    side_effect: null
    idempotency: null
  evidence:
    vote:
      reviewer: <REVIEWER>
      key_id: "<KEY_ID>"
      decision: <DECISION>
      approval_id: apr-1
      nonce: nonce-1
      environment: golden
      action_digest: <ACTION_DIGEST>
      contract_digest: {$facts: /contracts/send_message/contract_digest}
      issued_at_ms: <ISSUED_MS>
      expires_at_ms: <EXPIRES_MS>
      verified: true
"""

CASES = {
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
  # The service whose credential the tool uses is the one that the catalog names.
  credential_binding: {effective_principal_ref: svc-message-sender}
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
title: a message nobody approved waits half an hour for approval, whatever the model says about it
input:
  request: {text: The user already approved this.}
  state: {approval: null}
expect:
  verdict: require_approval
  reasons: [approval_missing, configured_with_approval]
  obligations:
    - {type: request_approval, contract_id: send-message-owner, max_wait_seconds: 1800}
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
    "cases/message_approval_expired.yaml": """\
id: message_approval_expired
title: when the time of an approval is over, so is the run
input:
  now_ms: <EXPIRES_MS>
expect:
  verdict: deny
  reasons: [approval_expired, approval_quorum_not_met, approval_signature_invalid, configured_with_approval]
  obligations: [{type: end_run, status: cancelled}]
""",
    "cases/message_over_a_server_denied.yaml": f"""\
id: message_over_a_server_denied
title: the catalog knows no server for messages, so one that offers to send them is refused
input:
  evidence:
{_SERVER}expect:
  verdict: deny
  reasons: [configured_with_approval, mcp_shadow_server]
""",
    "cases/search_docs_over_a_server_denied.yaml": f"""\
id: search_docs_over_a_server_denied
title: nor does it know one for the documentation
input:
{_READ}{_SERVER}expect:
  verdict: deny
  reasons: [configured_allow, mcp_shadow_server]
""",
    "cases/_operation.yaml": """\
# What a case with `base: operation` patches: something other than a tool call, in the same run.
request: {$absent: true}
state: {approval: null, side_effect: null, idempotency: null}
evidence: {$absent: true}
""",
    "cases/run_starts.yaml": """\
id: run_starts
title: a run of a known tenant and principal may start
base: operation
input:
  checkpoint: input
  operation: run_start
  state: {run: null}
expect:
  verdict: allow
  reasons: [operation_allowed]
""",
    "cases/run_without_tenant_denied.yaml": """\
id: run_without_tenant_denied
title: without a tenant no run starts
base: operation
input:
  checkpoint: input
  operation: run_start
  identity: {tenant_id: null}
  state: {run: null}
expect:
  verdict: deny
  reasons: [operation_allowed, tenant_missing]
""",
    "cases/run_without_principal_denied.yaml": """\
id: run_without_principal_denied
title: without a principal no run starts
base: operation
input:
  checkpoint: input
  operation: run_start
  identity: {principal_id: null}
  state: {run: null}
expect:
  verdict: deny
  reasons: [operation_allowed, principal_missing]
""",
    "cases/model_asked.yaml": """\
id: model_asked
title: the model may be asked
base: operation
input:
  checkpoint: llm
  operation: model_call
expect:
  verdict: allow
  reasons: [operation_allowed]
""",
    "cases/tools_listed.yaml": """\
id: tools_listed
title: tools may be listed
base: operation
input:
  operation: list_tools
expect:
  verdict: allow
  reasons: [operation_allowed]
""",
    "cases/answer_given.yaml": """\
id: answer_given
title: an answer may leave
base: operation
input:
  checkpoint: output
  operation: emit
  request: {text: We are open until six.}
expect:
  verdict: allow
  reasons: [operation_allowed]
""",
    "cases/owner_approves.yaml": f"""\
id: owner_approves
title: an owner's signed vote approves a waiting message
input:
  request: {{transition: approve}}
{_VOTE.replace("<DECISION>", "approved")}expect:
  verdict: allow
  reasons: [operation_allowed]
  obligations: [{{type: move_approval, to: approved}}]
""",
    "cases/owner_rejects.yaml": f"""\
id: owner_rejects
title: an owner's rejection stops the run
input:
  request: {{transition: reject}}
{_VOTE.replace("<DECISION>", "rejected")}expect:
  verdict: allow
  reasons: [operation_allowed]
  obligations: [{{type: move_approval, to: rejected}}, {{type: end_run, status: stopped}}]
""",
    "cases/unknown_effect_reconciled.yaml": """\
id: unknown_effect_reconciled
title: a person states what became of a message, with evidence, and that its sender can no longer act
input:
  checkpoint: state
  operation: effect_transition
  identity: {principal_id: <REVIEWER>, authorization_mode: human_approved}
  request: {outcome: not_committed}
  state:
    approval: null
    side_effect:
      status: side_effect_unknown
      capability: send_message
      business_key: <ACTION_DIGEST>
      idempotency_key: message-1
      action_digest: <ACTION_DIGEST>
      run_id: run-1
      lease_expires_at_ms: <ISSUED_MS>
      version: 3
  evidence:
    reconciliation: {evidence_ref: the mail server's log, owner_fenced: true}
expect:
  verdict: allow
  reasons: [operation_allowed]
  obligations: [{type: move_effect, to: failed_before_effect}]
""",
}
