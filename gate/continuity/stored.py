"""The stored envelope read back as the typed value, so that its form is checked as that of any other envelope is.

Pure. Says what is wrong with the form and nothing else: whether a run may resume from it is decided in Rego.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from gate.continuity import envelope_checks as checks
from gate.continuity.envelope import ContinuityEnvelope, EventRange, PendingAction
from gate.continuity.envelope_checks import ContinuityError

_SAME = (
    *("schema_version", "envelope_id", "session_id", "source_trace_id", "tenant_id", "principal_id"),
    *("authorization_mode", "policy_version", "checkpoint_ref", "reset_reason", "exact_constraint_refs"),
    *("pending_obligations", "sandbox_snapshot_ref", "budget_remaining", "summary_sha256", "evidence_refs"),
    "requires_reauthorization",
)
_OF_ACTION = ("capability_name", "capability_version", "action_digest", "side_effect_status", "approval_id")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def read_stored(body: Mapping[str, Any]) -> ContinuityEnvelope:
    """The envelope in its stored form; its objective is elsewhere, and stored as a digest.

    Raises `ContinuityError` with the text of the first mistake, in the order of the reference.
    """
    same: dict[str, Any] = {field: body.get(field) for field in _SAME}
    delegated: dict[str, Any] = {field: "" if body.get(field) is None else body[field] for field in checks.DELEGATED}
    actions = body.get("actions")
    if not isinstance(actions, list) or not all(isinstance(action, Mapping) for action in actions):
        raise checks.error("continuity_field_not_list", "Continuity field must be a list: actions")
    return ContinuityEnvelope(
        **same,
        **delegated,
        actions=tuple(_action(action) for action in actions),
        source_event_range=_range(body.get("source_event_range")),
    )


def form_problem(body: Mapping[str, Any]) -> str | None:
    """Code of the first mistake in the form of a stored envelope; None when there is none."""
    try:
        read_stored(body)
    except ContinuityError as exc:
        return exc.code
    return None


def _action(stored: Mapping[str, Any]) -> PendingAction:
    fields: dict[str, Any] = {field: stored.get(field) for field in _OF_ACTION}
    return PendingAction(
        **fields,
        approval_expires_at=_timestamp(stored.get("approval_expires_at_ms")),
        idempotency_key=stored.get("idempotency_key"),
    )


def _timestamp(milliseconds: Any) -> str | None:
    if milliseconds is None:
        return None
    if type(milliseconds) is not int:
        raise checks.error("continuity_timestamp_invalid", "Continuity timestamp is invalid: approval_expires_at")
    try:
        return (_EPOCH + datetime.timedelta(milliseconds=milliseconds)).isoformat()
    except OverflowError as exc:
        message = "Continuity timestamp is invalid: approval_expires_at"
        raise checks.error("continuity_timestamp_invalid", message) from exc


def _range(stored: Any) -> EventRange:
    if not isinstance(stored, Mapping):
        raise checks.required("source_event_range")
    first: Any = stored.get("first_seq")
    last: Any = stored.get("last_seq")
    head: Any = stored.get("head_hash")
    return EventRange(first=first, last=last, head_hash=checks.text(head, "source_event_range"))
