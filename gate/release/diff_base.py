"""Sound input documents made from what a bundle says of itself: a call in order, with every approval it needs.

Pure. They are where generated inputs start from, so that one change to them meets one rule and not ten others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gate.compiler.model import CHECKPOINTS
from gate.documents import Case
from gate.release.diff_documents import Candidate, fact

NOW_MS = 1_775_560_000_000
_ACTION = "sha256:" + "1" * 64
_INTENT = "sha256:" + "2" * 64
_TENANT, _PRINCIPAL, _RUN, _SESSION = "tenant-a", "user-1", "run-1", "session-1"
_ENVIRONMENT = "review"
_EPOCH = 1


def sample(schema: Any) -> Any:
    """A value that the argument schema `schema` accepts, as far as it is one of the usual kinds."""
    if not isinstance(schema, Mapping):
        return None
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    match kind:
        case "object":
            wanted, properties = schema.get("required", ()), schema.get("properties", {})
            return {name: sample(properties.get(name)) for name in wanted}
        case "array":
            return [sample(schema.get("items")) for _ in range(int(schema.get("minItems", 0)))]
        case "integer" | "number":
            low = schema.get("minimum", 1)
            return low if low > 0 else min(1, schema.get("maximum", 1))
        case "boolean":
            return False
        case "string":
            return "sample".ljust(int(schema.get("minLength", 0)), "x")[: int(schema.get("maxLength", 200))]
    return None


def now_ms(facts: Mapping[str, Any]) -> int:
    """A time at which every reviewer's key is good, as far as there is one."""
    starts = [key["not_before_ms"] for reviewer in facts["reviewers"].values() for key in reviewer["keys"].values()]
    return int(max([NOW_MS, *(start + 3_600_000 for start in starts)]))


def vote(reviewer: str, facts: Mapping[str, Any], capability: str) -> dict[str, Any]:
    """A verified vote of `reviewer` for the one action of these documents."""
    keys = facts["reviewers"].get(reviewer, {}).get("keys", {})
    now = now_ms(facts)
    return {
        "reviewer": reviewer,
        "key_id": next(iter(keys), "no-key"),
        "decision": "approved",
        "approval_id": "apr-1",
        "nonce": "nonce-1",
        "environment": _ENVIRONMENT,
        "action_digest": _ACTION,
        "contract_digest": fact("contracts", capability, "contract_digest"),
        "issued_at_ms": now - 100_000,
        "expires_at_ms": now + 1_000_000,
        "verified": True,
    }


def voters(facts: Mapping[str, Any], capability: str) -> list[str]:
    """Reviewers enough to approve the capability, each a human of their own; empty without a contract."""
    contract = facts["contracts"].get(capability)
    if contract is None:
        return []
    roles, humans, chosen = set(contract["required_reviewers"]), set(), []
    # Who holds most of the roles comes first: a rule may want one of them to hold a certain one.
    ranked = sorted(facts["reviewers"].items(), key=lambda item: -len(roles & set(item[1]["roles"])))
    for name, reviewer in ranked:
        if roles & set(reviewer["roles"]) and reviewer["human"] not in humans:
            humans.add(reviewer["human"])
            chosen.append(name)
    return chosen[: int(contract["quorum"])]


def approval(facts: Mapping[str, Any], capability: str, reviewers: list[str]) -> dict[str, Any]:
    """An approval of the capability, signed by `reviewers`."""
    return {
        "approval_id": "apr-1",
        "run_id": _RUN,
        "status": "approved",
        "capability": capability,
        "contract_id": fact("contracts", capability, "contract_id"),
        "contract_digest": fact("contracts", capability, "contract_digest"),
        "action_digest": _ACTION,
        "intent_digest": _INTENT,
        "nonce": "nonce-1",
        "tenant_id": _TENANT,
        "principal_id": _PRINCIPAL,
        "agent_id": None,
        "session_id": _SESSION,
        "requested_by": _PRINCIPAL,
        "bundle_version": fact("bundle", "version"),
        "release_identity": fact("bundle", "release_identity"),
        "created_at_ms": now_ms(facts) - 200_000,
        "expires_at_ms": now_ms(facts) + 1_000_000,
        "escalated_at_ms": None,
        "standing_digest": None,
        "uses": 0,
        "denied_keys": [],
        "version": 2,
        "epoch": _EPOCH,
        "votes": [vote(reviewer, facts, capability) for reviewer in reviewers],
    }


def call(agent: str, facts: Mapping[str, Any], capability: str) -> Candidate:
    """A call of `capability` in order, approved where the bundle has a contract for it."""
    chosen = voters(facts, capability)
    made: dict[str, Any] | None = approval(facts, capability, chosen) if chosen else None
    if made is not None:
        made["agent_id"] = agent
    entry = facts["capabilities"].get(capability, {})
    arguments = sample(entry.get("arguments"))
    if isinstance(arguments, dict):
        arguments |= {name: _PRINCIPAL for name in ("requester_id", "principal_id", "user_id") if name in arguments}
    document = _document(agent, facts, "tool_execution", "call_tool", capability)
    document["request"] = {
        "capability": capability,
        "idempotency_key": "key-1",
        "resource": None,
        "reason": "a reviewer compares two bundles",
        "arguments": arguments,
    }
    document["state"]["approval"] = made
    return Candidate(origin="generated", name=f"call {capability}", base=document)


def vouched(base: Candidate, cases: Iterable[Case]) -> Candidate:
    """`base` with what the host vouches for in the first of `cases` that is allowed to call the same capability.

    Only cases know what the sources say; without it a call that needs evidence would be refused whatever changed.
    """
    name = base.base["request"]["capability"]
    for case in cases:
        document = case.document
        if case.expect_verdict != "allow" or document.get("request", {}).get("capability") != name:
            continue
        moved = base.base["now_ms"] - document.get("now_ms", 0)
        said = {key: _moved(value, moved) for key, value in document.get("evidence", {}).items()}
        return replace(base, base={**base.base, "evidence": {**said, **base.base["evidence"]}})
    return base


def _moved(value: Any, by_ms: int) -> Any:
    """`value` with every time in it moved, so that it is as old as it was."""
    if not isinstance(value, dict):
        return value
    return {
        key: each + by_ms if key.endswith("_at_ms") and type(each) is int else _moved(each, by_ms)
        for key, each in value.items()
    }


def operations(agent: str, facts: Mapping[str, Any], memory_kind: str | None = None) -> Iterator[Candidate]:
    """Every operation that is no call, in order as far as any bundle can want it; a memory is of `memory_kind`."""
    first = next(iter(facts["capabilities"]), None)
    for checkpoint, names in CHECKPOINTS.items():
        for operation in names:
            if operation == "call_tool":
                continue
            document = _document(agent, facts, checkpoint, operation, first)
            document["request"] = {"text": "harmless text"}
            if operation == "memory_write":
                document["request"]["memory_kind"] = memory_kind
            if operation in {"resume_tool", "elicit", "progress"}:
                document["request"] |= {"capability": first, "arguments": {}}
            yield Candidate(origin="generated", name=operation, base=document)


def transitions(agent: str, facts: Mapping[str, Any]) -> Iterator[Candidate]:
    """Each reviewer approving and rejecting under each contract, and reconciling an effect of unknown outcome."""
    for capability in facts["contracts"]:
        for reviewer in facts["reviewers"]:
            for transition, decision in (("approve", "approved"), ("reject", "rejected")):
                document = _by_reviewer(agent, facts, "approval_transition", capability, reviewer)
                pending = {**approval(facts, capability, []), "agent_id": agent, "status": "pending"}
                document["request"] = {"transition": transition}
                document["state"]["approval"] = pending
                document["evidence"] = {"vote": {**vote(reviewer, facts, capability), "decision": decision}}
                yield Candidate(
                    origin="generated", name=f"{reviewer} votes to {transition} {capability}", base=document
                )
    for capability, entry in facts["capabilities"].items():
        if entry.get("mode") != "read":
            document = _by_reviewer(agent, facts, "effect_transition", capability, next(iter(facts["reviewers"]), "x"))
            document["request"] = {"outcome": "not_committed"}
            document["state"]["side_effect"] = {
                "status": "side_effect_unknown",
                "capability": capability,
                "business_key": "sha256:" + "4" * 64,
                "idempotency_key": "key-1",
                "action_digest": _ACTION,
                "run_id": _RUN,
                "lease_expires_at_ms": now_ms(facts) - 1,
                "version": 3,
            }
            document["evidence"] = {"reconciliation": {"evidence_ref": "ledger entry", "owner_fenced": True}}
            yield Candidate(origin="generated", name=f"reconcile {capability}", base=document)


def _by_reviewer(
    agent: str, facts: Mapping[str, Any], operation: str, capability: str, reviewer: str
) -> dict[str, Any]:
    document = _document(agent, facts, "state", operation, capability)
    document["identity"] = {
        "tenant_id": _TENANT,
        "principal_id": reviewer,
        "authorization_mode": "human_approved",
    }
    return document


def _document(
    agent: str, facts: Mapping[str, Any], checkpoint: str, operation: str, capability: str | None
) -> dict[str, Any]:
    name = capability or ""
    identity = {
        "tenant_id": _TENANT,
        "principal_id": _PRINCIPAL,
        "authorization_mode": "user_delegated",
        "delegated_principal_id": _PRINCIPAL,
        "delegated_scope": "review",
    }
    run = {
        "run_id": _RUN,
        "status": "running",
        "agent_id": agent,
        "session_id": _SESSION,
        "version": 1,
        "epoch": _EPOCH,
        "boundary": None,
    }
    return {
        "schema_version": "gate-input/v1",
        "checkpoint": checkpoint,
        "operation": operation,
        "request_id": "req-review",
        "now_ms": now_ms(facts),
        "trace": {"trace_id": "trace-review", "session_id": _SESSION, "run_id": _RUN},
        "agent": {"agent_id": agent, "environment": _ENVIRONMENT},
        "identity": identity,
        "request": {},
        "state": {
            "run": {**run, **identity},
            "constraints": [],
            "versions": {
                "bundle_version": fact("bundle", "version"),
                "release_identity": fact("bundle", "release_identity"),
                "capability_version": fact("capabilities", name, "capability_version"),
                "contract_digest": fact("contracts", name, "contract_digest"),
            },
            "approval": None,
            "rejection": {"approval_id": None, "intent_digest": None},
            "side_effect": {"status": "not_started"},
            "idempotency": {"idempotency_key": None, "action_digest": None},
        },
        "evidence": {
            "arguments": {
                "valid": True,
                "schema_digest": fact("capabilities", name, "arguments_digest"),
                "identified": True,
            }
        },
        "digests": {
            "action_digest": _ACTION,
            "intent_digest": _INTENT,
            "arguments": "sha256:" + "3" * 64,
            "tool_definition": None,
        },
    }
