from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from gate.errors import InputError
from gate.evidence.amounts import MAXIMUM, amount, amount_of_argument, as_parts, canonical_text, micros_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "Trajectory counter value must be a Decimal: spend"),
        ("1.5", "Trajectory counter value must be a Decimal: spend"),
        (None, "Trajectory counter value must be a Decimal: spend"),
        (Decimal("NaN"), "Trajectory counter value must be finite: spend"),
        (Decimal("Infinity"), "Trajectory counter value must be finite: spend"),
        (Decimal("-0.1"), "Trajectory counter value must not be negative: spend"),
        (Decimal("0.0000001"), "Trajectory counter scale exceeds maximum: spend"),
        (MAXIMUM + Decimal("0.000001"), "Trajectory counter value exceeds maximum: spend"),
    ],
)
def test_amount_that_is_none_is_told_in_the_known_words(value: Any, text: str) -> None:
    with pytest.raises(InputError) as found:
        amount("spend", value)

    assert (found.value.code, found.value.message) == ("trajectory_counter_invalid", text)


@pytest.mark.parametrize("value", [Decimal(0), Decimal("0.000001"), MAXIMUM])
def test_amount_at_a_bound_is_one(value: Decimal) -> None:
    assert amount("spend", value) == value


@pytest.mark.parametrize(
    "value", ["", " 1", "1 ", "01", "1.", ".5", "1e3", "+1", "-1", "1_0", "٣", "1" * 65, True, 1.0, None, [], {}]
)
def test_argument_that_is_no_exact_amount_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="spend"):
        amount_of_argument("spend", value)


@pytest.mark.parametrize(
    ("value", "text", "parts"),
    [
        ("25.300", "25.3", {"units": 25, "micros": 300_000}),
        (7, "7", {"units": 7, "micros": 0}),
        ("0.0", "0", {"units": 0, "micros": 0}),
        ("100", "100", {"units": 100, "micros": 0}),
        ("999999999999.999999", "999999999999.999999", {"units": 999_999_999_999, "micros": 999_999}),
    ],
)
def test_amount_has_one_text_and_splits_exactly(value: Any, text: str, parts: dict[str, int]) -> None:
    read = amount_of_argument("spend", value)

    assert (canonical_text(read), as_parts(micros_of(read))) == (text, parts)
