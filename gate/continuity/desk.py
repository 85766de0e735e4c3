"""What every step of the boundary protocol works with: decision point, records, seal, clock, trace; and common moves.

Decides nothing: a step asks, and carries out exactly the obligation it is handed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gate.canonical import canonical_bytes, parse
from gate.continuity.seal import Sealer
from gate.continuity.stored import form_problem
from gate.decision import ActionBlocked, Decision
from gate.errors import EvidenceError, GateError, InputError
from gate.evidence import EvidenceBuilder, Prepared, Run, require_text
from gate.pdp import Facts
from gate.records import BoundaryRecord, Event, Store
from gate.trace import Scalar, TraceEvent, TraceSink

SCHEMA_VERSION = "continuity-envelope/v1"

MAX_ROUNDS = 5
"""How often a step that met a changed record is taken again before it is given up."""


class Answered(Protocol):
    """A decision and the document it was about."""

    @property
    def decision(self) -> Decision:
        """What was decided."""

    @property
    def prepared(self) -> Prepared | None:
        """The document; None when none could be built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """Who goes on after a handoff: the only one who may resume from its envelope."""

    agent_id: str
    role: str | None = None
    """None for any role."""

    def __post_init__(self) -> None:
        require_text("agent_id", self.agent_id)
        if self.role is not None:
            require_text("role", self.role)


Ask = Callable[[str, Callable[[Facts], Prepared]], Answered]
"""Puts one question about an agent: `gate.enforcement.asking.ask` with its decision point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One gate's means for boundaries."""

    ask: Ask
    evidence_facts: Callable[[str], Facts]
    """The facts of the served bundle that governs an agent: `DecisionPoint.facts`."""
    store: Store
    evidence: EvidenceBuilder
    sealer: Sealer
    clock_ms: Callable[[], int]
    sink: TraceSink

    def tenant(self, run: Run) -> str:
        """The tenant of the host's handle. Raises `InputError` (`field_invalid`) when it names none."""
        if not run.identity.tenant_id:
            raise InputError("`tenant_id` must be a string that is not blank", code="field_invalid")
        return run.identity.tenant_id

    def envelope_of(self, boundary: BoundaryRecord) -> dict[str, Any] | None:
        """The stored envelope with what its seal proves and its form lacks; None when the row is no JSON object."""
        try:
            body = parse(boundary.body)
        except (InputError, AttributeError):
            return None
        if type(body) is not dict:
            return None
        seal = self.sealer.check(boundary.body, boundary.seal)
        checked = {"seal": {"key_id": seal.key_id, "valid": seal.valid}, "form_problem": form_problem(body)}
        return {**body, **checked}

    def tell(self, run: Run, event_type: str, payload: Mapping[str, Scalar | list[str]], link: Event | None) -> None:
        """Writes one trace event, linked to the run's event log. Raises `EvidenceError` when the sink cannot write."""
        linked: dict[str, Scalar] = dict.fromkeys(("event_seq", "event_hash", "prev_hash"))
        if link is not None:
            linked = {"event_seq": link.seq, "event_hash": link.hash, "prev_hash": link.prev_hash}
        self.sink.write(
            TraceEvent(
                event_type=event_type, trace_id=run.trace_id, at_ms=self.clock_ms(), payload={**payload, **linked}
            )
        )


def body_text(body: Mapping[str, Any]) -> str:
    """The envelope as the canonical JSON that is sealed and stored."""
    return canonical_bytes(dict(body)).decode("utf-8")


def refuse(error: GateError, prepared: Prepared | None) -> ActionBlocked:
    """The refusal that stands where an allow could not be carried out."""
    audit = {} if prepared is None else {"request_id": prepared.request_id, "operation": prepared.document["operation"]}
    return ActionBlocked(Decision.undecided(error, audit=audit))


def only_obligation(
    decision: Decision, kind: str, fields: frozenset[str], *, besides: frozenset[str] = frozenset()
) -> Mapping[str, Any]:
    """The obligation of `decision` of type `kind`, with every one of `fields` stated; others only of types `besides`.

    Raises `EvidenceError`: `obligation_unknown`, `obligation_undischarged`.
    """
    if any(obligation["type"] not in {kind, *besides} for obligation in decision.obligations):
        raise EvidenceError("the decision has an obligation this gate does not know", code="obligation_unknown")
    found = decision.obligation(kind)
    if found is None or any(found.get(field) is None for field in fields):
        raise EvidenceError("an obligation of the decision cannot be discharged", code="obligation_undischarged")
    return found
