"""One question to the decision point: prepare, decide, and never let a failure look like a yes.

Asks and hands back; carries nothing out. A decision is never reused: each call of `ask` is a new request id.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from gate.decision import Decision
from gate.errors import EvidenceError, GateError, InputError, PdpError
from gate.evidence import Prepared
from gate.pdp import DecisionPoint, Facts

_logger = logging.getLogger(__name__)

MAX_STALE_FACTS = 3
"""How often a question is put again because the served bundle changed between reading its facts and deciding."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision and the document it was about; `prepared` is None when no document could be built."""

    decision: Decision
    prepared: Prepared | None


def ask(point: DecisionPoint, agent_id: str, prepare: Callable[[Facts], Prepared]) -> Answer:
    """Puts one question. Failures to decide become a refusal with the failure's own code.

    `InputError` is the caller's own mistake and is raised, so that nobody takes it for a policy's answer.
    """
    prepared: Prepared | None = None
    try:
        for _ in range(MAX_STALE_FACTS):
            facts = point.facts(agent_id)
            prepared = prepare(facts)
            reply = point.decide(prepared.document)
            if reply.decision.audit.get("request_id") != prepared.request_id:
                raise PdpError("the decision is about another request", code="pdp_request_id_mismatch")
            if reply.revision == facts.revision:
                return Answer(reply.decision, prepared)
        raise PdpError("the served bundle kept changing", code="pdp_revision_unsettled", hint="try again")
    except InputError:
        raise
    except (PdpError, EvidenceError) as exc:
        _logger.warning("no decision for agent %s: %s", agent_id, exc.code)
        return Answer(Decision.undecided(exc, audit=_audit(prepared)), prepared)


def refusal(error: GateError, prepared: Prepared | None) -> Decision:
    """The refusal that stands where an allow could not be carried out."""
    return Decision.undecided(error, audit=_audit(prepared))


def _audit(prepared: Prepared | None) -> dict[str, object]:
    if prepared is None:
        return {}
    document = prepared.document
    return {
        "request_id": document["request_id"],
        "checkpoint": document["checkpoint"],
        "operation": document["operation"],
        "trace_id": document["trace"]["trace_id"],
    }
