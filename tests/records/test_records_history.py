"""What a run did is read without its long-task log, and only while its whole chain holds."""

from __future__ import annotations

import pytest
from records_support import TENANT, Place

from gate.records import HistoryStep, NewTaskEvent, RunHistory, Store, marks

WHERE = "WHERE tenant_id = ? AND run_id = 'run-1'"


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "EVERY", 16)


@pytest.fixture
def long(store: Store) -> Store:
    """`run-1` with a step before and a step after fifty events of a long task."""
    for start in (1, 51):
        store.record_step(TENANT, "run-1", HistoryStep(version=start // 50, payload={"n": start}), status="done")
        store.append_task_events(
            TENANT,
            "run-1",
            [
                NewTaskEvent(sequence=n, event_id=f"e{n}", event_type="task", body="{}")
                for n in range(start, start + 50)
            ],
        )
    return store


def _history(store: Store) -> RunHistory:
    found = store.history(TENANT, "run-1")
    assert found is not None
    return found


def test_history_holds_what_was_done_and_no_link_of_the_task_log_or_mark(long: Store) -> None:
    found = _history(long)

    assert found.integrity == "verified"
    assert [(e.event_type, e.payload.get("n")) for e in found.events] == [
        ("run_created", None),
        ("trajectory_step", 1),
        ("trajectory_step", 51),
    ]


def test_history_of_a_run_that_is_not_there_is_none(store: Store) -> None:
    assert store.history(TENANT, "nobody") is None


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param("UPDATE events SET payload = '{}' {w} AND seq = 2", id="step-before-a-mark-edited"),
        pytest.param("UPDATE events SET payload = '{}' {w} AND seq = 5", id="link-before-a-mark-edited"),
        pytest.param("DELETE FROM events {w} AND seq = 2", id="step-removed"),
        pytest.param("DELETE FROM events {w} AND seq = (SELECT max(seq) FROM events {w})", id="tail-cut"),
        pytest.param("UPDATE events SET seq = -seq {w} AND seq IN (5, 6)", id="links-moved"),
        pytest.param("UPDATE runs SET head_hash = 'x' {w}", id="head-changed"),
        pytest.param("UPDATE runs SET head_seq = head_seq - 1 {w}", id="head-put-back"),
    ],
)
def test_history_of_a_damaged_chain_is_corrupt_and_that_of_the_other_tenant_is_not(
    long: Store, place: Place, damage: str
) -> None:
    statement = damage.replace("{w}", WHERE)

    place.raw(statement, *[TENANT] * statement.count("?"))

    assert _history(long) == RunHistory("corrupt", ())
    other = long.history("globex", "run-1")
    assert other is not None
    assert other.integrity == "verified"


def test_step_on_a_history_that_grew_is_refused_whatever_the_log_holds(long: Store) -> None:
    with pytest.raises(Exception, match="the run took another step after the decision") as caught:
        long.record_step(TENANT, "run-1", HistoryStep(version=1, payload={"n": 0}), status="done")

    assert getattr(caught.value, "code", None) == "history_changed"
