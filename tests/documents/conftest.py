"""A sound bundle folder that a test may break."""

from __future__ import annotations

from pathlib import Path

import pytest

# Written out, so that a change of the bundle that is shipped moves no position a test compares.
DOCUMENTS = {
    "bundle.yaml": """\
bundle:
  bundle_id: policy-support-triage-2026-04-07
  version: "2026.04.07"
  owner_team: platform-safety
  applies_to:
    agent_ids: [support-triage-ref]
  artifacts:
    - policy.yaml
    - capabilities.yaml
    - approvals.yaml
    - reviewers.yaml
  contract_version: capability-contract-v3
  release_identity: release-support-triage-2026-04-07-canary
  redaction_policy:
    show_arguments:
      create_ticket: [/queue, /title]
""",
    "policy.yaml": """\
policy:
  run_precheck:
    require_tenant: true
    deny_if_principal_missing: true
  operations:
    run_start: allow
    model_call: allow
    memory_write: allow
    approval_transition: allow
    effect_transition: allow
    list_tools: allow
    emit: allow
  capabilities:
    search_docs:
      decision: allow
    create_ticket:
      decision: approval_required
      approver: manager
    run_shell:
      decision: deny
  memory_write:
    allow_kinds: [validated_fact, session_summary]
  execution:
    allow_network_access: [restricted, brokered]
""",
    "capabilities.yaml": """\
capabilities:
  search_docs:
    owner: knowledge_platform
    mode: read
    side_effect: none
    transport: mcp
    server: docs-mcp
    tool_principal: svc-knowledge-reader
    risk_tier: low
    network_access: restricted
    allowed_egress: [docs.internal]
    timeout_seconds: 5
    approval: none
    arguments:
      type: object
      additionalProperties: false
      required: [query]
      properties:
        query: {type: string, minLength: 1, maxLength: 2000}
        limit: {type: integer, minimum: 1, maximum: 50}
  create_ticket:
    owner: support_platform
    mode: write
    side_effect: external_write
    transport: gateway
    tool_principal: svc-ticket-writer
    risk_tier: high
    network_access: brokered
    allowed_egress: [tickets.internal]
    timeout_seconds: 15
    approval: manager
    idempotency_key_required: true
    identifying_arguments: [/queue, /requester_id, /title]
    arguments:
      type: object
      additionalProperties: false
      required: [queue, requester_id, title]
      properties:
        queue: {type: string, enum: [support, billing]}
        requester_id: {type: string, minLength: 1, maxLength: 200}
        title: {type: string, minLength: 1, maxLength: 200}
        body: {type: string, maxLength: 10000}
""",
    "approvals.yaml": """\
approval_contracts:
  - contract_id: create-ticket-manager
    capability: create_ticket
    risk_tier: high
    bundle_version: "2026.04.07"
    release_identity: release-support-triage-2026-04-07-canary
    required_reviewers: [manager]
    request_fields:
      - trace_id
      - session_id
      - idempotency_key
      - requested_by
      - reason
      - tool_arguments_redacted
    allowed_decisions: [approved, rejected]
    runtime_controls:
      pause_allowed: true
      max_wait_seconds: 1800
      on_expiry: cancel_run
    on_reject: stop_run
""",
    "reviewers.yaml": """\
reviewers:
  - id: mira-manager
    human: Mira Okafor
    roles: [manager]
    keys:
      - key_id: mira-manager-2026
        public_key: as8VEQmAlpUH8IGf0BmcTFOH5CJzejSIe7FdFQcoJ/A=
        not_before: "2026-01-01T00:00:00Z"
        not_after: "2028-01-01T00:00:00Z"
""",
}


@pytest.fixture
def bundle_folder(tmp_path: Path) -> Path:
    """A folder `support-triage` with five documents that fit together."""
    folder = tmp_path / "support-triage"
    folder.mkdir()
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
