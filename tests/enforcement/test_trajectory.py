from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from edge_support import TENANT, Edge, copied, open_edge, point_of
from enforcement_support import at_once, raw
from opa_point import OpaPoint

from gate.canonical import digest
from gate.decision import ActionBlocked
from gate.enforcement import AlreadyCommitted, EffectNotStarted

FIELDS = {
    "policy_id",
    "policy_version",
    "rule_id",
    "reason",
    "history_ref",
    "history_version",
    "sequence_summary",
    "sequence_ref",
    "fingerprints",
    "counters",
    "window_id",
    "window_state",
    "approval_state",
    "decision",
}


@pytest.fixture(scope="module")
def point(tmp_path_factory: pytest.TempPathFactory) -> OpaPoint:
    return point_of(copied("edge-deployment", tmp_path_factory.mktemp("bundle")))


@pytest.fixture
def edge(point: OpaPoint, tmp_path: Path) -> Iterator[Edge]:
    with open_edge(point, tmp_path) as world:
        yield world


def call(edge: Edge, capability: str, arguments: dict[str, Any], *, fails: type[Exception] | None = None) -> str:
    """One call; `ran`, or the codes that refused it."""
    key = f"{capability}-{digest(arguments)[7:19]}"
    try:
        with edge.gate.tool_call(
            edge.run, capability, arguments, idempotency_key=key, reason="A new release."
        ) as entered:
            edge.bodies.append(capability)
            if fails is not None:
                raise fails("as the test wants it")
            entered.complete({"n": len(edge.bodies)})
    except AlreadyCommitted as done:
        return f"receipt {done.receipt}"
    except ActionBlocked as blocked:
        return " ".join(c for c in blocked.decision.codes if not c.startswith("configured"))
    except (EffectNotStarted, RuntimeError):
        return "failed"
    return "ran"


def shift(edge: Edge, percent: str, step: int, release: str = "r-8") -> str:
    return call(edge, "shift_traffic", {"release": release, "step": step, "percent": percent})


def prepared(edge: Edge) -> None:
    assert call(edge, "register_release", {"release": "r-8"}) == "ran"
    assert call(edge, "run_smoke_test", {"release": "r-8", "attempt": 1}) == "ran"


def test_limit_adds_up_exactly_over_the_calls_of_a_run(edge: Edge) -> None:
    prepared(edge)

    # In binary floating point 25.1 + 0.1 + 0.1 is over 25.3.
    answers = [shift(edge, "25.1", 1), shift(edge, "0.1", 2), shift(edge, "0.1", 3), shift(edge, "0.000001", 4)]

    assert answers == ["ran", "ran", "ran", "cumulative_limit_exceeded"]


def test_call_that_failed_before_its_effect_uses_nothing_of_the_limit(edge: Edge) -> None:
    prepared(edge)
    arguments = {"release": "r-8", "step": 1, "percent": "25.3"}

    assert call(edge, "shift_traffic", arguments, fails=EffectNotStarted) == "failed"
    assert call(edge, "shift_traffic", arguments) == "ran"
    assert shift(edge, "0.000001", 2) == "cumulative_limit_exceeded"


def test_call_whose_outcome_is_unknown_uses_the_limit_and_is_no_predecessor(edge: Edge) -> None:
    assert call(edge, "register_release", {"release": "r-8"}) == "ran"
    assert call(edge, "run_smoke_test", {"release": "r-8", "attempt": 1}, fails=RuntimeError) == "failed"
    assert shift(edge, "1", 1) == "required_predecessor_missing"
    assert call(edge, "run_smoke_test", {"release": "r-8", "attempt": 2}) == "ran"
    arguments = {"release": "r-8", "step": 1, "percent": "25.3"}

    assert call(edge, "shift_traffic", arguments, fails=RuntimeError) == "failed"
    assert shift(edge, "0.1", 2) == "cumulative_limit_exceeded"


def test_value_is_bound_to_what_an_earlier_step_left(edge: Edge) -> None:
    assert shift(edge, "1", 1) == "history_fingerprint_missing"
    prepared(edge)

    assert shift(edge, "1", 1, release="r-9") == "value_binding_mismatch"
    assert shift(edge, "1", 1) == "ran"


def test_call_that_already_happened_is_answered_with_its_receipt_whatever_the_history_became(edge: Edge) -> None:
    prepared(edge)
    assert [shift(edge, "20", 1), shift(edge, "5", 2)] == ["ran", "ran"]

    assert shift(edge, "20", 1) == "receipt {'n': 3}"


@pytest.mark.parametrize("percent", ["", "1e1", "-1", "01", "1.0000001", " 1", "1_0", "٣"])
def test_amount_that_cannot_be_read_exactly_is_refused(edge: Edge, percent: str) -> None:
    prepared(edge)

    assert shift(edge, percent, 1) != "ran"
    assert edge.bodies == ["register_release", "run_smoke_test"]


def test_history_whose_chain_was_changed_decides_nothing(edge: Edge) -> None:
    prepared(edge)
    raw(edge.path, "UPDATE events SET payload = replace(payload, 'edge-canary', 'edge-canarx') WHERE seq = 2")

    assert shift(edge, "1", 1) == "history_corrupt"


def test_event_of_a_step_that_was_removed_is_seen(edge: Edge) -> None:
    prepared(edge)
    assert shift(edge, "25.3", 1) == "ran"
    raw(edge.path, "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")

    assert shift(edge, "25.3", 2) == "history_corrupt"


def test_calls_at_once_pass_the_limit_no_further_than_one_after_the_other(edge: Edge) -> None:
    prepared(edge)

    answers = at_once(6, lambda number: shift(edge, "10", number + 1))

    assert sorted(answers) == ["cumulative_limit_exceeded"] * 4 + ["ran"] * 2


def test_approval_is_for_one_place_in_the_sequence(edge: Edge) -> None:
    prepared(edge)
    arguments = {"release": "r-8"}
    with (
        pytest.raises(ActionBlocked) as asked,
        edge.gate.tool_call(edge.run, "roll_out", arguments, idempotency_key="roll-out", reason="All is well."),
    ):
        edge.bodies.append("early")
    assert "required_approval_missing" in asked.value.decision.codes
    edge.approve(asked.value.approval_id)
    assert shift(edge, "1", 1) == "ran"

    # The step in between makes it another place, whatever was approved.
    with (
        pytest.raises(ActionBlocked) as moved,
        edge.gate.tool_call(edge.run, "roll_out", arguments, idempotency_key="roll-out", reason="All is well."),
    ):
        edge.bodies.append("moved")

    assert "trajectory_approval_binding_mismatch" in moved.value.decision.codes
    assert edge.bodies == ["register_release", "run_smoke_test", "shift_traffic"]


def test_approval_of_this_very_step_lets_it_run_once(edge: Edge) -> None:
    prepared(edge)
    arguments = {"release": "r-8"}
    options = {"idempotency_key": "roll-out", "reason": "All is well."}
    with pytest.raises(ActionBlocked) as asked, edge.gate.tool_call(edge.run, "roll_out", arguments, **options):
        edge.bodies.append("early")
    edge.approve(asked.value.approval_id)

    with edge.gate.tool_call(edge.run, "roll_out", arguments, **options) as entered:
        entered.complete("done")
    with pytest.raises(AlreadyCommitted) as done, edge.gate.tool_call(edge.run, "roll_out", arguments, **options):
        edge.bodies.append("twice")

    assert (done.value.receipt, edge.bodies) == ("done", ["register_release", "run_smoke_test"])


def test_event_of_a_decision_has_fourteen_texts_and_no_raw_value(edge: Edge) -> None:
    prepared(edge)
    assert shift(edge, "25.3", 1) == "ran"
    assert shift(edge, "7.77", 2) == "cumulative_limit_exceeded"

    last = dict(edge.trace.of("trajectory_policy_decision")[-1])
    release = digest({"domain": "gate-fingerprint/v1", "value": "r-8"})

    assert set(last) == FIELDS
    assert all(isinstance(value, str) for value in last.values())
    request = str(last.pop("fingerprints"))
    assert request.startswith(f"release[history={release},current={release}];request[sha256:")
    ref = last.pop("history_ref")
    assert last == {
        "policy_id": "edge-canary",
        "policy_version": "1",
        "rule_id": "traffic.limit",
        "reason": "cumulative_limit_exceeded",
        "history_version": "3",
        "sequence_summary": "observed=3;current=4",
        "sequence_ref": f"{ref}#observed_sequence",
        "counters": "traffic=limit_exceeded",
        "window_id": edge.run.run_id,
        "window_state": "open",
        "approval_state": "none",
        "decision": "deny",
    }
    lines = [event.as_line() for event in edge.trace.events]
    assert [line for line in lines if "7.77" in line or "r-8" in line] == []


def test_history_survives_the_process_and_belongs_to_its_run_alone(edge: Edge) -> None:
    prepared(edge)
    other = edge.gate.start_run(
        agent_id="edge-deployer-ref", identity=edge.run.identity, session_id="s-2", trace_id="t-2"
    )

    edge.run, first = other, edge.run
    assert shift(edge, "1", 9) == "history_fingerprint_missing"
    edge.run = first
    assert shift(edge, "1", 1) == "ran"
    assert edge.store.verify_run(TENANT, first.run_id) > 0
