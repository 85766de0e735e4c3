"""What a decision obliges the gate to do, checked before any of it is done.

Decides nothing: an obligation this gate does not know, or cannot discharge as it is written, makes a refusal out of
whatever the verdict was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.decision import Decision
from gate.errors import ConflictError, EvidenceError
from gate.evidence import Prepared
from gate.records import RunRecord, RunStatus, Store

MAX_ROUNDS = 5
"""How often a step that met a changed record is taken again before it is given up."""

ENDED = frozenset({RunStatus.COMPLETED, RunStatus.CANCELLED, RunStatus.STOPPED})
"""Statuses that a run does not leave."""


def undischarged() -> EvidenceError:
    """The error for an obligation that cannot be discharged as it is written."""
    return EvidenceError("an obligation of the decision cannot be discharged", code="obligation_undischarged")


def refuse_unknown(decision: Decision, known: frozenset[str]) -> None:
    """Raises `EvidenceError` (`obligation_unknown`) unless every obligation is one that the caller discharges."""
    if any(obligation["type"] not in known for obligation in decision.obligations):
        raise EvidenceError("the decision has an obligation this gate does not know", code="obligation_unknown")


def refuse_unclaimed(decision: Decision, prepared: Prepared) -> None:
    """Raises `EvidenceError` (`obligation_missing`) when an allow forgot what the served catalog says it needs.

    Nothing is permitted here: whichever bundle answers, only what it calls a read that nobody approves runs
    without a claim, and nothing that its catalog always wants approved runs without an approval being consumed.
    Whether a contract is needed besides is a control's question, which the decision has answered.
    """
    name = prepared.document["request"]["capability"]
    entry = prepared.facts.capabilities.get(name, {})
    harmless = (entry.get("mode"), entry.get("side_effect"), entry.get("approval")) == ("read", "none", "none")
    unclaimed = decision.obligation("claim_effect") is None and not harmless
    unconsumed = decision.obligation("consume_approval") is None and entry.get("approval") != "none"
    if unclaimed or unconsumed:
        raise EvidenceError("the decision lacks an obligation that the call needs", code="obligation_missing")


def obliged_to_move(decision: Decision, kind: str, *, subject: Mapping[str, Any]) -> str:
    """Where the obligation of type `kind` moves a record.

    `subject`: fields of the obligation that must name the record that was read. Raises `EvidenceError`
    (`obligation_undischarged`) when it is absent, names another record or no state.
    """
    found = decision.obligation(kind)
    if found is None or not isinstance(found.get("to"), str):
        raise undischarged()
    if any(found.get(field) != value for field, value in subject.items()):
        raise undischarged()
    return str(found["to"])


def ended_by(decision: Decision) -> RunStatus | None:
    """The status with which the decision's `end_run` obligation ends the run; None without one.

    Raises `EvidenceError` (`obligation_undischarged`) for a status that ends no run.
    """
    obligation = decision.obligation("end_run")
    if obligation is None:
        return None
    if obligation.get("status") not in ENDED:
        raise undischarged()
    return RunStatus(obligation["status"])


def resumes(decision: Decision, approval_id: str) -> bool:
    """True when the decision lets the run go on that waited for this approval.

    Raises `EvidenceError` (`obligation_undischarged`) for an obligation about another approval.
    """
    obligation = decision.obligation("resume_run")
    if obligation is None:
        return False
    if obligation.get("approval_id") != approval_id:
        raise undischarged()
    return True


def end_run(store: Store, run: RunRecord | None, decision: Decision, *, reason: str) -> None:
    """Ends `run` as an `end_run` obligation says; harmless without one, or when it has ended already.

    Raises `EvidenceError` (`obligation_undischarged`) for a status that ends no run, `ConflictError` when the run
    keeps changing.
    """
    status = ended_by(decision)
    if status is None:
        return
    if run is None:
        raise undischarged()
    current: RunRecord | None = run
    for _ in range(MAX_ROUNDS):
        if current is None or current.status in ENDED:
            return
        try:
            store.set_run_status(
                current.tenant_id,
                current.run_id,
                expected_version=current.version,
                status=status,
                reason=reason,
            )
        except ConflictError:
            # Paused, resumed or ended meanwhile: only the last of these makes the obligation void.
            current = store.run(run.tenant_id, run.run_id)
        else:
            return
    raise ConflictError("the run kept changing while it was to be ended", code="run_contended", hint="try again later")
