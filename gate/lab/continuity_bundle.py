"""A small governed bundle with its own reviewer key, for playing boundaries on where nothing else is governed.

Pure but for `write_bundle`. The key is made for one play and kept nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gate.compiler import Compiled, compile_bundle, write
from gate.records import ReviewerKey, generate_key

AGENT = "continuity-exercise"
REVIEWER, KEY_ID = "reviewer", "reviewer-key"

_TEXTS = {
    "bundle.yaml": """\
bundle:
  bundle_id: continuity-exercise
  version: "<VERSION>"
  owner_team: nobody
  applies_to:
    agent_ids: [continuity-exercise]
  artifacts: [policy.yaml, capabilities.yaml, approvals.yaml, reviewers.yaml]
  contract_version: contract-v1
  release_identity: exercise
""",
    "policy.yaml": """\
policy:
  run_precheck:
    require_tenant: true
    deny_if_principal_missing: true
  operations:
    run_start: allow
    user_message: allow
    compact: allow
    reset: allow
    handoff: allow
    fork: allow
    recover: allow
    rehydrate: allow
    memory_write: allow
    approval_transition: allow
    effect_transition: allow
  capabilities:
    create_ticket:
      decision: approval_required
      approver: manager
  memory_write:
    allow_kinds: [validated_fact]
  execution:
    allow_network_access: [none]
""",
    "capabilities.yaml": """\
capabilities:
  create_ticket:
    owner: nobody
    mode: write
    side_effect: external_write
    transport: gateway
    tool_principal: svc-ticket-writer
    risk_tier: high
    network_access: none
    allowed_egress: []
    timeout_seconds: 15
    approval: manager
    idempotency_key_required: true
    identifying_arguments: [/title]
    arguments:
      type: object
      additionalProperties: false
      required: [title]
      properties:
        title: {type: string, minLength: 1, maxLength: 200}
""",
    "approvals.yaml": """\
approval_contracts:
  - contract_id: create-ticket-manager
    capability: create_ticket
    risk_tier: high
    bundle_version: "<VERSION>"
    release_identity: exercise
    required_reviewers: [manager]
    request_fields: [trace_id, session_id, idempotency_key, requested_by, reason, tool_arguments_redacted]
    allowed_decisions: [approved, rejected]
    runtime_controls:
      pause_allowed: true
      max_wait_seconds: <WAIT>
      on_expiry: request_again
    on_reject: continue_without
""",
    "reviewers.yaml": """\
reviewers:
  - id: reviewer
    human: A Reviewer
    roles: [manager]
    keys:
      - key_id: reviewer-key
        public_key: <KEY>
        not_before: "2020-01-01T00:00:00Z"
        not_after: "2098-01-01T00:00:00Z"
""",
}


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Both halves of the key that votes in one play."""

    key: ReviewerKey
    public_key: str

    @classmethod
    def new(cls) -> Reviewer:
        """A reviewer with a key of its own."""
        private, public = generate_key()
        return cls(ReviewerKey(reviewer=REVIEWER, key_id=KEY_ID, private_key=private), public)


def write_bundle(folder: Path, *, version: str, wait_seconds: int, reviewer: Reviewer) -> Compiled:
    """The bundle at `version`, compiled into `folder`; an approval waits `wait_seconds` at most.

    Raises `BundleError` for a version that a bundle cannot have.
    """
    folder.mkdir(parents=True)
    values = {"<VERSION>": version, "<WAIT>": str(wait_seconds), "<KEY>": reviewer.public_key}
    for name, text in _TEXTS.items():
        for mark, value in values.items():
            text = text.replace(mark, value)
        (folder / name).write_text(text, "utf-8")
    compiled = compile_bundle(folder)
    write(compiled)
    return compiled
