from __future__ import annotations

from typing import Any

import pytest
from records_support import TENANT, Place, run_record
from sqlalchemy import event

from gate import canonical
from gate.records import BoundaryRecord, BoundaryStatus, EventRange, Store, marks, runs

WHERE = "WHERE tenant_id = ? AND run_id = 'run-m'"


def _grown(store: Store, count: int, run_id: str = "run-m") -> EventRange:
    """A run with `count` events and what a boundary over all of them would freeze."""
    store.create_run(run_record(run_id))

    def grow(tx: Any) -> tuple[int, str]:
        run = runs.locked(tx, TENANT, run_id)
        while run.head[0] < count:
            run.append("note", {"n": run.head[0]})
        return run.head

    last_seq, head_hash = store._database.writing(grow)
    return EventRange(first_seq=1, last_seq=last_seq, head_hash=head_hash)


def _linked(store: Store, frozen: EventRange, run_id: str = "run-m") -> bool:
    boundary = BoundaryRecord(
        tenant_id=TENANT,
        envelope_id="ce-1",
        run_id=run_id,
        session_id="session-1",
        source_trace_id="trace-1",
        reason="context_compaction",
        status=BoundaryStatus.SEALED,
        requested=True,
        epoch=1,
        first_seq=frozen.first_seq,
        last_seq=frozen.last_seq,
        body="{}",
        seal=None,
        summary_sha256=None,
        written_at_ms=1,
        version=1,
    )
    return store.prove_boundary(boundary, frozen).linked


def _rows_walked(store: Store, frozen: EventRange, run_id: str) -> int:
    """How many rows of events the proof of a boundary reads."""
    seen: list[int] = []
    walk = marks.walk

    def counted(*args: Any, **options: Any) -> Any:
        for held in walk(*args, **options):
            seen.append(held[0])
            yield held

    marks.walk = counted  # type: ignore[assignment] # put back below
    try:
        assert _linked(store, frozen, run_id)
    finally:
        marks.walk = walk
    return len(seen)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "EVERY", 16)


def test_marks_stand_at_every_multiple_and_vouch_from_the_first_event_on(store: Store) -> None:
    _grown(store, 70)

    found = [(e.seq, dict(e.payload)) for e in store.events(TENANT, "run-m") if e.event_type == marks.MARK]

    assert found == [(seq, {"from_seq": 1, "through_seq": seq - 1}) for seq in (16, 32, 48, 64)]
    assert store.verify_run(TENANT, "run-m") == 70


def test_proof_of_a_range_ten_times_as_long_reads_no_more_of_it(store: Store) -> None:
    short, long = _grown(store, 35, "short"), _grown(store, 355, "long")

    assert (_rows_walked(store, short, "short"), _rows_walked(store, long, "long")) == (4, 4)


@pytest.mark.parametrize("seq", [1, 2, 15, 16, 17, 31, 33, 40])
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET payload = '{}'",
        "UPDATE events SET event_type = 'other'",
        "UPDATE events SET at_ms = at_ms + 1",
        "UPDATE events SET hash = prev_hash",
        "DELETE FROM events",
    ],
)
def test_event_changed_anywhere_in_the_range_breaks_the_proof(
    store: Store, place: Place, seq: int, damage: str
) -> None:
    frozen = _grown(store, 40)
    assert _linked(store, frozen)

    place.raw(f"{damage} {WHERE} AND seq = ?", TENANT, seq)

    assert not _linked(store, frozen)


def test_event_changed_back_holds_again(store: Store, place: Place) -> None:
    frozen = _grown(store, 40)
    place.raw(f"UPDATE events SET event_type = 'other' {WHERE} AND seq = 5", TENANT)
    place.raw(f"UPDATE events SET event_type = 'note' {WHERE} AND seq = 5", TENANT)

    assert _linked(store, frozen)


def test_event_replaced_behind_a_mark_breaks_the_proof(store: Store, place: Place) -> None:
    frozen = _grown(store, 40)
    conflict = (
        "INSERT INTO events {} ON CONFLICT (tenant_id, run_id, seq) DO UPDATE SET payload = '{{}}'"
        if place.is_postgres
        else "INSERT OR REPLACE INTO events {}"
    )
    columns = "tenant_id, run_id, seq, prev_hash, hash, event_type, payload, at_ms"

    place.raw(
        conflict.format(
            f"({columns}) SELECT {columns.replace('payload', chr(39) + '{}' + chr(39))} FROM events {WHERE} AND seq = 5"
        ),
        TENANT,
    )

    assert not _linked(store, frozen)


def test_change_that_the_next_mark_met_is_still_found_when_the_note_of_it_is_removed(
    store: Store, place: Place
) -> None:
    _grown(store, 20)
    place.raw(f"UPDATE events SET payload = '{{}}' {WHERE} AND seq = 18", TENANT)
    place.raw("DELETE FROM event_alterations WHERE tenant_id = ?", TENANT)

    def grow(tx: Any) -> tuple[int, str]:
        run = runs.locked(tx, TENANT, "run-m")
        while run.head[0] < 70:
            run.append("note", {"n": run.head[0]})
        return run.head

    last_seq, head_hash = store._database.writing(grow)

    said = [dict(e.payload) for e in store.events(TENANT, "run-m") if e.event_type == marks.MARK]
    assert said == [{"from_seq": 1, "through_seq": 15}, *[{"broken_at": 18}] * 3]
    assert not _linked(store, EventRange(first_seq=1, last_seq=last_seq, head_hash=head_hash))


def test_mark_that_was_forged_with_the_chain_after_it_does_not_reach_the_frozen_hash(
    store: Store, place: Place
) -> None:
    frozen = _grown(store, 40)
    forged = canonical.canonical_bytes({"from_seq": 1, "through_seq": 31}).decode()
    place.raw(f"UPDATE events SET payload = ? {WHERE} AND seq = 32", forged.replace("31", "30"), TENANT)
    place.raw("DELETE FROM event_alterations WHERE tenant_id = ?", TENANT)

    assert not _linked(store, frozen)


def test_range_of_a_log_without_marks_is_walked_whole(store: Store, place: Place, monkeypatch: Any) -> None:
    monkeypatch.setattr(marks, "EVERY", 1_000_000)
    frozen = _grown(store, 40)
    monkeypatch.setattr(marks, "EVERY", 16)

    assert _rows_walked(store, frozen, "run-m") == 40
    place.raw(f"UPDATE events SET payload = '{{}}' {WHERE} AND seq = 3", TENANT)
    place.raw("DELETE FROM event_alterations WHERE tenant_id = ?", TENANT)
    assert not _linked(store, frozen)


def test_append_reads_events_only_where_a_mark_is_due(store: Store) -> None:
    _grown(store, 14)
    reads: list[str] = []

    def note(_c: Any, _k: Any, statement: str, *_: Any) -> None:
        if "SELECT" in statement and " events" in statement:
            reads.append(statement)

    engine = store._database.backend.writer
    event.listen(engine, "before_cursor_execute", note)
    try:
        store.append_event(TENANT, "run-m", "note", {})
        before = len(reads)
        store.append_event(TENANT, "run-m", "note", {})
    finally:
        event.remove(engine, "before_cursor_execute", note)

    assert (before, len(reads) > 0) == (0, True)
