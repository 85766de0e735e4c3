from __future__ import annotations

import json
from typing import Any

import pytest
from records_support import OTHER, TENANT, Place, at_once, error_code, run_record

from gate import canonical
from gate.errors import ConflictError
from gate.records import (
    BoundaryRecord,
    BoundaryStatus,
    LedgerEntry,
    LocatorResult,
    NewTaskEvent,
    Store,
    TaskArtifact,
    TaskCheckpoint,
    TaskLocator,
    TaskPacket,
    longtask_rows,
)

BODY = '{"event_id":"e"}'
SUMMARY = canonical.digest("summary")


def events(first: int, last: int) -> list[NewTaskEvent]:
    return [NewTaskEvent(sequence=n, event_id=f"evt-{n}", event_type="task", body=BODY) for n in range(first, last + 1)]


def artifact(**changes: Any) -> TaskArtifact:
    body = changes.get("body", '{"goal":"g"}')
    fields: dict[str, Any] = {
        "tenant_id": TENANT,
        "artifact_id": "art-1",
        "run_id": "run-1",
        "namespace": "main",
        "first_sequence": 1,
        "last_sequence": 3,
        "schema_version": "1.0",
        "digest": canonical.digest_bytes(body.encode()),
        "source_digest": "s",
        "workspace_digest": "w",
        "generation": 1,
        "direct_source": "event_log",
        "generator": "structured",
        "generator_version": "v1",
        "body": body,
        "parent_artifact_id": None,
        "parent_digest": None,
    }
    return TaskArtifact(**{**fields, **changes})


def checkpoint(of: TaskArtifact, **changes: Any) -> TaskCheckpoint:
    body = changes.pop("body", '{"next_step":"x"}')
    fields: dict[str, Any] = {
        "tenant_id": TENANT,
        "run_id": of.run_id,
        "checkpoint_id": "cp-1",
        "artifact_id": of.artifact_id,
        "artifact_digest": of.digest,
        "digest": canonical.digest_bytes(body.encode()),
        "workspace_digest": "w",
        "namespace": "main",
        "event_cursor": 3,
        "body": body,
        "envelope_id": "ce-1",
    }
    return TaskCheckpoint(**{**fields, **changes})


def boundary(store: Store, **changes: Any) -> BoundaryRecord:
    """Opens the boundary `ce-1` of run-1."""
    seen = store.snapshot(TENANT, "run-1")
    assert seen is not None
    fields: dict[str, Any] = {
        "tenant_id": TENANT,
        "envelope_id": "ce-1",
        "run_id": "run-1",
        "session_id": "session-1",
        "source_trace_id": "trace-1",
        "reason": "context_compaction",
        "status": BoundaryStatus.OPEN,
        "requested": True,
        "epoch": seen.run.epoch,
        "first_seq": seen.range.first_seq,
        "last_seq": seen.range.last_seq,
        "body": '{"envelope_id":"ce-1"}',
        "seal": "{}",
        "summary_sha256": None,
        "written_at_ms": seen.now_ms,
        "version": 1,
    }
    written, _ = store.write_boundary(
        BoundaryRecord(**{**fields, **changes}), run_version=seen.run.version, frozen=seen.range
    )
    return written


def commit(store: Store, new: TaskCheckpoint, opened: BoundaryRecord) -> TaskCheckpoint:
    written, _, _ = store.commit_task(
        new, expected_version=opened.version, body=opened.body, summary_sha256=SUMMARY, sealed_with="{}"
    )
    return written


@pytest.fixture
def store(place: Place) -> Any:
    with Store.open(place.url, busy_timeout_ms=30_000) as opened:
        opened.create_run(run_record())
        yield opened


def test_events_are_read_as_they_were_written_and_only_their_range(store: Store) -> None:
    written = store.append_task_events(TENANT, "run-1", events(1, 5))
    assert store.task_events(TENANT, "run-1", first=2, last=4) == written[1:4]
    assert store.last_task_event(TENANT, "run-1") == written[-1]
    assert store.verify_run(TENANT, "run-1") == 6


_DAMAGE = {
    "edited": "UPDATE task_events SET body = '{}' {w} AND sequence = 3",
    "edited with a digest that fits": "UPDATE task_events SET body = '{}', salt = 'x', digest = '{fitting}' {w} "
    "AND sequence = 3",
    "torn": "UPDATE task_events SET body = substr(body, 1, 9) {w} AND sequence = 6",
    "lost": "DELETE FROM task_events {w} AND sequence = 3",
    "cut off": "DELETE FROM task_events {w} AND sequence = 6",
    "reordered": "UPDATE task_events SET sequence = 9 {w} AND sequence = 3",
    "renumbered": "UPDATE task_events SET position = 9 {w} AND sequence = 6",
    "linked elsewhere": "UPDATE task_events SET chain_seq = 3 {w} AND sequence = 3",
    "swapped": "UPDATE task_events SET salt = (SELECT e.salt FROM task_events e {e} AND e.sequence = 4), "
    "digest = (SELECT e.digest FROM task_events e {e} AND e.sequence = 4) {w} AND sequence = 3",
    "link edited": "UPDATE events SET payload = replace(payload, 'sha256', 'sha255') {w} AND seq = 4",
    "link of another time": "UPDATE events SET at_ms = at_ms + 1 {w} AND seq = 4",
    "link lost": "DELETE FROM events {w} AND seq = 4",
}
"""What is done to the log of one run, by name; `{w}` and `{e}` name the run."""


def test_damage_of_every_kind_is_seen_and_stops_its_own_run_only(store: Store, place: Place) -> None:
    def code(run_id: str) -> str:
        def whole() -> None:
            store.last_task_event(TENANT, run_id)
            store.task_events(TENANT, run_id, first=1, last=9)

        return error_code(whole)

    names = {f"run-{number}": damage for number, damage in enumerate(_DAMAGE.values(), start=10)}
    written = {"run-1": store.append_task_events(TENANT, "run-1", events(1, 6))}
    for name in names:
        store.create_run(run_record(name))
        written[name] = store.append_task_events(TENANT, name, events(1, 6))
    for name, damage in names.items():
        where = {
            alias: f"WHERE {pre}tenant_id = ? AND {pre}run_id = '{name}'" for alias, pre in (("w", ""), ("e", "e."))
        }
        fitting = canonical.digest({"salt": "x", "body": canonical.digest_bytes(b"{}")})
        statement = damage.replace("{w}", where["w"]).replace("{e}", where["e"]).replace("{fitting}", fitting)
        place.raw(statement, *[TENANT] * statement.count("?"))
    assert {name: code(name) for name in names} == dict.fromkeys(names, "task_log_broken")
    assert store.task_events(TENANT, "run-1", first=1, last=9) == written["run-1"]


def test_salt_that_needs_an_escape_is_under_the_digest_as_any_other() -> None:
    for salt in ("0123abcd", 'a"b', "ä", ""):
        wanted = canonical.digest({"salt": salt, "body": canonical.digest_bytes(BODY.encode())})
        assert longtask_rows.event_digest(BODY, salt) == wanted


def test_event_bodies_are_in_no_link_of_the_chain(store: Store) -> None:
    store.append_task_events(TENANT, "run-1", events(1, 1))
    (link,) = [event for event in store.events(TENANT, "run-1") if event.event_type == "task_event"]
    assert set(link.payload) == {"sequence", "position", "digest"}
    assert canonical.digest_bytes(BODY.encode()) not in json.dumps(link.payload)


def test_twenty_writers_at_once_append_each_sequence_once(store: Store) -> None:
    codes = at_once(20, lambda n: store.append_task_events(TENANT, "run-1", events(1, 2)))
    assert sorted(codes) == [""] + ["duplicate_event_id"] * 19
    assert [event.sequence for event in store.task_events(TENANT, "run-1", first=1, last=9)] == [1, 2]


def test_two_writers_of_one_artifact_id_leave_one_complete_winner(store: Store) -> None:
    def write(number: int) -> None:
        store.persist_artifact(artifact(body=json.dumps({"goal": number})), (), envelope_id=None)

    codes = at_once(8, write)
    found = store.task_artifact(TENANT, "art-1")
    assert found is not None
    assert sorted(codes) == [""] + ["artifact_id_conflict"] * 7
    assert canonical.digest_bytes((found.body or "").encode()) == found.digest


def test_identical_artifact_again_is_the_one_that_is_there(store: Store) -> None:
    first = store.persist_artifact(artifact(), (), envelope_id=None)
    assert store.persist_artifact(artifact(), (), envelope_id=None) == first
    assert at_once(4, lambda n: store.persist_artifact(artifact(), (), envelope_id=None)) == [""] * 4


def test_commit_seals_the_boundary_and_names_the_artifact_in_one_transaction(store: Store) -> None:
    opened = boundary(store)
    stored = store.persist_artifact(artifact(), (), envelope_id="ce-1")
    written = commit(store, checkpoint(stored), opened)
    sealed = store.boundary(TENANT, "ce-1")
    pair = store.committed_pair(TENANT, "run-1")
    assert sealed is not None
    assert pair is not None
    assert (pair.checkpoint, pair.artifact, str(sealed.status)) == (written, stored, "sealed")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"artifact_id": "art-404"}, "checkpoint_artifact_missing"),
        ({"artifact_digest": SUMMARY}, "checkpoint_artifact_mismatch"),
        ({"envelope_id": "ce-404"}, "boundary_changed"),
    ],
)
def test_commit_of_another_artifact_or_boundary_writes_nothing(
    store: Store, changes: dict[str, Any], code: str
) -> None:
    opened = boundary(store)
    stored = store.persist_artifact(artifact(), (), envelope_id="ce-1")
    assert error_code(lambda: commit(store, checkpoint(stored, **changes), opened)) == code
    left = store.boundary(TENANT, "ce-1")
    assert left is not None
    assert (store.committed_pair(TENANT, "run-1"), str(left.status)) == (None, "open")


def test_eight_committers_at_once_leave_one_pair(store: Store) -> None:
    opened = boundary(store)
    stored = store.persist_artifact(artifact(), (), envelope_id="ce-1")
    codes = at_once(8, lambda n: commit(store, checkpoint(stored, checkpoint_id=f"cp-{n}"), opened))
    assert codes.count("") == 1
    assert set(codes) <= {"", "boundary_changed"}
    assert len(store.task_checkpoints(TENANT, "run-1")) == 1


def test_artifact_inside_a_boundary_that_was_replaced_is_not_stored(store: Store) -> None:
    boundary(store)
    with pytest.raises(ConflictError) as refused:
        store.persist_artifact(artifact(), (), envelope_id="ce-0")
    assert (refused.value.code, store.task_artifact(TENANT, "art-1")) == ("boundary_changed", None)


def test_damaged_checkpoint_is_passed_over_for_the_one_before_it(store: Store, place: Place) -> None:
    opened = boundary(store)
    stored = store.persist_artifact(artifact(), (), envelope_id="ce-1")
    first = commit(store, checkpoint(stored), opened)
    place.raw(
        "INSERT INTO task_checkpoints (tenant_id, run_id, checkpoint_id, artifact_id, artifact_digest, digest, "
        "workspace_digest, namespace, event_cursor, ordinal, committed_at_ms, body) "
        "VALUES (?, 'run-1', 'cp-forged', 'art-1', 'x', 'sha256:00', 'w', 'main', 9, 9, 9, '{}')",
        TENANT,
    )
    pair = store.committed_pair(TENANT, "run-1")
    assert pair is not None
    assert pair.checkpoint == first


def test_orphan_is_cleaned_once_old_enough_and_its_id_is_never_used_again(store: Store) -> None:
    store.persist_artifact(artifact(), (), envelope_id=None)
    assert store.clean_orphans(TENANT, grace_ms=60_000) == ()
    assert [one.artifact_id for one in store.clean_orphans(TENANT, grace_ms=0)] == ["art-1"]
    assert error_code(lambda: store.persist_artifact(artifact(), (), envelope_id=None)) == "artifact_id_conflict"
    (gone,) = [event for event in store.events(TENANT, "run-1") if event.event_type == "artifact_cleaned"]
    assert gone.payload["digest"] == artifact().digest


def test_held_artifact_parent_and_one_in_an_open_boundary_are_no_orphans(store: Store) -> None:
    store.persist_artifact(artifact(), (), envelope_id=None)
    store.persist_artifact(artifact(artifact_id="art-2", parent_artifact_id="art-1"), (), envelope_id=None)
    assert [one.artifact_id for one in store.orphans(TENANT)] == ["art-2"]
    store.hold_artifact(TENANT, "art-2", reason="investigation")
    assert store.orphans(TENANT) == ()
    store.persist_artifact(artifact(artifact_id="art-3"), (), envelope_id=None)
    boundary(store)
    assert store.orphans(TENANT) == ()


def test_events_before_every_referenced_range_are_retired_and_those_within_are_not(store: Store) -> None:
    store.append_task_events(TENANT, "run-1", events(1, 6))
    opened = boundary(store)
    stored = store.persist_artifact(artifact(first_sequence=3, last_sequence=4), (), envelope_id="ce-1")
    commit(store, checkpoint(stored, event_cursor=4), opened)
    assert store.retire_task_events(TENANT, "run-1", older_than_ms=60_000) == 0
    assert store.retire_task_events(TENANT, "run-1", older_than_ms=0) == 2
    assert store.task_source_holds(TENANT, "run-1", first=3, last=6)
    assert not store.task_source_holds(TENANT, "run-1", first=1, last=2)
    assert store.verify_run(TENANT, "run-1") > 6


def test_forgotten_session_is_blank_on_both_databases_and_its_chain_holds(store: Store) -> None:
    store.append_task_events(TENANT, "run-1", events(1, 3))
    opened = boundary(store)
    place_of = TaskLocator(locator_id="loc-1", kind="file", ref="a/b", content_digest="c", workspace_digest="w")
    stored = store.persist_artifact(artifact(), [place_of], envelope_id="ce-1")
    commit(store, checkpoint(stored), opened)
    frozen = store.freeze_session(TENANT, "session-1", requested_by="p", reason="asked")
    assert error_code(lambda: store.append_task_events(TENANT, "run-1", events(4, 4))) == "session_forgotten"
    receipt = store.erase_session(TENANT, "session-1")
    (left,) = store.task_locators(TENANT, "art-1")
    assert (frozen.status, receipt.status, left.ref) == ("frozen", "erased", None)
    assert json.loads(receipt.counts)["events"] == 3
    assert store.deletion_receipt(TENANT, "session-1") == receipt
    assert store.deletion_receipt(OTHER, "session-1") is None
    assert store.verify_run(TENANT, "run-1") > 3
    assert store.committed_pair(TENANT, "run-1") is None


def test_ledger_packets_and_locators_are_kept_in_order(store: Store) -> None:
    entry = LedgerEntry(tenant_id=TENANT, run_id="run-1", kind="reload", outcome="ok", operator="o", audit="{}")
    assert [store.log_task(entry).ordinal for _ in range(3)] == [1, 2, 3]
    packet = TaskPacket(
        tenant_id=TENANT,
        run_id="run-1",
        packet_digest="d",
        artifact_id="art-1",
        checkpoint_id="cp-1",
        size_bytes=1,
        envelope_id=None,
        items="[]",
    )
    assert [store.log_packet(packet).ordinal for _ in range(2)] == [1, 2]
    place_of = TaskLocator(locator_id="loc-1", kind="file", ref="a/b", content_digest="c", workspace_digest="w")
    store.persist_artifact(artifact(), [place_of], envelope_id=None)
    store.note_locators(TENANT, "art-1", {"loc-1": LocatorResult.STALE})
    (found,) = store.task_locators(TENANT, "art-1")
    assert (found.result, found.version) == (LocatorResult.STALE, 2)
    assert (store.task_ledger(OTHER), store.task_packets(OTHER, "run-1")) == ((), ())
