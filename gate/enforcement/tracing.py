"""What the enforcement point tells the trace: of every decision the same facts, of a call how it went.

Repeats no name, argument or reason that the model chose: a capability is told as the policies name it, which is only
when the catalog or the policy has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gate.decision import Decision
from gate.enforcement.asking import Answer
from gate.enforcement.trajectory_event import trajectory_event
from gate.errors import GateError
from gate.evidence import Run
from gate.trace import Scalar, TraceEvent, TraceSink

Payload: TypeAlias = dict[str, Scalar | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Tracer:
    """Writes the events of one gate. Every method raises `EvidenceError` when the sink cannot write."""

    sink: TraceSink
    clock_ms: Callable[[], int]

    def decision(self, run: Run, decision: Decision) -> Decision:
        """Tells of a decision that nothing is carried out for, and hands it back."""
        self._write(run, "decision", {"operation": decision.audit.get("operation"), **_said(decision)})
        return decision

    def allowed(self, run: Run, decision: Decision) -> None:
        """Tells of a tool call that may run now."""
        self._write(run, "tool_call_allowed", _said(decision))

    def blocked(self, run: Run, error: GateError) -> None:
        """Tells of a tool call that does not run."""
        decision = getattr(error, "decision", None)
        said = _said(decision) if isinstance(decision, Decision) else {}
        self._write(run, "tool_call_blocked", {"code": error.code, **said})

    def trajectory(self, run: Run, answer: Answer) -> None:
        """Tells how a call stood to the history of its run; nothing when no rule over history is about it."""
        place = None if answer.prepared is None else answer.prepared.trajectory
        event = trajectory_event(answer.decision, None if place is None else place.section)
        if event is not None:
            self._write(run, "trajectory_policy_decision", {**event})

    def settled(self, run: Run, *, status: str, business_key: str) -> None:
        """Tells what became of an effect."""
        self._write(run, "effect_settled", {"status": status, "business_key": business_key})

    def unsettled(self, run: Run, error: GateError) -> None:
        """Tells that what became of an effect could not be recorded."""
        self._write(run, "effect_unsettled", {"code": error.code})

    def _write(self, run: Run, event_type: str, payload: Payload) -> None:
        self.sink.write(
            TraceEvent(event_type=event_type, trace_id=run.trace_id, at_ms=self.clock_ms(), payload=payload)
        )


def _said(decision: Decision) -> Payload:
    return {
        "capability": decision.audit.get("capability"),
        "verdict": str(decision.verdict),
        "reasons": list(decision.codes),
        "revision": decision.revision,
        "request_id": decision.audit.get("request_id"),
        **_bound(decision),
    }


def _bound(decision: Decision) -> Payload:
    """Requester and effective principal apart, and what was granted, where a credential or grant is in question."""
    said: Payload = {}
    credential, grant = (decision.audit.get(name) for name in ("credential_binding", "oauth_scope"))
    if isinstance(credential, Mapping):
        said |= dict(credential)
    if isinstance(grant, Mapping):
        said |= {"grant_ref": grant["grant_ref"], "missing_scopes": list(grant["missing_scopes"])}
    if decision.obligation("mark_partial") is not None:
        said["partial"] = True
    return said
