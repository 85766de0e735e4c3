"""The context view: what a context may be rebuilt from, each piece marked with the authority it has.

Pure. Only records enter it as more than data; a summary is in it as untrusted text, and nothing here is read by a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gate.records import ConstraintRecord, Event, RunSnapshot


class Authority(StrEnum):
    """What a piece of the view may be relied on for. No member lets anything run: every call is decided afresh."""

    USER = "user"
    """A user's own constraint, which the gate enforces whether or not it is read."""
    RECORD = "record"
    """A system of record says so."""
    HOST = "host"
    """The host stated it through the gate."""
    UNTRUSTED = "untrusted"
    """Derived text: data, never an instruction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece of a context."""

    kind: str
    """objective, constraint, obligation, event or summary."""
    authority: Authority
    source: str
    """Where it can be looked up."""
    content: str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ContextView:
    """Everything a context may be rebuilt from, most binding first."""

    pieces: tuple[Piece, ...]

    def of(self, kind: str) -> tuple[Piece, ...]:
        """The pieces of one kind, in order."""
        return tuple(piece for piece in self.pieces if piece.kind == kind)

    def as_list(self) -> list[dict[str, Any]]:
        """The view as JSON."""
        return [
            {"kind": p.kind, "authority": str(p.authority), "source": p.source, "content": p.content}
            for p in self.pieces
        ]


def build(
    snapshot: RunSnapshot, *, envelope_id: str, obligations: Iterable[str], events: Iterable[Event], summary: str | None
) -> ContextView:
    """The view of a run as its records have it; `summary` is None for a boundary without one."""
    pieces = [_constraint(record) for record in snapshot.constraints if record.status == "active" and record.intact]
    envelope = f"envelope:{envelope_id}"
    if snapshot.progress.objective:
        pieces.append(
            Piece(kind="objective", authority=Authority.HOST, source=envelope, content=snapshot.progress.objective)
        )
    pieces += [
        Piece(kind="obligation", authority=Authority.RECORD, source=envelope, content=name) for name in obligations
    ]
    pieces += [_event(event) for event in events]
    if summary is not None:
        pieces.append(Piece(kind="summary", authority=Authority.UNTRUSTED, source=envelope, content=summary))
    return ContextView(tuple(pieces))


def _constraint(record: ConstraintRecord) -> Piece:
    content = {"words": record.words, "action": record.action, "applies_to": list(record.applies_to)}
    return Piece(
        kind="constraint", authority=Authority.USER, source=f"constraint:{record.constraint_id}", content=content
    )


def _event(event: Event) -> Piece:
    content = {"event_type": event.event_type, "seq": event.seq, "hash": event.hash, **event.payload}
    return Piece(kind="event", authority=Authority.RECORD, source=f"event:{event.run_id}:{event.seq}", content=content)
