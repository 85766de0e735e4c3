"""What the event log of a long task holds: events, and the items of meaning they carry.

Pure. Every record refuses what it cannot mean with its stable code; none is repaired.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import UnionType
from typing import Any, TypeVar

from gate.errors import InputError
from gate.longtask.secret_shapes import shapes
from gate.longtask.vocabulary import (
    ContextKind,
    EventType,
    InstructionAuthority,
    RetentionPriority,
    Sensitivity,
    TrustLevel,
)

_Word = TypeVar("_Word", bound=StrEnum)

_HALF_PAIR = re.compile(r"[\ud800-\udfff]")


class LongTaskError(InputError):
    """A long-task record or question that means nothing; `code` says which rule it breaks."""

    code = "long_task_invalid"


def refuse(code: str, message: str = "") -> LongTaskError:
    """The error of that code."""
    return LongTaskError(message or code.replace("_", " "), code=code)


def blank(value: object) -> bool:
    """Neither a text nor one that says something; half a surrogate pair is no text and has no digest."""
    return not isinstance(value, str) or not value.strip() or _HALF_PAIR.search(value) is not None


def require(pairs: Iterable[tuple[object, str]]) -> None:
    """Raises `LongTaskError` with the code of the first value that is blank."""
    for value, code in pairs:
        if blank(value):
            raise refuse(code)


def typed(record: object, types: Iterable[tuple[str, type | UnionType]], code: str) -> None:
    """Raises `LongTaskError` of that code for a field that is not of its type."""
    for name, wanted in types:
        if not isinstance(getattr(record, name), wanted):
            raise refuse(code, f"`{name}` is of another type than it must be")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceLocator:
    """Where evidence can be read again, and what it was when it was seen."""

    locator_id: str
    kind: str
    ref: str
    content_digest: str
    workspace_digest: str

    def __post_init__(self) -> None:
        require(
            (
                (self.locator_id, "blank_evidence_locator_id"),
                (self.kind, "blank_evidence_locator_kind"),
                (self.ref, "blank_evidence_locator_ref"),
                (self.content_digest, "blank_evidence_content_digest"),
                (self.workspace_digest, "blank_evidence_workspace_digest"),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryItem:
    """One statement that may have to outlive the context it was made in."""

    key: str
    kind: ContextKind
    content: str
    authority: InstructionAuthority
    trust: TrustLevel
    retention_priority: RetentionPriority
    sensitivity: Sensitivity
    source_event_ids: tuple[str, ...]
    required_for: frozenset[str] = frozenset()
    """Names of the requirements it is evidence for."""

    def __post_init__(self) -> None:
        require(((self.key, "blank_carry_item_key"), (self.content, "blank_carry_item_content")))
        if not self.source_event_ids or any(map(blank, self.source_event_ids)):
            raise refuse("carry_item_without_source")
        # A word is not a member: `secret` as mere text would be no secret, as what is known by its identity.
        typed(self, _ITEM_TYPES, "invalid_carry_item")
        instruction = self.kind is ContextKind.INSTRUCTION
        if instruction and self.authority is InstructionAuthority.NONE:
            raise refuse("instruction_authority_required")
        if not instruction and self.authority is not InstructionAuthority.NONE:
            raise refuse("non_instruction_authority")

    @property
    def secret(self) -> bool:
        """It must not be carried on: by its label, or because its words or names have the shape of a known secret."""
        words = (self.content, self.key, *self.source_event_ids, *self.required_for)
        return self.sensitivity is Sensitivity.SECRET or bool(shapes("\n".join(words)))

    @property
    def required(self) -> bool:
        """It may not be lost: by priority, or because a requirement rests on it."""
        return self.retention_priority is RetentionPriority.REQUIRED or bool(self.required_for)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """One event; `sequence` is 1-based and grows within its run."""

    event_id: str
    run_id: str
    sequence: int
    event_type: EventType
    carry_items: tuple[CarryItem, ...] = ()
    payload_ref: str | None = None
    workspace_digest: str | None = None

    def __post_init__(self) -> None:
        require(((self.event_id, "blank_event_id"), (self.run_id, "blank_run_id")))
        if type(self.sequence) is not int or self.sequence < 1:
            raise refuse("non_positive_event_sequence")
        typed(self, _EVENT_TYPES, "invalid_event_record")
        for optional in (self.payload_ref, self.workspace_digest):
            if optional is not None and not isinstance(optional, str):
                raise refuse("invalid_event_record")
        distinct(self.carry_items)


def secret_event(event: EventRecord) -> bool:
    """Whether anything that would be written of the event is a secret: an item, its id or what it refers to."""
    names = (event.event_id, event.payload_ref or "", event.workspace_digest or "")
    return any(item.secret for item in event.carry_items) or bool(shapes("\n".join(names)))


def distinct(items: Iterable[CarryItem]) -> None:
    """Raises `LongTaskError` (`duplicate_carry_item_key`) when two items have one key."""
    keys = [item.key for item in items]
    if len(keys) != len(set(keys)):
        raise refuse("duplicate_carry_item_key")


def item_from(data: object) -> CarryItem:
    """A carry item from its JSON form. Raises `LongTaskError` (`invalid_event_record`)."""
    found = _object(data, _ITEM_FIELDS)
    return CarryItem(
        key=_text(found["key"]),
        kind=_word(ContextKind, found["kind"]),
        content=_text(found["content"]),
        authority=_word(InstructionAuthority, found["authority"]),
        trust=_word(TrustLevel, found["trust"]),
        retention_priority=_word(RetentionPriority, found["retention_priority"]),
        sensitivity=_word(Sensitivity, found["sensitivity"]),
        source_event_ids=tuple(_texts(found["source_event_ids"])),
        required_for=frozenset(_texts(found["required_for"])),
    )


def event_from(data: object) -> EventRecord:
    """An event from its JSON form. Raises `LongTaskError` (`invalid_event_record`, or the code of the rule broken)."""
    found = _object(data, _EVENT_FIELDS)
    items, sequence = found["carry_items"], found["sequence"]
    if not isinstance(items, list) or type(sequence) is not int:
        raise refuse("invalid_event_record")
    return EventRecord(
        event_id=_text(found["event_id"]),
        run_id=_text(found["run_id"]),
        sequence=sequence,
        event_type=_word(EventType, found["event_type"]),
        carry_items=tuple(item_from(item) for item in items),
        payload_ref=_optional(found["payload_ref"]),
        workspace_digest=_optional(found["workspace_digest"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingSet:
    """What is kept word for word for the next decisions only; owned by the run, worth nothing after it."""

    event_ids: tuple[str, ...] = ()
    carry_items: tuple[CarryItem, ...] = ()
    max_serialized_bytes: int = field(default=0)
    """Bytes of the canonical form that the items may take."""

    def __post_init__(self) -> None:
        if type(self.max_serialized_bytes) is not int or self.max_serialized_bytes < 0:
            raise refuse("negative_max_serialized_bytes")
        require((event_id, "blank_event_id") for event_id in self.event_ids)
        distinct(self.carry_items)


_ITEM_TYPES: tuple[tuple[str, type], ...] = (
    ("kind", ContextKind),
    ("authority", InstructionAuthority),
    ("trust", TrustLevel),
    ("retention_priority", RetentionPriority),
    ("sensitivity", Sensitivity),
    ("source_event_ids", tuple),
    ("required_for", frozenset),
)
_EVENT_TYPES: tuple[tuple[str, type], ...] = (("event_type", EventType), ("carry_items", tuple))
_ITEM_FIELDS = frozenset(CarryItem.__dataclass_fields__)
_EVENT_FIELDS = frozenset(EventRecord.__dataclass_fields__)


def _object(data: object, names: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(data, Mapping) or frozenset(data) != names:
        raise refuse("invalid_event_record")
    return data


def _word(words: type[_Word], value: object) -> _Word:
    try:
        return words(_text(value))
    except ValueError as exc:
        raise refuse("invalid_event_record") from exc


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise refuse("invalid_event_record")
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list):
        raise refuse("invalid_event_record")
    return [_text(member) for member in value]


def _optional(value: object) -> str | None:
    return None if value is None else _text(value)
