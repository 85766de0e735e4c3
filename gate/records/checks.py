"""What may enter the store at all: types, blank and unprintable text, digests, whole numbers.

Pure. Nothing here decides whether an action may run; it refuses values that no record could hold honestly.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, TypeVar

from gate import canonical
from gate.errors import ConflictError, InputError

MAX_TEXT = 4096
"""Longest text of one field, in characters."""

MAX_SPAN_MS = 10 * 366 * 24 * 3600 * 1000
"""Longest lease or waiting time in milliseconds: about ten years."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_E = TypeVar("_E", bound=StrEnum)


def name(field: str, value: object) -> str:
    """`value` as an identifier: text, not blank, without control characters; else `InputError`."""
    checked = text(field, value)
    if not checked.strip() or _CONTROL.search(checked):
        raise InputError(f"`{field}` is blank or has a control character", code="record_field_invalid")
    return checked


def optional_name(field: str, value: object) -> str | None:
    """`value` as an identifier or None."""
    return None if value is None else name(field, value)


def text(field: str, value: object) -> str:
    """`value` as free text, which may be empty; else `InputError`."""
    if type(value) is not str and not isinstance(value, StrEnum):
        raise InputError(f"`{field}` is not text", code="record_field_invalid")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InputError(f"`{field}` has a lone surrogate", code="record_field_invalid") from exc
    if len(value) > MAX_TEXT or "\x00" in value:
        raise InputError(f"`{field}` is over {MAX_TEXT} characters or has a NUL", code="record_field_invalid")
    return str(value)


def digest(field: str, value: object) -> str:
    """`value` as `sha256:<64 hex>`; else `InputError`."""
    if not isinstance(value, str) or not canonical.is_digest(value):
        raise InputError(f"`{field}` is not `sha256:` and 64 hex digits", code="record_field_invalid")
    return value


def whole(field: str, value: object, *, low: int = 0, high: int = canonical.MAX_SAFE_INTEGER) -> int:
    """`value` as a whole number from `low` to `high`; True and False are not numbers; else `InputError`."""
    if type(value) is not int or not low <= value <= high:
        raise InputError(f"`{field}` is not a whole number from {low} to {high}", code="record_field_invalid")
    return value


def member(field: str, kind: type[_E], value: object) -> _E:
    """`value` as a member of the closed set `kind`; else `InputError`."""
    if isinstance(value, str) and value in set(kind):
        return kind(value)
    raise InputError(f"`{field}` is not one of {', '.join(kind)}", code="record_field_invalid")


def json_object(field: str, value: Any) -> str:
    """`value` as canonical JSON text of an object; else `InputError`."""
    if type(value) is not dict:
        raise InputError(f"`{field}` is not an object", code="record_field_invalid")
    return canonical.canonical_bytes(value).decode("utf-8")


def json_text(value: Any) -> str | None:
    """`value` as canonical JSON text; None stays None. Raises `InputError` for what is not JSON."""
    return None if value is None else canonical.canonical_bytes(value).decode("utf-8")


def conflict(code: str, message: str, hint: str = "read the records again and decide again") -> ConflictError:
    """The error for a record that is no longer what the caller read."""
    return ConflictError(message, code=code, hint=hint)


def contended() -> ConflictError:
    """The error for a transaction that has to be run anew: what it must lock is not what it has locked."""
    return conflict("store_contended", "the records are being changed by too many others at once")
