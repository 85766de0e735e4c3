from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from records_support import OTHER, TENANT, Place, error_code, run_record

from gate.errors import ConflictError, InputError, StoreError
from gate.records import RunStatus, Store

LEGAL = {
    ("running", "paused"),
    ("paused", "running"),
    *product(("running", "paused"), ("completed", "cancelled", "stopped")),
}


def test_run_created_is_read_back_whole(store: Store) -> None:
    assert store.run(TENANT, "run-1") == run_record()


def test_run_unknown_reads_as_none(store: Store) -> None:
    assert store.run(TENANT, "run-2") is None


def test_run_created_twice_is_refused(store: Store) -> None:
    with pytest.raises(ConflictError, match="exists already") as caught:
        store.create_run(run_record())
    assert caught.value.code == "run_exists"


@pytest.mark.parametrize(
    "changes",
    [{"status": RunStatus.PAUSED}, {"status": "running"}, {"version": 2}]
    + [{f: v} for f in ("tenant_id", "run_id", "agent_id", "session_id") for v in ("", " ", None, 7, "a\nb", "\ud800")],
)
def test_run_that_no_record_can_hold_is_refused(store: Store, changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        store.create_run(replace(run_record("run-9"), **changes))  # type: ignore[arg-type]
    assert store.run(TENANT, "run-9") is None


def _moved_to(store: Store, place: Place, status: str) -> int:
    """Puts the run into `status` past the rules, so that every start of the table can be tried."""
    place.raw("UPDATE runs SET status = ? WHERE tenant_id = ?", status, TENANT)
    found = store.run(TENANT, "run-1")
    assert found is not None
    return found.version


@pytest.mark.parametrize(("before", "after"), list(product(RunStatus, RunStatus)))
def test_run_move_is_applied_only_when_the_table_has_it(
    store: Store, place: Place, before: RunStatus, after: RunStatus
) -> None:
    version = _moved_to(store, place, before)

    def move() -> None:
        store.set_run_status(TENANT, "run-1", expected_version=version, status=after, reason="because")

    expected = "" if (before, after) in LEGAL else "run_transition_illegal"
    assert error_code(move) == expected
    reason = "because" if not expected else ""
    assert store.run(TENANT, "run-1") == replace(
        run_record(),
        status=before if expected else after,
        version=version if expected else version + 1,
        status_reason=reason,
    )
    assert len(store.events(TENANT, "run-1")) == (1 if expected else 2)


def test_run_move_from_an_old_version_is_refused(store: Store) -> None:
    store.set_run_status(TENANT, "run-1", expected_version=1, status=RunStatus.PAUSED, reason="")
    with pytest.raises(ConflictError) as caught:
        store.set_run_status(TENANT, "run-1", expected_version=1, status=RunStatus.STOPPED, reason="")
    assert caught.value.code == "run_changed"


def test_run_move_in_one_tenant_leaves_the_other_alone(store: Store) -> None:
    store.set_run_status(TENANT, "run-1", expected_version=1, status=RunStatus.STOPPED, reason="")
    assert store.run(OTHER, "run-1") == run_record(tenant_id=OTHER)


def test_events_form_a_chain_from_genesis_and_verify(store: Store) -> None:
    first = store.append_event(TENANT, "run-1", "decided", {"verdict": "deny", "codes": ["a"]})
    second = store.append_event(TENANT, "run-1", "decided", {"verdict": "allow"})
    created, *rest = store.events(TENANT, "run-1")
    assert created.prev_hash == "sha256:" + "0" * 64
    assert rest == [first, second]
    assert [e.seq for e in (created, first, second)] == [1, 2, 3]
    assert (first.prev_hash, second.prev_hash) == (created.hash, first.hash)
    assert store.verify_run(TENANT, "run-1") == 3


def test_event_for_an_unknown_run_is_refused(store: Store) -> None:
    assert error_code(lambda: store.append_event(TENANT, "run-2", "x", {})) == "run_unknown"
    assert error_code(lambda: store.verify_run(TENANT, "run-2")) == "run_unknown"


@pytest.mark.parametrize("payload", [None, [], "x", {"a": object()}, {"a": float("nan")}, {"a": "x" * 20_000}])
def test_event_payload_that_is_no_small_json_object_is_refused(store: Store, payload: object) -> None:
    with pytest.raises(InputError):
        store.append_event(TENANT, "run-1", "x", payload)  # type: ignore[arg-type]
    assert store.verify_run(TENANT, "run-1") == 1


def test_event_payload_changed_by_the_caller_afterwards_stays_as_it_was(store: Store) -> None:
    payload = {"ids": ["a"]}
    written = store.append_event(TENANT, "run-1", "x", payload)
    payload["ids"].append("b")
    assert store.events(TENANT, "run-1")[1] == written
    assert written.payload == {"ids": ["a"]}


WHERE = "WHERE tenant_id = 'acme' AND run_id = 'run-1'"


@pytest.mark.parametrize(
    ("statements", "broken"),
    [
        ([f"UPDATE events SET payload = '{{\"n\":9}}' {WHERE} AND seq = 3"], 3),
        ([f"UPDATE events SET payload = '{{ \"n\": 1}}' {WHERE} AND seq = 3"], 3),
        ([f"UPDATE events SET payload = 'junk' {WHERE} AND seq = 2"], 2),
        ([f"UPDATE events SET payload = x'00ff' {WHERE} AND seq = 2"], 2),
        ([f"UPDATE events SET at_ms = at_ms + 1 {WHERE} AND seq = 1"], 1),
        ([f"UPDATE events SET event_type = 'y' {WHERE} AND seq = 4"], 4),
        ([f"UPDATE events SET hash = 'sha256:0' {WHERE} AND seq = 2"], 2),
        ([f"DELETE FROM events {WHERE} AND seq = 1"], 1),
        ([f"DELETE FROM events {WHERE} AND seq = 3"], 3),
        ([f"DELETE FROM events {WHERE} AND seq = 5"], 5),
        ([f"DELETE FROM events {WHERE}"], 1),
        (
            [
                f"UPDATE events SET seq = 99 {WHERE} AND seq = 2",
                f"UPDATE events SET seq = 2 {WHERE} AND seq = 3",
                f"UPDATE events SET seq = 3 {WHERE} AND seq = 99",
            ],
            2,
        ),
        ([f"UPDATE events SET tenant_id = 'globex', seq = 77 {WHERE} AND seq = 4"], 4),
        ([f"UPDATE runs SET head_seq = 4 {WHERE}"], 5),
        ([f"UPDATE runs SET head_seq = 6 {WHERE}"], 6),
        ([f"UPDATE runs SET head_hash = 'sha256:0' {WHERE}"], 5),
        ([f"DELETE FROM runs {WHERE}"], 1),
    ],
)
def test_chain_edited_behind_the_gate_names_the_first_broken_event(
    store: Store, place: Place, statements: list[str], broken: int
) -> None:
    for number in range(4):
        store.append_event(TENANT, "run-1", "x", {"n": number})
    assert store.verify_run(TENANT, "run-1") == 5
    for statement in statements:
        place.raw(statement)
    with pytest.raises(StoreError, match=f"breaks at event {broken}$") as caught:
        store.verify_run(TENANT, "run-1")
    assert caught.value.code == "event_chain_broken"


def test_two_runs_do_not_share_a_chain(store: Store) -> None:
    store.create_run(run_record("run-2"))
    store.append_event(TENANT, "run-2", "x", {})
    assert (store.verify_run(TENANT, "run-1"), store.verify_run(TENANT, "run-2")) == (1, 2)
