"""Whether the values of an envelope or a state are what they claim to be, in the words operators know.

Pure. The first mistake in the fixed order is raised; nothing is repaired, defaulted or read out of prose. The texts are
a public contract and stand here to the letter.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gate.documents import parse_rfc3339_ms
from gate.errors import InputError

SCHEMA_VERSION = "continuity-envelope/v1"
AUTHORIZATION_MODES = ("platform_owned", "user_delegated", "human_approved")
APPROVAL_STATUSES = ("approved", "pending", "rejected", "revoked", "expired", "consumed", "cancelled")
SIDE_EFFECT_STATUSES = (
    *("not_started", "in_flight", "side_effect_committed", "side_effect_unknown"),
    *("partial_side_effect", "failed_before_effect"),
)
ALIASES: Mapping[str, str] = {"not_executed": "not_started", "applied": "side_effect_committed", "denied": "rejected"}
"""Spellings that are read, and the canonical ones that are written."""

RESET_REASONS = ("context_compaction", "context_reset", "process_recovery", "handoff", "fork")
RECOVERY = "process_recovery"
"""The one reason whose envelope may come without a summary: nobody could prepare for it."""

ENVELOPE_STRINGS = (
    *("schema_version", "envelope_id", "session_id", "source_trace_id", "tenant_id", "principal_id"),
    *("authorization_mode", "policy_version", "capability_name", "capability_version", "approval_id", "action_digest"),
    *("approval_expires_at", "idempotency_key", "side_effect_status", "checkpoint_ref", "summary_sha256"),
)
"""The required strings of an envelope, in the order in which they are checked."""

STATE_STRINGS = (
    *("tenant_id", "principal_id", "authorization_mode", "policy_version", "capability_name", "capability_version"),
    *("approval_id", "action_digest", "approval_status", "idempotency_key", "side_effect_status", "checkpoint_ref"),
)
"""The required strings of a state, in the order in which they are checked."""

ACTION_FIELDS = (
    *("capability_name", "capability_version", "approval_id", "action_digest"),
    *("approval_expires_at", "idempotency_key", "side_effect_status"),
)
"""The fields of one pending action; the flat form has them beside the others."""

DELEGATED = ("delegated_principal_id", "delegated_scope")

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_SHOWN = 200


class ContinuityError(InputError):
    """A malformed control artifact; reload or recreate the governed one, and take nothing from a summary."""

    code = "continuity_artifact_invalid"


def error(code: str, message: str) -> ContinuityError:
    """The error with a code of its own and the operator's text."""
    return ContinuityError(message, code=code, hint="reload or recreate the governed artifact")


def not_a_string(field: str) -> ContinuityError:
    """For a value of another type."""
    return error("continuity_field_not_string", f"Continuity field must be a string: {field}")


def required(field: str) -> ContinuityError:
    """For a value that is missing or blank."""
    return error("continuity_field_missing", f"Continuity field is required: {field}")


def text(value: object, field: str) -> str:
    """The string without white space around it. Raises `ContinuityError` unless something is left."""
    if not isinstance(value, str):
        raise not_a_string(field)
    if not value.strip():
        raise required(field)
    return value.strip()


def optional_text(value: object, field: str) -> str:
    """As `text`, but what is blank stays."""
    if not isinstance(value, str):
        raise not_a_string(field)
    return value.strip()


def member(value: str, allowed: Sequence[str], what: str, code: str) -> str:
    """The canonical spelling of a word of a closed set."""
    word = ALIASES.get(value, value)
    if word not in allowed:
        raise error(code, f"Continuity {what} is not supported: {value[:_SHOWN]}")
    return word


def side_effect_status(value: str) -> str:
    """The canonical status of an effect."""
    return member(value, SIDE_EFFECT_STATUSES, "side-effect status", "continuity_side_effect_unsupported")


def approval_status(value: str) -> str:
    """The canonical status of an approval."""
    return member(value, APPROVAL_STATUSES, "approval status", "continuity_approval_status_unsupported")


def authorization_mode(value: str) -> str:
    """A mode of the closed set; it has no aliases."""
    if value not in AUTHORIZATION_MODES:
        raise error("continuity_mode_unsupported", f"Continuity authorization mode is not supported: {value[:_SHOWN]}")
    return value


def schema_version(value: str) -> str:
    """The one version there is."""
    if value != SCHEMA_VERSION:
        raise error("continuity_schema_unsupported", f"Continuity schema version is not supported: {value[:_SHOWN]}")
    return value


def delegation(mode: str, values: Mapping[str, str]) -> None:
    """Who acts for a user says for whom and with which scope."""
    if mode == "user_delegated":
        for field in DELEGATED:
            if not values[field]:
                raise required(field)


def timestamp_ms(value: str, field: str) -> int:
    """Milliseconds since the epoch of a timestamp that states its offset."""
    try:
        return parse_rfc3339_ms(value)
    except InputError as exc:
        if exc.code == "timestamp_without_offset":
            message = f"Continuity timestamp must include a timezone: {field}"
            raise error("continuity_timestamp_naive", message) from exc
        raise error("continuity_timestamp_invalid", f"Continuity timestamp is invalid: {field}") from exc


def is_digest(value: str) -> bool:
    """True for `sha256:` and 64 lower-case hex digits: a digest has one spelling."""
    return _DIGEST.match(value) is not None


def summary_digest(value: str) -> str:
    """A digest of the one algorithm."""
    if not is_digest(value):
        raise error("continuity_digest_invalid", "Continuity summary digest must use sha256")
    return value


def reauthorization(value: object) -> None:
    """The flag that nobody can switch off."""
    if not isinstance(value, bool):
        raise error("continuity_flag_not_boolean", "Continuity reauthorization flag must be a boolean")
    if not value:
        raise error("continuity_flag_off", "Continuity envelope must require reauthorization")


def validation_time_ms(now: object) -> int:
    """Milliseconds since the epoch of the moment a validation is made at. Raises `ContinuityError`."""
    if not isinstance(now, datetime.datetime):
        raise error("continuity_time_invalid", "Continuity validation time must be a datetime")
    if now.tzinfo is None or now.utcoffset() is None:
        raise error("continuity_time_naive", "Continuity validation time must include a timezone")
    return round((now - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) / datetime.timedelta(milliseconds=1))


def strings(value: Any, field: str) -> tuple[str, ...]:
    """A list of strings of which none is blank."""
    if not isinstance(value, (list, tuple)):
        raise error("continuity_field_not_list", f"Continuity field must be a list: {field}")
    return tuple(text(item, field) for item in value)
