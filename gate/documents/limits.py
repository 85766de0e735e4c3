"""Limits and run budgets of `policy.yaml`: how much may be spent, counted on what, for how long.

Pure data and how it is read. Whether a limit can be counted at all must not be checked here but by the linker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

RUN_BUDGET = "run_budget"
"""Id of the limit that `policy.run_budget` makes; no limit of `policy.limits` may have it."""

PER = ("tenant", "principal", "session", "run")
"""What a limit is counted for, besides the value of an argument, which a JSON pointer names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One of `policy.limits`: effects of some capabilities together may not spend more than `max`."""

    limit_id: str
    applies_to: tuple[str, ...]
    """Capabilities that spend it."""
    amount: str | int
    """JSON pointer of the argument that holds the amount in whole minor units, or 1: the effect itself is counted."""
    per: str
    """One of `PER`, or the JSON pointer of a string argument: counted for each of its values."""
    window: str
    """`none`, or `day`: a UTC day of the gate's clock."""
    max: int
    """Whole minor units, or a number of effects; reaching it is permitted, passing it is not."""


def limits(policy: dict[str, Any]) -> tuple[Limit, ...]:
    """The limits of the value of `policy`, in its order."""
    return tuple(
        Limit(
            limit_id=entry["limit_id"],
            applies_to=tuple(entry["applies_to"]),
            amount=entry["amount"],
            per=entry["per"],
            window=entry["window"],
            max=entry["max"],
        )
        for entry in policy.get("limits", ())
    )


def run_budget(policy: dict[str, Any]) -> int | None:
    """How many effects one run may have; None when the policy sets no budget."""
    budget = policy.get("run_budget")
    return None if budget is None else int(budget["max_effects"])
