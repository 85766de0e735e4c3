"""A sound bundle written out, so that a change of the bundle that is shipped moves no position a test compares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from opa_point import OpaPoint

from gate import opa
from gate.compiler import Compiled, assemble, compile_bundle
from gate.documents import Case, load_cases
from gate.release import case_document

_SHIPPED = Path(__file__).resolve().parents[2] / "bundles" / "support-triage"

DOCUMENTS: Mapping[str, str] = {
    "bundle.yaml": """\
bundle:
  bundle_id: policy-support-triage
  version: "2026.04.07"
  owner_team: platform-safety
  applies_to:
    agent_ids: [support-triage-ref]
  artifacts: [policy.yaml, capabilities.yaml, approvals.yaml, reviewers.yaml]
  contract_version: capability-contract-v3
  release_identity: release-canary
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
    allow_kinds: [validated_fact]
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
        query: {type: string, description: what to look for}
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
    identifying_arguments: [/queue, /title]
    arguments:
      type: object
      additionalProperties: false
      required: [queue, title]
      properties:
        queue: {type: string, enum: [support, billing]}
        title: {type: string, minLength: 1, maxLength: 200}
""",
    "approvals.yaml": """\
approval_contracts:
  - contract_id: create-ticket-manager
    capability: create_ticket
    risk_tier: high
    bundle_version: "2026.04.07"
    release_identity: release-canary
    required_reviewers: [manager]
    request_fields: [trace_id, idempotency_key]
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


def put(folder: Path, documents: Mapping[str, str] = DOCUMENTS) -> Path:
    """Writes `documents` into `folder` and returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in documents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def edited(*edits: tuple[str, str, str]) -> dict[str, str]:
    """The documents with `(file, old, new)` applied; each `old` stands exactly once in its file."""
    documents = dict(DOCUMENTS)
    for file, old, new in edits:
        assert documents[file].count(old) == 1, (file, old)
        documents[file] = documents[file].replace(old, new)
    return documents


def compiled(folder: Path, *edits: tuple[str, str, str]) -> Compiled:
    """The bundle with `edits`, compiled."""
    return compile_bundle(put(folder, edited(*edits)))


def point_of(*bundles: Compiled) -> OpaPoint:
    """The bundles linked with the core policies, on a real OPA."""
    assembly = assemble(bundles)
    return OpaPoint(assembly.modules, revision=assembly.revision)


@cache
def _allowed_search() -> Case:
    (case,) = [c for c in load_cases(_SHIPPED) if c.id == "search_docs_allowed"]
    return case


def call(compiled: Compiled, capability: str, **changes: Any) -> dict[str, Any]:
    """A document of a read-only tool call that nothing but the policy of the capability can refuse.

    What else a sound document needs is taken from the shipped bundle's case of such a call.
    """
    agent = compiled.bundle.meta.agent_ids[0]
    facts = point_of(compiled).facts(agent)
    sections = {"bundle": facts.bundle, "capabilities": facts.capabilities, "contracts": facts.contracts}
    document = case_document(_allowed_search(), {**sections, "reviewers": facts.reviewers})
    entry = facts.capabilities.get(capability, {})
    document["agent"]["agent_id"] = document["state"]["run"]["agent_id"] = agent
    document["request"]["capability"] = capability
    # What the shipped bundle has its host's adapters say; these bundles govern neither servers nor verifiers.
    document["evidence"] = {"arguments": document["evidence"]["arguments"]}
    document["state"]["versions"]["capability_version"] = entry.get("capability_version")
    document["evidence"]["arguments"]["schema_digest"] = entry.get("arguments_digest")
    return {**document, **changes}


def opa_value(binary: Path, query: str, *paths: Path) -> Any:
    """The value of `query` over the Rego files or folders `paths`, from the real OPA."""
    data = [part for path in paths for part in ("-d", str(path))]
    done = opa.run(["eval", "--format", "json", *data, query], binary=binary)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return json.loads(done.stdout)["result"][0]["expressions"][0]["value"]
