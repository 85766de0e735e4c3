"""When to compact: high and low water with reserves, a phase that ends, an idle moment on a frozen cursor.

Pure. A trigger proposes and never compacts: whether a boundary may be crossed is decided in Rego, which refuses every
forbidden state. Capacities are bytes of the canonical form, not tokens of any provider.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from gate.longtask.events import refuse, typed


class TriggerReason(StrEnum):
    """Why a compaction is proposed."""

    PHASE_BOUNDARY = "phase_boundary"
    HIGH_WATER = "high_water"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Water:
    """The marks, in bytes. Between low and high nothing is proposed again once a compaction reached the low one."""

    capacity: int
    high: int
    low: int
    output_reserve: int
    tool_reserve: int
    retry_reserve: int

    def __post_init__(self) -> None:
        if any(type(value) is not int or value < 0 for value in asdict(self).values()):
            raise refuse("water_mark_invalid", "water marks are whole numbers of bytes")
        if not self.low < self.high <= self.capacity - self.reserve:
            raise refuse("water_mark_invalid", "the low mark lies below the high one, and that below the reserves")

    @property
    def reserve(self) -> int:
        """Bytes kept free for the output, a tool's return and one retry."""
        return self.output_reserve + self.tool_reserve + self.retry_reserve


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A proposal with its five evidences."""

    reason: TriggerReason
    estimated_bytes: int
    frozen_cursor: int
    reserved_bytes: int
    low_water_bytes: int

    def __post_init__(self) -> None:
        typed(self, (("reason", TriggerReason),), "trigger_invalid")
        numbers = (self.estimated_bytes, self.frozen_cursor, self.reserved_bytes, self.low_water_bytes)
        if any(type(one) is not int or one < 0 for one in numbers):
            raise refuse("trigger_invalid", "a trigger has a reason and whole numbers")

    def as_audit(self) -> dict[str, Any]:
        """The evidences as JSON."""
        return {**asdict(self), "reason": str(self.reason)}


def propose(
    water: Water,
    *,
    estimated_bytes: int,
    cursor: int,
    compacted_cursor: int,
    phase_ended: bool = False,
    idle: bool = False,
    armed: bool = True,
) -> Trigger | None:
    """The trigger that applies now: a phase that ended before high water, high water before an idle moment.

    `compacted_cursor`: of the last committed pair; without an event since there is nothing to compact. `idle`: nothing
    is appended while it lasts. `armed`: False after a high-water compaction until the estimate was below `low`.
    """
    if cursor <= compacted_cursor:
        return None
    if phase_ended:
        reason = TriggerReason.PHASE_BOUNDARY
    elif armed and estimated_bytes >= water.high:
        reason = TriggerReason.HIGH_WATER
    elif idle and estimated_bytes > water.low:
        reason = TriggerReason.IDLE
    else:
        return None
    return Trigger(
        reason=reason,
        estimated_bytes=estimated_bytes,
        frozen_cursor=cursor,
        reserved_bytes=water.reserve,
        low_water_bytes=water.low,
    )


def frozen_cursor(trigger: Trigger | None, newest: int) -> int:
    """The cursor to compact up to, of a log that ends at `newest`: the trigger's own, when there is one.

    Raises `LongTaskError`: `trigger_cursor_invalid`, `trigger_not_idle`.
    """
    if trigger is None or trigger.frozen_cursor == newest:
        return newest
    if trigger.frozen_cursor > newest:
        raise refuse("trigger_cursor_invalid", "the trigger names a cursor that the log has not reached")
    if trigger.reason is TriggerReason.IDLE:
        raise refuse("trigger_not_idle", "something was appended since the moment was idle")
    return trigger.frozen_cursor
