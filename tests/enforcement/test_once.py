"""One approval, one execution; an effect whose outcome is unknown is never retried (CASES B4, B5, C1, C3)."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from enforcement_support import TENANT, TICKET, World, at_once, call_and_hang, call_from_threads, mark, raw

from gate.decision import ActionBlocked

CREATE = ("configured_with_approval",)
SPAWN = multiprocessing.get_context("spawn")


def test_one_approval_used_by_twenty_threads_at_once_runs_once(any_world: World, tmp_path: Path) -> None:
    world, counter = any_world, tmp_path / "bodies"
    approval = world.approved()

    answers = at_once(20, lambda _: world.attempt(body=lambda _: {"n": mark(counter)}))

    verdicts = Counter(answer.verdict for answer in answers)
    assert verdicts["allow"] == 1
    assert verdicts["allow"] + verdicts["receipt"] + verdicts["blocked_on_reconciliation"] + verdicts["deny"] == 20
    assert all(answer.receipt == {"n": 1} for answer in answers if answer.verdict == "receipt")
    assert counter.read_bytes() == b"."
    found = world.store.approval(TENANT, approval.approval_id)
    assert found is not None
    assert (str(found.status), world.status()) == ("consumed", "side_effect_committed")


def test_one_approval_used_under_twenty_keys_at_once_runs_once(world: World, tmp_path: Path) -> None:
    counter = tmp_path / "bodies"
    approval = world.approved()

    def call(number: int) -> str:
        key = "key-1" if number == 7 else f"key-{number}-other"
        return world.attempt(
            idempotency_key=key, approval_id=approval.approval_id, body=lambda _: {"n": mark(counter)}
        ).verdict

    assert Counter(at_once(20, call))["allow"] == 1
    assert counter.read_bytes() == b"."


def test_one_approval_used_by_two_processes_at_once_runs_once(world: World, bundles: Callable[[str], Path]) -> None:
    world.approved()
    folder = world.path.parent
    answers = SPAWN.Queue()
    processes = [
        SPAWN.Process(
            target=call_from_threads, args=(str(bundles("plain")), str(folder), world.run, 10, answers), daemon=True
        )
        for _ in range(2)
    ]
    for process in processes:
        process.start()
    verdicts = Counter(verdict for _ in processes for verdict in answers.get(timeout=120))
    for process in processes:
        process.join(60)

    assert (verdicts["allow"], sum(verdicts.values())) == (1, 20)
    assert set(verdicts) <= {"allow", "receipt", "blocked_on_reconciliation", "deny"}
    assert (folder / "bodies").read_bytes() == b"."
    assert world.attempt().receipt == {"n": 1}


def test_process_killed_between_claim_and_effect_leaves_it_blocked(
    world: World, bundles: Callable[[str], Path]
) -> None:
    approval = world.approved()
    claimed = SPAWN.Event()
    process = SPAWN.Process(
        target=call_and_hang, args=(str(bundles("plain")), str(world.path.parent), world.run, claimed), daemon=True
    )
    process.start()
    assert claimed.wait(60)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)

    assert (process.exitcode, world.status()) == (-signal.SIGKILL, "in_flight")
    in_flight = ("approval_consumed", *CREATE, "effect_in_flight")
    assert world.attempt().codes == in_flight
    assert world.attempt(idempotency_key="key-2").codes == ("approval_missing", *CREATE, "effect_in_flight")
    expire_lease(world)
    outcome = world.attempt(approval_id=approval.approval_id)
    assert (outcome.verdict, outcome.codes) == (
        "blocked_on_reconciliation",
        ("approval_consumed", *CREATE, "unknown_side_effect"),
    )
    assert world.runs == 0
    assert world.reconcile("not_committed") == "failed_before_effect"
    assert world.attempt(approval_id=approval.approval_id).codes == ("approval_consumed", *CREATE)
    assert world.runs == 0


def expire_lease(world: World) -> None:
    """As if the lease had run out: nobody waits for it in a test."""
    raw(world.path, "UPDATE effects SET lease_expires_at_ms = 1")


def timed_out(world: World, **options: object) -> None:
    def body(_: object) -> object:
        raise TimeoutError("no answer")

    with pytest.raises(TimeoutError):
        world.attempt(body=body, **options)


def test_call_planned_again_after_a_timeout_is_blocked_on_its_business_key(any_world: World) -> None:
    world = any_world
    approval = world.approved()

    timed_out(world)

    assert world.status() == "side_effect_unknown"
    again = world.start(trace_id="trace-2", run_id="another-run")
    outcome = world.attempt(idempotency_key="a-fresh-key", run=again)
    assert (outcome.verdict, outcome.codes) == (
        "blocked_on_reconciliation",
        ("approval_missing", *CREATE, "unknown_side_effect"),
    )
    outcome = world.attempt(arguments={**TICKET, "body": "more"}, idempotency_key="fresh-2")
    assert (outcome.verdict, world.runs) == ("blocked_on_reconciliation", 1)
    assert world.attempt(approval_id=approval.approval_id).verdict == "blocked_on_reconciliation"


def test_effect_reconciled_as_not_committed_needs_a_fresh_approval(any_world: World) -> None:
    world = any_world
    first = world.approved()
    timed_out(world)

    assert world.reconcile("not_committed") == "failed_before_effect"

    second = world.ask()
    assert second.approval_id != first.approval_id
    assert world.runs == 1
    world.vote(second)
    assert (world.attempt().verdict, world.status(), world.runs) == ("allow", "side_effect_committed", 2)


def test_effect_reconciled_as_committed_is_denied_under_a_fresh_key(any_world: World) -> None:
    world = any_world
    world.approved()
    timed_out(world)

    assert world.reconcile("committed", receipt={"ticket": "T-1"}) == "side_effect_committed"

    outcome = world.attempt(idempotency_key="a-fresh-key")
    assert (outcome.verdict, outcome.codes) == ("deny", ("approval_missing", *CREATE, "effect_already_committed"))
    assert (world.attempt().receipt, world.runs) == ({"ticket": "T-1"}, 1)


def test_effect_reconciled_as_partial_still_blocks(world: World) -> None:
    world.approved()
    timed_out(world)

    assert world.reconcile("partial", receipt={"part": 1}) == "partial_side_effect"

    outcome = world.attempt()
    assert (outcome.verdict, outcome.codes) == (
        "blocked_on_reconciliation",
        ("approval_consumed", *CREATE, "partial_side_effect"),
    )


REFUSED = {
    "no evidence": ({"evidence_ref": "  "}, "reconciliation_evidence_missing"),
    "owner not fenced": ({"owner_fenced": False}, "reconciliation_owner_not_fenced"),
    "owner fenced in words only": ({"owner_fenced": "yes"}, "reconciliation_owner_not_fenced"),
    "outcome nobody knows": ({"outcome": "probably"}, "reconciliation_outcome_unknown"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_reconciliation_that_the_policies_refuse_changes_nothing(world: World, name: str) -> None:
    world.approved()
    timed_out(world)
    options, code = REFUSED[name]

    with pytest.raises(ActionBlocked) as refused:
        world.reconcile(**{"outcome": "not_committed", **options})

    assert code in refused.value.decision.codes
    assert (world.status(), world.attempt().verdict) == ("side_effect_unknown", "blocked_on_reconciliation")


def test_reconciliation_of_an_effect_that_has_an_outcome_is_refused(world: World) -> None:
    world.approved()
    world.attempt()

    with pytest.raises(ActionBlocked) as refused:
        world.reconcile("not_committed")

    assert refused.value.decision.codes == ("operation_allowed", "reconciliation_not_needed")
    assert world.status() == "side_effect_committed"


def test_same_call_before_and_after_a_resume_gets_the_first_receipt(any_world: World) -> None:
    world = any_world
    world.approved()

    first = world.attempt(body=lambda _: {"ticket": "T-1"})
    resumed = world.start(trace_id="trace-2")
    second = world.attempt(run=resumed)

    assert (first.verdict, first.receipt) == ("allow", {"ticket": "T-1"})
    assert (second.verdict, second.receipt) == ("receipt", {"ticket": "T-1"})
    assert second.codes == (*CREATE, "effect_already_committed")
    assert world.runs == 1


def test_receipt_is_not_handed_to_a_call_with_another_key_or_body(world: World) -> None:
    world.approved()
    world.attempt(body=lambda _: {"ticket": "T-1"})

    for options in ({"idempotency_key": "key-2"}, {"arguments": {**TICKET, "body": "x"}}, {"resource": "r"}):
        outcome = world.attempt(**options)
        assert (outcome.verdict, outcome.receipt) == ("deny", None)
        assert "effect_already_committed" in outcome.codes
    assert world.runs == 1


def test_idempotency_key_of_another_action_is_a_conflict(world: World) -> None:
    world.approved()
    world.attempt()

    outcome = world.attempt(arguments={**TICKET, "title": "Another"})

    assert (outcome.verdict, outcome.codes) == ("deny", ("approval_missing", *CREATE, "idempotency_conflict"))
    assert world.runs == 1
