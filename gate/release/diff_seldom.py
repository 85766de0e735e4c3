"""Sound documents of what seldom happens: an approval taken back, run out or escalated, a tool list from a cache.

Pure; beside `diff_base`, whose documents they are made like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gate.release.diff_base import PRINCIPAL, TENANT, approval, by_reviewer, now_ms, vote, voters
from gate.release.diff_documents import Candidate, fact, value_at

_DAY_MS = 86_400_000
_SIGNED = (("cancel", "cancelled", "pending"), ("revoke", "revoked", "approved"))


def moves(agent: str, facts: Mapping[str, Any]) -> Iterator[Candidate]:
    """Who asked takes the request back, each reviewer cancels and revokes, and time expires or escalates it."""
    for capability in facts["contracts"]:
        document = _moved(agent, facts, capability, PRINCIPAL, "cancel", "pending")
        document["evidence"] = {"vote": None}
        yield Candidate(origin="generated", name=f"whoever asked cancels {capability}", base=document)
        for reviewer in facts["reviewers"]:
            for transition, decision, status in _SIGNED:
                document = _moved(agent, facts, capability, reviewer, transition, status)
                document["evidence"] = {"vote": {**vote(reviewer, facts, capability), "decision": decision}}
                yield Candidate(
                    origin="generated", name=f"{reviewer} votes to {transition} {capability}", base=document
                )
        yield from _handed_on(agent, facts, capability)
        lapses = [("expire", {"expires_at_ms": now_ms(facts) - 1})]
        escalation = facts["contracts"][capability]["runtime_controls"].get("escalation")
        if isinstance(escalation, Mapping):
            lapses.append(("escalate", {"created_at_ms": now_ms(facts) - escalation["after_ms"]}))
        for transition, changes in lapses:
            document = _moved(agent, facts, capability, PRINCIPAL, transition, "pending")
            document["state"]["approval"] |= changes
            document["evidence"] = {"vote": None}
            yield Candidate(origin="generated", name=f"{transition} {capability}", base=document)


def _handed_on(agent: str, facts: Mapping[str, Any], capability: str) -> Iterator[Candidate]:
    """Each reviewer's vote after an escalation, and each handing their vote to another, where the contract says so."""
    contract = facts["contracts"][capability]
    for reviewer in facts["reviewers"]:
        signed = vote(reviewer, facts, capability)
        if isinstance(contract["runtime_controls"].get("escalation"), Mapping):
            document = _moved(agent, facts, capability, reviewer, "approve", "pending")
            document["state"]["approval"]["escalated_at_ms"] = signed["issued_at_ms"]
            document["evidence"] = {"vote": signed}
            yield Candidate(origin="generated", name=f"{reviewer} votes on escalated {capability}", base=document)
        for other in facts["reviewers"] if contract.get("delegation") is True else ():
            document = _moved(agent, facts, capability, reviewer, "delegate", "pending")
            document["evidence"] = {"vote": {**signed, "decision": "delegated", "delegate_to": other}}
            yield Candidate(origin="generated", name=f"{reviewer} hands {capability} to {other}", base=document)


def from_cache(call: Candidate, server: str) -> Candidate:
    """A sound `call` of a tool that stands in a list which `server` gave a moment ago, to everyone of the tenant."""
    now = value_at(call.base, ("now_ms",))
    tool = "sha256:" + "4" * 64
    snapshot = {
        "target_id": server,
        "tenant_ref": TENANT,
        "principal_ref": PRINCIPAL,
        "access_ref": "access-1",
        "current_access_ref": "access-1",
        "policy_version": fact("bundle", "version"),
        "server_ttl_ms": _DAY_MS,
        "server_cache_scope": "public",
        "local_max_ttl_ms": _DAY_MS,
        "fetched_at_ms": now - 1,
        "cache_hit": True,
        "tool_definition": tool,
        "checked_by": "review",
        "checked_at_ms": now - 1,
        "check_age_ms": 1,
        "signed_by": None,
    }
    lent = value_at(call.base, ("digests", "tool_definition"))
    if isinstance(lent, str):  # the bundle pins the tool, and a case knows the digest
        snapshot["tool_definition"] = lent
    digests = {**call.base["digests"], "tool_definition": snapshot["tool_definition"]}
    evidence = {**call.base["evidence"], "catalog_cache": snapshot}
    return replace(call, name=f"{call.name} from a cache", base={**call.base, "digests": digests, "evidence": evidence})


def _moved(
    agent: str, facts: Mapping[str, Any], capability: str, who: str, transition: str, status: str
) -> dict[str, Any]:
    document = by_reviewer(agent, facts, "approval_transition", capability, who)
    document["request"] = {"transition": transition}
    signed = voters(facts, capability) if status == "approved" else []
    document["state"]["approval"] = {**approval(facts, capability, signed), "agent_id": agent, "status": status}
    return document
