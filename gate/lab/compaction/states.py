"""Tries to compact in each forbidden state that a contract names, on real records, and says whether the gate refused.

Expects nothing. A state that cannot be brought about counts as not tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gate.compiler.link_compaction import filled
from gate.decision import ActionBlocked
from gate.documents.compaction import Act
from gate.enforcement import EffectOutcomeUnknown
from gate.errors import GateError
from gate.evidence import Run
from gate.lab.compaction.ground import Ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One requested compaction in a forbidden state."""

    state: str
    compacted: bool
    """The gate let it happen."""
    reasons: tuple[str, ...]

    @property
    def refused_for_it(self) -> bool:
        """Refused, and the state is among the reasons."""
        return not self.compacted and self.state in self.reasons


def try_states(ground: Ground) -> Iterator[Tried]:
    """One requested compaction in each state that the contract names."""
    for state in ground.contract.forbidden_states:
        run = ground.start("forbidden-states", state)
        if not _bring_about(ground, run, state):
            continue
        try:
            ground.gate.prepare_boundary(run, "context_compaction")
        except ActionBlocked as blocked:
            yield Tried(state=state, compacted=False, reasons=blocked.decision.codes)
        except GateError as exc:
            yield Tried(state=state, compacted=False, reasons=(exc.code,))
        else:
            yield Tried(state=state, compacted=True, reasons=())


def _bring_about(ground: Ground, run: Run, state: str) -> bool:
    if state == "approval_pending":
        act = _first(ground, "require_approval")
        return act is not None and ground.act(run, act, 1, key="forbidden-state").verdict == "require_approval"
    if state == "tool_outcome_unknown":
        act = _first(ground, "allow")
        return act is not None and _lose(ground, run, act)
    # Work of several steps and its like is what a host records as open.
    ground.gate.record_progress(run, checkpoint_ref="checkpoint:1", open_work=[(state, "work-1")])
    return True


def _first(ground: Ground, verdict: str) -> Act | None:
    """An act of the register that gets `verdict` and writes."""
    writes = ground.compiled.bundle.capabilities
    acts = [act for rule in ground.contract.rules.values() for act in (*rule.probe.before, rule.probe.forbidden)]
    return next((a for a in acts if a.verdict == verdict and writes[a.capability].side_effect != "none"), None)


def _lose(ground: Ground, run: Run, act: Act) -> bool:
    """The act, begun and with nobody knowing what became of it."""
    try:
        with ground.gate.tool_call(
            run, act.capability, filled(act.arguments, 1), idempotency_key="forbidden-state", reason="trial"
        ):
            raise _AnswerLostError("the connection to the tool broke")
    except (EffectOutcomeUnknown, _AnswerLostError):
        return True
    except ActionBlocked:
        return False


class _AnswerLostError(GateError):
    """The tool's answer did not arrive."""

    code = "answer_lost"
