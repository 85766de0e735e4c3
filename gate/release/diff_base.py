"""Sound input documents made from what a bundle says of itself: a call in order, with every approval it needs.

Pure. They are where generated inputs start from, so that one change to them meets one rule and not ten others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gate.compiler.model import CHECKPOINTS
from gate.documents import Case
from gate.release.diff_documents import Candidate, fact, value_at
from gate.release.diff_settled import STANDING
from gate.release.golden import FACTS

NOW_MS = 1_775_560_000_000
ACTION = "sha256:" + "1" * 64
_INTENT = "sha256:" + "2" * 64
TENANT, PRINCIPAL, RUN, SESSION = "tenant-a", "user-1", "run-1", "session-1"
ENVIRONMENT = "review"
EPOCH = 1
_OWN_RUN = {"authorization_mode": "platform_owned", "delegated_principal_id": None, "delegated_scope": None}


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


def _good(key: Mapping[str, Any], at_ms: int) -> bool:
    return bool(key["not_before_ms"] <= at_ms < key["not_after_ms"])


def vote(reviewer: str, facts: Mapping[str, Any], capability: str) -> dict[str, Any]:
    """A verified vote of `reviewer` for the one action of these documents."""
    keys = facts["reviewers"].get(reviewer, {}).get("keys", {})
    now = now_ms(facts)
    return {
        "reviewer": reviewer,
        "key_id": next((key for key, span in keys.items() if _good(span, now)), next(iter(keys), "no-key")),
        "decision": "approved",
        "approval_id": "apr-1",
        "nonce": "nonce-1",
        "environment": ENVIRONMENT,
        "action_digest": ACTION,
        "contract_digest": fact("contracts", capability, "contract_digest"),
        "issued_at_ms": now - 100_000,
        "expires_at_ms": now + 1_000_000,
        "verified": True,
        **({"standing_digest": STANDING} if _stands(facts, capability) else {}),
    }


def _stands(facts: Mapping[str, Any], capability: str) -> bool:
    """Whether an approval of the capability covers later actions like the one it is for."""
    return bool(facts["contracts"].get(capability, {}).get("standing"))


def voters(facts: Mapping[str, Any], capability: str) -> list[str]:
    """Reviewers enough to approve the capability, each a human of their own; empty without a contract."""
    contract = facts["contracts"].get(capability)
    if contract is None:
        return []
    roles, humans, chosen = set(contract["required_reviewers"]), set(), []
    # Who holds most of the roles comes first: a rule may want one of them to hold a certain one.
    at = now_ms(facts)
    able = [item for item in facts["reviewers"].items() if any(_good(key, at) for key in item[1]["keys"].values())]
    ranked = sorted(able, key=lambda item: -len(roles & set(item[1]["roles"])))
    for name, reviewer in ranked:
        human = " ".join(str(reviewer["human"]).casefold().split())
        if roles & set(reviewer["roles"]) and human not in humans:
            humans.add(human)
            chosen.append(name)
    return chosen[: int(contract["quorum"])]


def approval(facts: Mapping[str, Any], capability: str, reviewers: list[str]) -> dict[str, Any]:
    """An approval of the capability, signed by `reviewers`."""
    return {
        "approval_id": "apr-1",
        "run_id": RUN,
        "status": "approved",
        "capability": capability,
        "contract_id": fact("contracts", capability, "contract_id"),
        "contract_digest": fact("contracts", capability, "contract_digest"),
        "action_digest": ACTION,
        "intent_digest": _INTENT,
        "nonce": "nonce-1",
        "tenant_id": TENANT,
        "principal_id": PRINCIPAL,
        "agent_id": None,
        "session_id": SESSION,
        "requested_by": PRINCIPAL,
        "bundle_version": fact("bundle", "version"),
        "release_identity": fact("bundle", "release_identity"),
        "created_at_ms": now_ms(facts) - 200_000,
        "expires_at_ms": now_ms(facts) + 1_000_000,
        "escalated_at_ms": None,
        "standing_digest": STANDING if _stands(facts, capability) else None,
        "uses": 0,
        "denied_keys": [],
        "version": 2,
        "epoch": EPOCH,
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
        arguments |= {name: PRINCIPAL for name in ("requester_id", "principal_id", "user_id") if name in arguments}
    document = document_of(agent, facts, "tool_execution", "call_tool", capability)
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
    """`base` with what the host vouches for in the first of `cases` that is allowed to do the same.

    Only cases know what the sources say; without it a call that needs evidence would be refused whatever changed. What
    they say is about the arguments and the people of the case, so that those come along.
    """
    operation = value_at(base.base, ("operation",))
    name = value_at(base.base, ("request", "capability"))
    for case in cases:
        document = case.document
        if case.expect_verdict != "allow" or document.get("operation") != operation:
            continue
        if operation in CALLS and value_at(document, ("request", "capability")) != name:
            continue
        return replace(base, base=_lent(base.base, document))
    return base


def _lent(base: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    moved = base["now_ms"] - document.get("now_ms", 0)
    words: dict[str, str] = {}
    for path in _NAMED:
        theirs, ours = value_at(document, path), value_at(base, path)
        if isinstance(theirs, str) and isinstance(ours, str):
            words.setdefault(theirs, ours)
    sections = ("request", "state", "evidence", "digests")
    theirs = {name: _moved(document.get(name) or {}, moved, words) for name in sections}
    identity = {**base["identity"], **_moved(document.get("identity") or {}, moved, words)}
    state = {**theirs["state"], **base["state"]}
    state["run"] = {**(theirs["state"].get("run") or {}), **base["state"]["run"]}
    state["run"] |= {key: value for key, value in identity.items() if key in state["run"]}
    return {
        **base,
        "agent": {**(document.get("agent") or {}), **base["agent"]},
        "identity": identity,
        "request": {**theirs["request"], **base["request"], **_taken(theirs["request"], _WORDED)},
        "state": state,
        "evidence": {**theirs["evidence"], **base["evidence"]},
        "digests": {**base["digests"], **_taken(theirs["digests"], ("tool_definition",))},
    }


CALLS = frozenset({"call_tool", "resume_tool", "elicit", "progress"})
"""Operations that are about one capability."""
_WORDED = ("arguments", "text", "resource", "memory_kind")
# Who and what a case is about goes by the same names everywhere in it.
_NAMED = (
    *(("identity", name) for name in ("tenant_id", "principal_id", "delegated_principal_id")),
    *(("trace", name) for name in ("trace_id", "session_id", "run_id")),
    *(("digests", name) for name in ("action_digest", "intent_digest", "arguments")),
    ("agent", "environment"),
    ("request", "idempotency_key"),
)


def _taken(section: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: section[name] for name in names if name in section}


def _moved(value: Any, by_ms: int, words: Mapping[str, str]) -> Any:
    """`value` with every time in it moved, so that it is as old as it was, and every one of `words` put in words."""
    if isinstance(value, list):
        return [_moved(each, by_ms, words) for each in value]
    if not isinstance(value, Mapping):
        return words.get(value, value) if isinstance(value, str) else value
    if FACTS in value:
        return value
    return {
        key: each + by_ms if key.endswith(_TIMES) and type(each) is int else _moved(each, by_ms, words)
        for key, each in value.items()
    }


_TIMES = ("_at_ms", "since_ms", "until_ms")


def operations(agent: str, facts: Mapping[str, Any], memory_kind: str | None = None) -> Iterator[Candidate]:
    """Every operation that is about no capability, record or boundary; a memory is of `memory_kind`."""
    for checkpoint, names in CHECKPOINTS.items():
        for operation in names:
            if operation in CALLS or (checkpoint == "state" and operation != "memory_write"):
                continue
            document = document_of(agent, facts, checkpoint, operation, None)
            document["request"] = {"text": "harmless text"}
            if operation == "memory_write":
                document["request"]["memory_kind"] = memory_kind
            yield Candidate(origin="generated", name=operation, base=document)


def in_session(call: Candidate) -> Iterator[Candidate]:
    """What can happen inside a session with the server of a sound `call`: it goes on, asks something, or reports."""
    document = call.base
    now = document["now_ms"]
    session = {
        "session_id": "server-session-1",
        "capability": document["request"]["capability"],
        "tenant_id": TENANT,
        "principal_id": PRINCIPAL,
        "trace_session_id": SESSION,
        "status": "active",
        "paused_at_ms": now - 10_000,
        "expires_at_ms": now + 1_000_000,
        "reinitialized_from": None,
        "elicits_sensitive": False,
    }
    authorized = {
        "status": "active",
        "delegated_principal_id": document["identity"]["delegated_principal_id"],
        "delegated_scope": document["identity"]["delegated_scope"],
        "checked_at_ms": now - 1,
        "token_reused": False,
        "token_run_id": RUN,
        "token_session_id": SESSION,
        "token_expires_at_ms": now + 1_000_000,
        "checked_by": "review",
        "check_age_ms": 1,
        "signed_by": None,
    }
    for operation in ("resume_tool", "elicit", "progress"):
        evidence = {"authorization": authorized, **document["evidence"], "session": session}
        made = {**document, "operation": operation, "evidence": evidence}
        yield Candidate(
            origin="generated",
            name=f"{operation} {session['capability']}",
            base=made,
            patches=call.patches,
        )


def transitions(agent: str, facts: Mapping[str, Any]) -> Iterator[Candidate]:
    """Each reviewer approving and rejecting under each contract, and reconciling an effect of unknown outcome."""
    for capability in facts["contracts"]:
        for reviewer in facts["reviewers"]:
            for transition, decision in (("approve", "approved"), ("reject", "rejected")):
                document = by_reviewer(agent, facts, "approval_transition", capability, reviewer)
                pending = {**approval(facts, capability, []), "agent_id": agent, "status": "pending"}
                document["request"] = {"transition": transition}
                document["state"]["approval"] = pending
                document["evidence"] = {"vote": {**vote(reviewer, facts, capability), "decision": decision}}
                name = f"{reviewer} votes to {transition} {capability}"
                yield Candidate(origin="generated", name=name, base=document)
                # Another vote may count where nobody is acted for.
                state = {**document["state"], "run": {**document["state"]["run"], **_OWN_RUN}}
                yield Candidate(origin="generated", name=f"{name} in an own run", base={**document, "state": state})
    for capability, entry in facts["capabilities"].items():
        if entry.get("mode") != "read":
            document = by_reviewer(agent, facts, "effect_transition", capability, next(iter(facts["reviewers"]), "x"))
            document["request"] = {"outcome": "not_committed"}
            document["state"]["side_effect"] = {
                "status": "side_effect_unknown",
                "capability": capability,
                "business_key": "sha256:" + "4" * 64,
                "idempotency_key": "key-1",
                "action_digest": ACTION,
                "run_id": RUN,
                "lease_expires_at_ms": now_ms(facts) - 1,
                "version": 3,
            }
            document["evidence"] = {"reconciliation": {"evidence_ref": "ledger entry", "owner_fenced": True}}
            yield Candidate(origin="generated", name=f"reconcile {capability}", base=document)


def by_reviewer(agent: str, facts: Mapping[str, Any], operation: str, capability: str, reviewer: str) -> dict[str, Any]:
    """A document in which the person `reviewer` moves a record about `capability`."""
    document = document_of(agent, facts, "state", operation, capability)
    document["identity"] = {
        "tenant_id": TENANT,
        "principal_id": reviewer,
        "authorization_mode": "human_approved",
    }
    return document


def document_of(
    agent: str, facts: Mapping[str, Any], checkpoint: str, operation: str, capability: str | None
) -> dict[str, Any]:
    """What every sound document is made from: a running session, nothing asked for yet, nothing in the ledger."""
    name = capability or ""
    identity = {
        "tenant_id": TENANT,
        "principal_id": PRINCIPAL,
        "authorization_mode": "user_delegated",
        "delegated_principal_id": PRINCIPAL,
        "delegated_scope": "review",
    }
    run = {
        "run_id": RUN,
        "status": "running",
        "agent_id": agent,
        "session_id": SESSION,
        "version": 1,
        "epoch": EPOCH,
        "boundary": None,
    }
    return {
        "schema_version": "gate-input/v1",
        "checkpoint": checkpoint,
        "operation": operation,
        "request_id": "req-review",
        "now_ms": now_ms(facts),
        "trace": {"trace_id": "trace-review", "session_id": SESSION, "run_id": RUN},
        "agent": {"agent_id": agent, "environment": ENVIRONMENT},
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
            "action_digest": ACTION,
            "intent_digest": _INTENT,
            "arguments": "sha256:" + "3" * 64,
            "tool_definition": None,
            **({"standing_digest": STANDING} if _stands(facts, name) else {}),
        },
    }
