"""How a tool call can end besides returning: what a tool raises, and what its caller sees.

Pure. None of these carries an argument value.
"""

from __future__ import annotations

from typing import Any

from gate.decision import ActionBlocked, Decision
from gate.errors import EXIT_DENIED, GateError


class EffectNotStarted(GateError):
    """Raised by a tool whose effect did not begin: the only exception that settles as failed before the effect."""

    code = "effect_not_started"


class EffectOutcomeUnknown(GateError):
    """The tool was started and nobody can say whether its effect happened. Reconcile it; never retry."""

    code = "side_effect_unknown"


class PlanIncomplete(GateError):
    """A plan was left before all its steps were done. What was done stays done; reconcile it."""

    code = "plan_incomplete"


class AlreadyCommitted(ActionBlocked):
    """This very call already happened: nothing ran, and `receipt` is what the first execution returned."""

    code = "effect_already_committed"

    def __init__(self, decision: Decision, receipt: Any) -> None:
        super().__init__(decision)
        self.receipt = receipt


class CallRefused(GateError):
    """Raised in the tool's own process: the call did not come through the executor as it must. Nothing may start."""

    code = "call_refused"
    exit_code = EXIT_DENIED
