from __future__ import annotations

from typing import Any

import pytest

from gate.longtask.events import LongTaskError
from gate.longtask.triggers import Trigger, TriggerReason, Water, frozen_cursor, propose

WATER = Water(capacity=1000, high=700, low=300, output_reserve=100, tool_reserve=100, retry_reserve=100)


def proposed(**changes: Any) -> TriggerReason | None:
    fields: dict[str, Any] = {"estimated_bytes": 500, "cursor": 24, "compacted_cursor": 0}
    found = propose(WATER, **{**fields, **changes})
    return None if found is None else found.reason


def test_trigger_carries_its_five_evidences() -> None:
    assert propose(WATER, estimated_bytes=700, cursor=24, compacted_cursor=8) == Trigger(
        reason=TriggerReason.HIGH_WATER,
        estimated_bytes=700,
        frozen_cursor=24,
        reserved_bytes=300,
        low_water_bytes=300,
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"estimated_bytes": 699}, None),
        ({"estimated_bytes": 700}, TriggerReason.HIGH_WATER),
        ({"estimated_bytes": 900, "armed": False}, None),
        ({"phase_ended": True, "estimated_bytes": 10}, TriggerReason.PHASE_BOUNDARY),
        ({"phase_ended": True, "estimated_bytes": 900}, TriggerReason.PHASE_BOUNDARY),
        ({"idle": True, "estimated_bytes": 301}, TriggerReason.IDLE),
        ({"idle": True, "estimated_bytes": 300}, None),
        ({"phase_ended": True, "compacted_cursor": 24}, None),
        ({"estimated_bytes": 900, "compacted_cursor": 25}, None),
    ],
)
def test_trigger_by_phase_then_high_water_then_idle(changes: dict[str, Any], reason: TriggerReason | None) -> None:
    assert proposed(**changes) is reason


@pytest.mark.parametrize(
    "changes", [{"low": 700}, {"high": 701}, {"retry_reserve": 101}, {"capacity": -1}, {"low": True}, {"low": "1"}]
)
def test_water_marks_that_leave_no_reserve_or_no_gap_are_refused(changes: dict[str, Any]) -> None:
    fields = {name: getattr(WATER, name) for name in Water.__dataclass_fields__}
    with pytest.raises(LongTaskError) as refused:
        Water(**{**fields, **changes})
    assert refused.value.code == "water_mark_invalid"


def test_trigger_freezes_its_own_cursor_but_not_ahead_of_the_log_and_not_once_idleness_is_over() -> None:
    high = propose(WATER, estimated_bytes=700, cursor=24, compacted_cursor=8)
    idle = propose(WATER, estimated_bytes=400, cursor=24, compacted_cursor=8, idle=True)
    assert [frozen_cursor(one, 24) for one in (None, high, idle)] == [24, 24, 24]
    assert (frozen_cursor(None, 26), frozen_cursor(high, 26)) == (26, 24)
    codes = []
    for trigger, newest in ((idle, 25), (high, 23)):
        with pytest.raises(LongTaskError) as refused:
            frozen_cursor(trigger, newest)
        codes.append(refused.value.code)
    assert codes == ["trigger_not_idle", "trigger_cursor_invalid"]
