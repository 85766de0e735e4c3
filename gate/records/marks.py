"""Marks along a run's event chain: every so many events the appender walks those since the last mark and says so.

A mark is an event of the chain like any other, so whoever trusts a later hash of the chain trusts every mark before it:
nobody has to walk what a mark already vouches for, unless the database noted that somebody changed or removed an event.
Opens no transaction and decides nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, select

from gate import canonical
from gate.errors import InputError
from gate.records.tables import EVENT_ALTERATIONS, EVENTS

GENESIS = "sha256:" + "0" * 64
"""`prev_hash` of the first event of every run."""

EVERY = 1024
"""The events whose number is a multiple of this are marks."""

MARK = "log_walked"
"""Type of the event that is a mark."""

_PAGE = 2000
_WALKED = select(
    EVENTS.c.seq, EVENTS.c.prev_hash, EVENTS.c.hash, EVENTS.c.event_type, EVENTS.c.payload, EVENTS.c.at_ms
).order_by(EVENTS.c.seq)


class Links:
    """Hashes of the events of one run: each of the canonical JSON of the event with its payload as it is stored.

    Written down as text, because this is on the way of every append and every resume: what all events of the run have
    in common once, and no other payload text than the canonical one gives the same hash.
    """

    def __init__(self, tenant_id: str, run_id: str) -> None:
        self._tail = f',"run_id":{_text(run_id)},"seq":'
        self._end = f',"tenant_id":{_text(tenant_id)}}}'
        self._types: dict[str, str] = {}

    def digest(self, seq: int, prev_hash: str, event_type: str, payload: str, at_ms: int) -> str:
        """The hash of the event with these fields; `payload` is its JSON text."""
        kind = self._types.get(event_type)
        if kind is None:
            kind = self._types[event_type] = f',"event_type":{_text(event_type)},"payload":'
        text = f'{{"at_ms":{at_ms}{kind}{payload},"prev_hash":"{prev_hash}"{self._tail}{seq}{self._end}'
        return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def walk(
    tx: Connection, tenant_id: str, run_id: str, *, first_seq: int, prev_hash: str, last_seq: int | None = None
) -> Iterator[tuple[int, str]]:
    """Number and hash of each event that holds, from `first_seq` on; ends before the first that does not.

    Each must have the number and predecessor that its place asks for, and the hash of what it says.
    """
    query = _WALKED.where(EVENTS.c.tenant_id == tenant_id, EVENTS.c.run_id == run_id, EVENTS.c.seq >= first_seq)
    if last_seq is not None:
        query = query.where(EVENTS.c.seq <= last_seq)
    links = Links(tenant_id, run_id)
    expected = first_seq
    for found in tx.execute(query, execution_options={"yield_per": _PAGE}):
        row: tuple[Any, ...] = tuple(found)
        if row[0] != expected or row[1] != prev_hash or not _holds(row, links):
            return
        prev_hash = row[2]
        yield expected, prev_hash
        expected += 1


def payload(tx: Connection, tenant_id: str, run_id: str, *, seq: int, prev_hash: str) -> dict[str, Any]:
    """What the mark with number `seq` says: from where on the chain holds up to it, or where it does not.

    `prev_hash` is the recorded end of the chain before it.
    """
    before = _event(tx, tenant_id, run_id, seq - EVERY)
    first = max(1, seq - EVERY)
    if before is None and first > 1:
        return {"broken_at": first}
    since, last = first, first - 1
    found = start = GENESIS if before is None else str(before[1])
    for held in walk(tx, tenant_id, run_id, first_seq=first, prev_hash=start, last_seq=seq - 1):
        last, found = held
    if last != seq - 1 or found != prev_hash:
        return {"broken_at": last + 1}
    earlier = None if before is None else _said(before)
    if earlier is not None and "broken_at" in earlier:
        return {"broken_at": earlier["broken_at"]}
    if earlier is not None and type(earlier.get("from_seq")) is int:
        since = earlier["from_seq"]
    return {"from_seq": since, "through_seq": seq - 1}


def vouched(tx: Connection, tenant_id: str, run_id: str, *, first_seq: int, last_seq: int) -> tuple[int, str] | None:
    """The last mark up to `last_seq` that vouches for everything since `first_seq`, and the hash it follows.

    None when there is none, or when the database noted a change before it: the chain must then be walked. What a mark
    says counts only once the walk from it has reached a hash that is trusted.
    """
    seq = last_seq - last_seq % EVERY
    if seq <= first_seq:
        return None
    found = _event(tx, tenant_id, run_id, seq)
    said = None if found is None else _said(found)
    if found is None or said is None or type(said.get("from_seq")) is not int or said["from_seq"] > first_seq:
        return None
    noted = select(EVENT_ALTERATIONS.c.seq).where(
        EVENT_ALTERATIONS.c.tenant_id == tenant_id,
        EVENT_ALTERATIONS.c.run_id == run_id,
        EVENT_ALTERATIONS.c.seq >= first_seq,
        EVENT_ALTERATIONS.c.seq <= seq,
    )
    return None if tx.execute(noted.limit(1)).first() is not None else (seq, str(found[1]))


def _event(tx: Connection, tenant_id: str, run_id: str, seq: int) -> tuple[Any, ...] | None:
    query = _WALKED.where(EVENTS.c.tenant_id == tenant_id, EVENTS.c.run_id == run_id, EVENTS.c.seq == seq)
    row = tx.execute(query).one_or_none()
    return None if row is None else tuple(row)


def _said(row: tuple[Any, ...]) -> dict[str, Any] | None:
    """The payload of a mark; None for any other event."""
    if row[3] != MARK:
        return None
    try:
        found = canonical.parse(row[4])
    except (InputError, AttributeError):
        return None
    return found if type(found) is dict else None


def _holds(row: tuple[Any, ...], links: Links) -> bool:
    """Whether the hash of the row is that of what it says."""
    seq, prev_hash, digest, event_type, stored, at_ms = row
    if type(at_ms) is not int or type(event_type) is not str or type(stored) is not str:
        return False
    return bool(links.digest(seq, prev_hash, event_type, stored, at_ms) == digest)


def _text(value: str) -> str:
    return canonical.canonical_bytes(value).decode("utf-8")
