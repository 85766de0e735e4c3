"""What verification says about an open issue or an acceptance item: five states, each from a receipt in the log.

Pure detection. Whether an issue may be closed or a task called complete is decided in Rego from these facts; a summary,
a model or a compactor cannot produce one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gate.longtask.events import EventRecord, blank, refuse, require
from gate.longtask.vocabulary import EventType


class VerificationState(StrEnum):
    """How far something is verified; each state asks for another next action."""

    NOT_RUN = "not_run"
    FAILED = "failed"
    INFRASTRUCTURE_FAILURE = "infrastructure_failure"
    STALE = "stale"
    PASSED = "passed"


class Outcome(StrEnum):
    """What a verifier says of its own run."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """The verifier could not do its work: not a statement about what it verifies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationReceipt:
    """What a verification event says: command, result, workspace version and exit status, for named subjects."""

    event_id: str
    subjects: frozenset[str]
    """Keys of the open issues or acceptance items that the run was about."""
    command: str
    result: Outcome
    workspace_digest: str
    exit_status: int | None
    """None when the command never ended of itself; below 0 when a signal ended it."""

    def __post_init__(self) -> None:
        require(
            (
                (self.event_id, "blank_event_id"),
                (self.command, "blank_verification_command"),
                (self.workspace_digest, "blank_verification_workspace_digest"),
            )
        )
        if not self.subjects or any(map(blank, self.subjects)):
            raise refuse("verification_without_subject")
        if self.exit_status is not None and type(self.exit_status) is not int:
            raise refuse("invalid_verification_exit_status")

    @property
    def contradictory(self) -> bool:
        """Result and exit status say different things."""
        if self.exit_status is None:
            return self.result is not Outcome.ERROR
        return (self.result is Outcome.PASSED) != (self.exit_status == 0)


def receipt_from(data: object) -> VerificationReceipt:
    """A receipt from its JSON form. Raises `LongTaskError` (`invalid_verification_receipt`, or the rule broken)."""
    fields = frozenset(VerificationReceipt.__dataclass_fields__)
    if not isinstance(data, dict) or data.keys() != fields:
        raise refuse("invalid_verification_receipt")
    match data:
        case {
            "event_id": str(event_id),
            "subjects": list(subjects),
            "command": str(command),
            "result": str(result),
            "workspace_digest": str(workspace),
            "exit_status": status,
        } if result in set(Outcome) and all(isinstance(key, str) for key in subjects):
            return VerificationReceipt(
                event_id=event_id,
                subjects=frozenset(subjects),
                command=command,
                result=Outcome(result),
                workspace_digest=workspace,
                exit_status=status,
            )
    raise refuse("invalid_verification_receipt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The state of one subject, and the receipt that it rests on."""

    key: str
    state: VerificationState
    event_id: str | None = None
    command: str | None = None
    exit_status: int | None = None
    workspace_digest: str | None = None
    contradictory: bool = False

    def as_evidence(self) -> dict[str, Any]:
        """The JSON object that Rego reads."""
        return {
            "key": self.key,
            "state": self.state.value,
            "event_id": self.event_id,
            "command_named": self.command is not None,
            "exit_status": self.exit_status,
            "workspace_digest": self.workspace_digest,
            "contradictory": self.contradictory,
        }


def verify(
    keys: Iterable[str],
    *,
    events: Sequence[EventRecord],
    receipts: Iterable[VerificationReceipt],
    live_workspace_digest: str,
) -> tuple[Verified, ...]:
    """The state of each key, sorted by key.

    The newest receipt counts, and only when the log has its event as a verification of the same workspace. It is stale
    when the workspace has moved on, or when an event has stated the subject again since.
    """
    order = {event.event_id: event for event in events}
    sound = [receipt for receipt in receipts if _recorded(receipt, order)]
    stated = _last_stated(events)
    return tuple(
        _state(key, sound, order=order, stated=stated, live=live_workspace_digest) for key in sorted(set(keys))
    )


def unrecorded(events: Sequence[EventRecord], receipts: Iterable[VerificationReceipt]) -> tuple[str, ...]:
    """Event ids of receipts that no verification event of the log backs: claims, not verifications; sorted."""
    order = {event.event_id: event for event in events}
    return tuple(sorted({receipt.event_id for receipt in receipts if not _recorded(receipt, order)}))


def closed_without_verification(
    before: Iterable[str], after: Iterable[str], verified: Iterable[Verified]
) -> tuple[str, ...]:
    """Issues that were open and are no longer, and that did not pass; sorted."""
    passed = {one.key for one in verified if one.state is VerificationState.PASSED}
    return tuple(sorted(set(before) - set(after) - passed))


def _recorded(receipt: VerificationReceipt, order: Mapping[str, EventRecord]) -> bool:
    event = order.get(receipt.event_id)
    return (
        event is not None
        and event.event_type is EventType.VERIFICATION
        and event.workspace_digest == receipt.workspace_digest
    )


def _last_stated(events: Sequence[EventRecord]) -> dict[str, int]:
    return {item.key: event.sequence for event in events for item in event.carry_items}


def _state(
    key: str,
    receipts: Iterable[VerificationReceipt],
    *,
    order: Mapping[str, EventRecord],
    stated: Mapping[str, int],
    live: str,
) -> Verified:
    about = [receipt for receipt in receipts if key in receipt.subjects]
    if not about:
        return Verified(key=key, state=VerificationState.NOT_RUN)
    newest = max(order[receipt.event_id].sequence for receipt in about)
    # One event may name a subject in several receipts (two commands): the least that any of them says counts.
    states = [
        (_of(receipt, sequence=newest, stated=stated.get(key, 0), live=live), receipt)
        for receipt in about
        if order[receipt.event_id].sequence == newest
    ]
    state, receipt = min(states, key=lambda pair: (list(VerificationState).index(pair[0]), pair[1].command))
    return Verified(
        key=key,
        state=state,
        event_id=receipt.event_id,
        command=receipt.command,
        exit_status=receipt.exit_status,
        workspace_digest=receipt.workspace_digest,
        contradictory=receipt.contradictory,
    )


def _of(receipt: VerificationReceipt, *, sequence: int, stated: int, live: str) -> VerificationState:
    if receipt.workspace_digest != live or sequence < stated:
        return VerificationState.STALE
    if receipt.result is Outcome.ERROR or receipt.exit_status is None or receipt.exit_status < 0:
        return VerificationState.INFRASTRUCTURE_FAILURE
    if receipt.result is Outcome.PASSED and not receipt.contradictory:
        return VerificationState.PASSED
    return VerificationState.FAILED
