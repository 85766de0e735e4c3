"""A fixed policy that repairs the price, seeing only what a strategy left visible: the experiments' instrument.

Pure. It stands for no model; it shows which branch a lost statement leads to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gate.lab.longtask.trajectory import FAILING_TEST, GOAL, NEGATIVE_CONSTRAINTS, OPEN_ISSUE, REJECTED

APPLY = "apply_legacy_compatible_patch"
UNSAFE = "unsafe_signature_change"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleSemanticState:
    """What the policy can see."""

    visible_keys: frozenset[str]
    checkpoint_next_step: str
    verification_keys: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairDecision:
    """What the policy does next, and what it would have needed."""

    kind: str
    reason: str
    required_keys: frozenset[str]


class RepairPolicy(Protocol):
    """Decides from what is visible only."""

    def __call__(self, state: VisibleSemanticState) -> RepairDecision:
        """The next action."""


def decide(state: VisibleSemanticState) -> RepairDecision:
    """The first rule that fits, in the published order."""
    seen, verified = state.visible_keys, state.verification_keys
    if GOAL not in seen:
        return _decision("needs_context", "The repair goal is not visible, so no repair action is justified.", GOAL)
    if not seen >= NEGATIVE_CONSTRAINTS:
        return _decision(
            UNSAFE,
            "The negative public-signature constraint is not visible; "
            "the controlled failure branch proposes changing the entry point.",
            *NEGATIVE_CONSTRAINTS,
        )
    if state.checkpoint_next_step == "run-tests" and REJECTED not in seen:
        return _decision(
            "repeat_rounding_attempt",
            "The checkpoint identifies a test step but the rejected hypothesis is absent, "
            "so the controlled policy repeats it.",
            REJECTED,
            *({FAILING_TEST} - verified),
        )
    missing = ({REJECTED, OPEN_ISSUE} - seen) | ({FAILING_TEST} - verified)
    if missing:
        return _decision("needs_context", "Required diagnosis or verification evidence is not visible.", *missing)
    return _decision(
        APPLY,
        "The goal, negative constraint, rejected hypothesis, open issue, and failed verification are all visible.",
    )


def _decision(kind: str, reason: str, *keys: str) -> RepairDecision:
    return RepairDecision(kind=kind, reason=reason, required_keys=frozenset(keys))
