"""The continuity envelope as a typed value: what must survive a context boundary, as structure.

Pure. It is made from governed records or files, checked as a whole, and changed by nobody. Whether a run may resume
from it is decided in Rego; nothing here compares it with anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gate.continuity import envelope_checks as checks
from gate.continuity.envelope_checks import ACTION_FIELDS, DELEGATED, ENVELOPE_STRINGS, RECOVERY, ContinuityError

_OPTIONAL_IN_ACTION = frozenset({"approval_id", "approval_expires_at", "idempotency_key"})
_OF_SEED = (
    *("schema_version", "envelope_id", "session_id", "source_trace_id", "reset_reason", "objective"),
    *("exact_constraint_refs", "pending_obligations", "tenant_id", "principal_id", "authorization_mode"),
    *("delegated_principal_id", "delegated_scope", "policy_version", *ACTION_FIELDS, "checkpoint_ref"),
    *("sandbox_snapshot_ref", "budget_remaining", "source_event_range", "summary_sha256", "evidence_refs"),
    "requires_reauthorization",
)
"""The 28 fields of the flat form, in the order they are written."""

_EVENT = "event-"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAction:
    """One approval or effect that was pending: bound to one frozen action."""

    capability_name: str
    capability_version: str
    action_digest: str
    side_effect_status: str
    """Canonical; `not_executed` and `applied` are read as aliases."""
    approval_id: str | None = None
    """None for an action that needs no approval; then there is no expiry either."""
    approval_expires_at: str | None = None
    """RFC 3339 with an offset, as it was given."""
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRange:
    """The events a summary was made of, by the numbers of the run's log; both ends belong to it."""

    first: int
    last: int
    head_hash: str | None = None
    """Hash of the last event in the chain; None in an envelope that was not written by the gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuityEnvelope:
    """All 28 fields of the envelope, the seven of each action under `actions`.

    Strings are stored without white space around them. Raises `ContinuityError` with the text of the first mistake, in
    the order of the reference: types and blanks of the required strings, delegated fields, status of effects, schema
    version, authorization mode, delegation, expiries, summary digest, reauthorization flag, then what it did not check.
    """

    schema_version: str
    envelope_id: str
    session_id: str
    source_trace_id: str
    tenant_id: str
    principal_id: str
    authorization_mode: str
    policy_version: str
    checkpoint_ref: str
    source_event_range: EventRange
    actions: tuple[PendingAction, ...] = ()
    delegated_principal_id: str = ""
    delegated_scope: str = ""
    reset_reason: str = "context_compaction"
    objective: str | None = None
    exact_constraint_refs: tuple[str, ...] = ()
    pending_obligations: tuple[str, ...] = ()
    sandbox_snapshot_ref: str | None = None
    budget_remaining: int | None = None
    summary_sha256: str | None = None
    """None only after a crash (`process_recovery`)."""
    evidence_refs: tuple[str, ...] = ()
    requires_reauthorization: bool = True

    def __post_init__(self) -> None:
        actions: tuple[Any, ...] = tuple(self.actions)
        if not all(isinstance(action, PendingAction) for action in actions):
            raise checks.error("continuity_field_not_list", "Continuity field must be a list: actions")
        stored = _strings(self, actions, recovered=self.reset_reason == RECOVERY)
        for field in DELEGATED:
            stored[field] = checks.optional_text(getattr(self, field), field)
        statuses = [checks.side_effect_status(stored[f"{i}/side_effect_status"]) for i in range(len(actions))]
        checks.schema_version(stored["schema_version"])
        checks.delegation(checks.authorization_mode(stored["authorization_mode"]), stored)
        for i in range(len(actions)):
            expiry = stored[f"{i}/approval_expires_at"]
            if (expiry is None) != (stored[f"{i}/approval_id"] is None):
                raise checks.required("approval_expires_at" if expiry is None else "approval_id")
            if expiry is not None:
                checks.timestamp_ms(expiry, "approval_expires_at")
        if stored["summary_sha256"] is not None:
            checks.summary_digest(stored["summary_sha256"])
        checks.reauthorization(self.requires_reauthorization)
        self._check_the_rest()
        for field, value in stored.items():
            if "/" not in field:
                object.__setattr__(self, field, value)
        object.__setattr__(self, "actions", tuple(_action(stored, i, status) for i, status in enumerate(statuses)))
        for field in ("exact_constraint_refs", "pending_obligations", "evidence_refs"):
            object.__setattr__(self, field, checks.strings(getattr(self, field), field))

    def _check_the_rest(self) -> None:
        checks.member(
            checks.text(self.reset_reason, "reset_reason"),
            checks.RESET_REASONS,
            "reset reason",
            "continuity_reason_unsupported",
        )
        for field in ("objective", "sandbox_snapshot_ref"):
            if getattr(self, field) is not None:
                checks.text(getattr(self, field), field)
        for field in ("exact_constraint_refs", "pending_obligations", "evidence_refs"):
            checks.strings(getattr(self, field), field)
        budget: Any = self.budget_remaining
        if budget is not None and (type(budget) is not int or budget < 0):
            raise _not_whole("budget_remaining")
        events: Any = self.source_event_range
        if not isinstance(events, EventRange):
            raise checks.required("source_event_range")
        if any(type(end) is not int for end in (events.first, events.last)) or not 0 <= events.first <= events.last:
            raise _not_whole("source_event_range")

    @classmethod
    def from_seed(cls, value: object) -> ContinuityEnvelope:
        """The envelope of the flat one-action form, or of one with `actions` in place of the seven fields.

        `value` may stand under `continuity_envelope`. Raises `ContinuityError`, for a field that nobody declared too.
        """
        if isinstance(value, Mapping) and value.keys() == {"continuity_envelope"}:
            value = value["continuity_envelope"]
        if not isinstance(value, Mapping):
            raise checks.error("continuity_artifact_invalid", "Continuity envelope must be ContinuityEnvelope")
        flat = "actions" not in value
        allowed = {*_OF_SEED} if flat else {*_OF_SEED, "actions"} - {*ACTION_FIELDS}
        for field in value:
            if field not in allowed:
                raise checks.error("continuity_field_unknown", f"Continuity field is not supported: {str(field)[:200]}")
        if flat:
            _all_stated(value)
        fields = {key: value[key] for key in value if key not in {*ACTION_FIELDS, "actions", "source_event_range"}}
        raw = [{field: value.get(field) for field in ACTION_FIELDS}] if flat else value["actions"]
        missing = [field for field in ENVELOPE_STRINGS if field not in {*value, *ACTION_FIELDS, "summary_sha256"}]
        if missing:
            raise checks.required(missing[0])
        return cls(**fields, actions=_actions(raw), source_event_range=_range(value.get("source_event_range")))

    def as_seed(self) -> dict[str, Any]:
        """The flat form when there is exactly one action, else the form with `actions`; `from_seed` reads both."""
        events = self.source_event_range
        written: dict[str, Any] = {field: getattr(self, field) for field in _OF_SEED if field not in ACTION_FIELDS}
        for field in ("exact_constraint_refs", "pending_obligations", "evidence_refs"):
            written[field] = list(written[field])
        written["source_event_range"] = {"first": _event(events.first), "last": _event(events.last)}
        written = {field: value for field, value in written.items() if value is not None}
        actions = [_written(action) for action in self.actions]
        if len(actions) == 1 and len(actions[0]) == len(ACTION_FIELDS):
            written |= actions[0]
            return {field: written[field] for field in _OF_SEED if field in written}
        return {**written, "actions": actions}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuityState:
    """What the records say of one action now, in the reference's flat form. Raises `ContinuityError`."""

    tenant_id: str
    principal_id: str
    authorization_mode: str
    policy_version: str
    capability_name: str
    capability_version: str
    approval_id: str
    action_digest: str
    approval_status: str
    idempotency_key: str
    side_effect_status: str
    checkpoint_ref: str
    delegated_principal_id: str = ""
    delegated_scope: str = ""

    def __post_init__(self) -> None:
        stored = {field: checks.text(getattr(self, field), field) for field in checks.STATE_STRINGS}
        stored |= {field: checks.optional_text(getattr(self, field), field) for field in DELEGATED}
        stored["side_effect_status"] = checks.side_effect_status(stored["side_effect_status"])
        checks.authorization_mode(stored["authorization_mode"])
        stored["approval_status"] = checks.approval_status(stored["approval_status"])
        for field, value in stored.items():
            object.__setattr__(self, field, value)


def require_envelope(value: object) -> ContinuityEnvelope:
    """`value`, when it is an envelope. Raises `ContinuityError`."""
    if not isinstance(value, ContinuityEnvelope):
        raise checks.error("continuity_artifact_invalid", "Continuity envelope must be ContinuityEnvelope")
    return value


def require_state(value: object) -> ContinuityState:
    """`value`, when it is a state. Raises `ContinuityError`."""
    if not isinstance(value, ContinuityState):
        raise checks.error("continuity_artifact_invalid", "Continuity state must be ContinuityState")
    return value


def _strings(envelope: ContinuityEnvelope, actions: tuple[Any, ...], *, recovered: bool) -> dict[str, Any]:
    """The required strings, stripped, in the order in which they are checked; those of an action by its place."""
    stored: dict[str, Any] = {}
    for field in ENVELOPE_STRINGS:
        if field not in ACTION_FIELDS:
            value = getattr(envelope, field)
            absent = field == "summary_sha256" and value is None and recovered
            stored[field] = None if absent else checks.text(value, field)
            continue
        for place, action in enumerate(actions):
            value = getattr(action, field)
            absent = value is None and field in _OPTIONAL_IN_ACTION
            stored[f"{place}/{field}"] = None if absent else checks.text(value, field)
    return stored


def _action(stored: Mapping[str, Any], place: int, status: str) -> PendingAction:
    fields = {field: stored[f"{place}/{field}"] for field in ACTION_FIELDS}
    return PendingAction(**{**fields, "side_effect_status": status})


def _written(action: PendingAction) -> dict[str, str]:
    fields = {field: getattr(action, field) for field in ACTION_FIELDS}
    return {field: value for field, value in fields.items() if value is not None}


def _all_stated(value: Mapping[str, Any]) -> None:
    """The flat form leaves nothing of its action out; in the order of the checks."""
    for field in ENVELOPE_STRINGS:
        if field == "summary_sha256" and value.get("reset_reason") == RECOVERY and value.get(field) is None:
            continue
        if field not in value:
            raise checks.required(field)
        checks.text(value[field], field)


def _actions(raw: object) -> tuple[PendingAction, ...]:
    if not isinstance(raw, (list, tuple)) or not all(isinstance(entry, Mapping) for entry in raw):
        raise checks.error("continuity_field_not_list", "Continuity field must be a list: actions")
    for entry in raw:
        for field in entry:
            if field not in ACTION_FIELDS:
                raise checks.error("continuity_field_unknown", f"Continuity field is not supported: {str(field)[:200]}")
        for field in ACTION_FIELDS:
            if field not in entry and field not in _OPTIONAL_IN_ACTION:
                raise checks.required(field)
    return tuple(PendingAction(**entry) for entry in raw)


def _range(raw: object) -> EventRange:
    if not isinstance(raw, Mapping) or raw.keys() != {"first", "last"}:
        raise checks.required("source_event_range")
    return EventRange(first=_sequence(raw["first"]), last=_sequence(raw["last"]))


def _sequence(name: object) -> int:
    written = checks.text(name, "source_event_range")
    number = written.removeprefix(_EVENT)
    if number == written or not (number.isascii() and number.isdigit()) or len(number) > 15:
        raise _not_whole("source_event_range")
    return int(number)


def _event(sequence: int) -> str:
    return f"{_EVENT}{sequence:04}"


def _not_whole(field: str) -> ContinuityError:
    return checks.error("continuity_field_not_whole", f"Continuity field must be a whole number: {field}")
