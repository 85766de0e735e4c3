"""Sound documents of what becomes of an approval besides a vote: it is taken back, runs out, or goes one step higher.

Pure; beside `diff_base`, whose documents they are made like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gate.release.diff_base import PRINCIPAL, approval, by_reviewer, now_ms, vote, voters
from gate.release.diff_documents import Candidate

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
        lapses = [("expire", {"expires_at_ms": now_ms(facts) - 1})]
        escalation = facts["contracts"][capability]["runtime_controls"].get("escalation")
        if isinstance(escalation, Mapping):
            lapses.append(("escalate", {"created_at_ms": now_ms(facts) - escalation["after_ms"]}))
        for transition, changes in lapses:
            document = _moved(agent, facts, capability, PRINCIPAL, transition, "pending")
            document["state"]["approval"] |= changes
            document["evidence"] = {"vote": None}
            yield Candidate(origin="generated", name=f"{transition} {capability}", base=document)


def _moved(
    agent: str, facts: Mapping[str, Any], capability: str, who: str, transition: str, status: str
) -> dict[str, Any]:
    document = by_reviewer(agent, facts, "approval_transition", capability, who)
    document["request"] = {"transition": transition}
    signed = voters(facts, capability) if status == "approved" else []
    document["state"]["approval"] = {**approval(facts, capability, signed), "agent_id": agent, "status": status}
    return document
