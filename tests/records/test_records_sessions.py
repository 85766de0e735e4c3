"""Capability sessions in both databases: transitions, tenants, and that of many who replace one, one wins."""

from __future__ import annotations

from dataclasses import replace
from threading import Barrier, Thread
from typing import Any

import pytest
from records_support import HOUR, OTHER, TENANT

from gate.errors import ConflictError, GateError, InputError
from gate.records import SessionRecord, SessionStatus, Store

NEW = SessionRecord(
    tenant_id=TENANT,
    session_id="s-1",
    run_id="run-1",
    principal_id="user-1",
    trace_session_id="session-1",
    server="docs-mcp",
    capability="search_docs",
)


def opened(store: Store, **changes: Any) -> SessionRecord:
    return store.open_session(replace(NEW, **changes), lifetime_ms=HOUR)


def moved(store: Store, session: SessionRecord, status: SessionStatus) -> SessionRecord:
    return store.move_session(session.tenant_id, session.session_id, expected_version=session.version, status=status)


def code(ask: Any) -> str:
    with pytest.raises(ConflictError) as caught:
        ask()
    return caught.value.code


def test_session_is_found_as_it_was_opened_and_by_its_tenant_only(store: Store) -> None:
    session = opened(store)
    assert session == replace(NEW, expires_at_ms=session.expires_at_ms)
    assert 0 < session.expires_at_ms - store.now_ms() <= HOUR
    assert (store.session(TENANT, "s-1"), store.session(OTHER, "s-1")) == (session, None)


def test_same_id_may_stand_in_two_tenants(store: Store) -> None:
    opened(store)
    assert opened(store, tenant_id=OTHER).tenant_id == OTHER
    assert code(lambda: opened(store)) == "session_exists"


LEGAL = {
    ("active", "paused"), ("active", "expired"), ("active", "closed"),
    ("paused", "active"), ("paused", "expired"), ("paused", "closed"),
}  # fmt: skip


@pytest.mark.parametrize("start", SessionStatus)
@pytest.mark.parametrize("end", SessionStatus)
def test_transitions(store: Store, start: SessionStatus, end: SessionStatus) -> None:
    session = opened(store)
    if start is not SessionStatus.ACTIVE:
        session = moved(store, session, start)
    if (start, end) not in LEGAL:
        assert code(lambda: moved(store, session, end)) == "session_transition_illegal"
        assert store.session(TENANT, "s-1") == session
        return
    ended = moved(store, session, end)
    assert (ended.status, ended.version) == (end, session.version + 1)
    assert store.session(TENANT, "s-1") == ended


def test_counts_belong_to_a_live_session(store: Store) -> None:
    opened(store)
    store.note_progress(TENANT, "s-1")
    session = store.note_elicitation(TENANT, "s-1")
    assert (session.progress_events, session.elicitations, session.version) == (1, 1, 3)
    moved(store, session, SessionStatus.PAUSED)
    assert code(lambda: store.note_progress(TENANT, "s-1")) == "session_not_live"
    assert code(lambda: store.note_progress(TENANT, "s-2")) == "session_unknown"
    assert code(lambda: store.note_progress(OTHER, "s-1")) == "session_unknown"


def test_every_change_is_an_event_of_its_run(store: Store) -> None:
    moved(store, opened(store), SessionStatus.CLOSED)
    store.verify_run(TENANT, "run-1")
    told = [(e.event_type, dict(e.payload)) for e in store.events(TENANT, "run-1") if "session" in e.event_type]
    assert told == [
        (
            "session_opened",
            {"session_id": "s-1", "server": "docs-mcp", "capability": "search_docs", "reinitialized_from": None},
        ),
        ("session_moved", {"session_id": "s-1", "from": "active", "to": "closed"}),
    ]


def test_of_many_that_replace_one_session_one_wins(store: Store) -> None:
    moved(store, opened(store), SessionStatus.EXPIRED)
    barrier, outcomes = Barrier(6), []

    def attempt(number: int) -> None:
        barrier.wait()
        try:
            outcomes.append(opened(store, session_id=f"new-{number}", reinitialized_from="s-1").session_id)
        except GateError as exc:
            outcomes.append(exc.code)

    threads = [Thread(target=attempt, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("session_replaced") == 5


@pytest.mark.parametrize(
    "changes", [{"tenant_id": ""}, {"server": "a\x00"}, {"remote_digest": "secret"}, {"capability": ""}]
)
def test_field_that_no_record_can_hold_is_refused(store: Store, changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        opened(store, **changes)
