"""Exact amounts: decimals of at most six places, read strictly and handed on as whole units and millionths.

Pure. Never a float: what cannot be read exactly is refused, never rounded.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from gate.errors import InputError

SCALE = 6
"""Most decimal places an amount may have."""

MAXIMUM = Decimal("999999999999.999999")
"""Greatest amount."""

_TEXT = re.compile(r"\A(0|[1-9][0-9]*)(\.[0-9]+)?\Z")
_MICROS = 10**SCALE


def amount(field: str, value: object) -> Decimal:
    """`value`, a `Decimal`, as an amount. Raises `InputError` (`trajectory_counter_invalid`) with what is wrong."""
    if not isinstance(value, Decimal):
        raise _invalid(f"Trajectory counter value must be a Decimal: {field}")
    if not value.is_finite():
        raise _invalid(f"Trajectory counter value must be finite: {field}")
    if value < 0:
        raise _invalid(f"Trajectory counter value must not be negative: {field}")
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and -exponent > SCALE:
        raise _invalid(f"Trajectory counter scale exceeds maximum: {field}")
    if value > MAXIMUM:
        raise _invalid(f"Trajectory counter value exceeds maximum: {field}")
    return value


def amount_of_argument(field: str, value: object) -> Decimal:
    """An argument, a decimal text or a whole number, as an amount. Raises as `amount` does."""
    if type(value) is int:
        return amount(field, Decimal(value))
    if isinstance(value, str) and len(value) <= 64 and _TEXT.match(value):
        return amount(field, Decimal(value))
    raise _invalid(f"Trajectory counter value must be a Decimal: {field}")


def canonical_text(value: Decimal) -> str:
    """The one text of an amount: no exponent, no trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def micros_of(value: Decimal) -> int:
    """The amount in millionths."""
    return int(value.scaleb(SCALE))


def as_parts(micros: int) -> dict[str, Any]:
    """Millionths as `{units, micros}`; both stay far below 2^53 for every amount up to `MAXIMUM`."""
    units, rest = divmod(micros, _MICROS)
    return {"units": units, "micros": rest}


def _invalid(message: str) -> InputError:
    return InputError(message, code="trajectory_counter_invalid")
