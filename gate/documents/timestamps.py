"""RFC 3339 timestamps, read strictly, as integer milliseconds since the epoch.

Pure. No time zone is ever assumed and no clock is read.
"""

from __future__ import annotations

import datetime
import re

from gate.errors import InputError

_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:[0-9]{2})?)?\Z"
)
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()


def parse_rfc3339_ms(text: object) -> int:
    """Milliseconds since 1970-01-01T00:00:00Z of an RFC 3339 `text` such as `2026-07-21T18:00:00+02:00`.

    Digits past the millisecond are cut off. Years 0001 to 9999, whatever the offset; no leap seconds. Raises
    `InputError` with code `timestamp_without_offset` for a date or time without `Z` or an offset, and with
    `timestamp_invalid` for anything else that is not such a timestamp, impossible dates among them.
    """
    match = _TIMESTAMP.match(text) if isinstance(text, str) else None
    if match is None:
        raise _invalid()
    try:
        day = datetime.date(int(match[1]), int(match[2]), int(match[3])).toordinal() - _EPOCH_DAY
    except ValueError as exc:
        raise _invalid() from exc
    hour, minute, second = (int(part or 0) for part in match.group(4, 5, 6))
    if hour > 23 or minute > 59 or second > 59:
        raise _invalid()
    if match[8] is None:
        raise InputError(
            "the timestamp has no time zone offset",
            code="timestamp_without_offset",
            hint="write it like `2026-07-21T18:00:00Z`",
        )
    milliseconds = int((match[7] or "").ljust(3, "0")[:3])
    # Integers, not datetime: an offset at the edge of year 1 or 9999 must not overflow.
    return (((day * 24 + hour) * 60 + minute - _offset_minutes(match[8])) * 60 + second) * 1000 + milliseconds


def _offset_minutes(offset: str) -> int:
    if offset == "Z":
        return 0
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 23 or minutes > 59:
        raise _invalid()
    return (hours * 60 + minutes) * (-1 if offset[0] == "-" else 1)


def _invalid() -> InputError:
    return InputError(
        "the timestamp is not an RFC 3339 date and time",
        code="timestamp_invalid",
        hint="write it like `2026-07-21T18:00:00Z`",
    )
