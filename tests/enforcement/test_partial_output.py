"""An answer says what of the work was finished, failed or is unknown; only whole work leaves without a mark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from enforcement_support import TENANT, TICKET, World

from gate.decision import ActionBlocked
from gate.enforcement import EffectNotStarted
from gate.enforcement.partial import marked, notice
from gate.errors import EvidenceError
from gate.records import Completion

OTHER = {**TICKET, "title": "Wrong address"}


def broken(world: World, arguments: Any, *, key: str, error: Exception) -> None:
    world.approved(arguments, idempotency_key=key)

    def body(_: Any) -> Any:
        raise error

    with pytest.raises(type(error)):
        world.attempt(arguments=arguments, idempotency_key=key, body=body)


def test_answer_of_whole_work_leaves_as_it_is(any_world: World) -> None:
    any_world.approved(TICKET)
    assert any_world.attempt().verdict == "allow"
    assert any_world.store.completion(TENANT, any_world.run.run_id) == Completion(finished=("create_ticket",))
    assert any_world.gate.emit(any_world.run, "Your ticket is in the queue.") == "Your ticket is in the queue."
    assert any_world.gate.emit(any_world.run, [1]) == [1]


def test_answer_says_what_was_finished_and_what_nobody_knows(any_world: World) -> None:
    any_world.approved(TICKET)
    assert any_world.attempt().verdict == "allow"
    broken(any_world, OTHER, key="key-2", error=TimeoutError())
    assert any_world.gate.emit(any_world.run, "All done.") == (
        "All done.\n\n[partial result] finished: create_ticket; outcome unknown: create_ticket."
    )


def test_structured_answer_says_it_under_a_key_that_the_model_cannot_fill(world: World) -> None:
    broken(world, TICKET, key="key-1", error=EffectNotStarted("nothing was sent"))
    said = {"answer": "done", "partial_result": {"finished": ["everything"]}}
    assert world.gate.emit(world.run, said) == {
        "answer": "done",
        "partial_result": Completion(failed=("create_ticket",)).as_dict(),
    }
    with pytest.raises(ActionBlocked) as caught:
        world.gate.emit(world.run, ["done"])
    assert caught.value.decision.codes == ("obligation_undischarged",)


def test_answer_says_who_waits_and_after_the_call_no_more(world: World) -> None:
    asked = world.ask()
    waiting = "Done.\n\n[partial result] finished: nothing; waiting for approval: create_ticket."
    assert world.gate.emit(world.run, "Done.") == waiting
    world.vote(asked)
    assert world.gate.emit(world.run, "Done.") == waiting
    assert world.attempt().verdict == "allow"
    assert world.gate.emit(world.run, "Done.") == "Done."


def test_rejected_request_is_work_that_was_not_done(make_world: Callable[..., World]) -> None:
    world = make_world("goes_on")
    asked = world.ask()
    world.vote(asked, decision="rejected")
    assert world.store.completion(TENANT, world.run.run_id) == Completion(refused=("create_ticket",))


def test_work_of_another_run_or_tenant_is_not_told(world: World) -> None:
    broken(world, TICKET, key="key-1", error=TimeoutError())
    assert world.gate.emit(world.start(), "Done.") == "Done."
    assert world.store.completion("other", world.run.run_id) == Completion()


def test_refused_call_is_no_part_of_the_work(world: World) -> None:
    assert world.attempt("delete_user", {"id": "7"}).verdict == "deny"
    assert world.gate.emit(world.run, "Done.") == "Done."


def test_mark_that_nobody_looked_up_is_an_obligation_not_met() -> None:
    with pytest.raises(EvidenceError) as caught:
        marked("Done.", None)
    assert caught.value.code == "obligation_undischarged"


def test_notice_names_every_kind() -> None:
    names = Completion().as_dict()
    every = Completion(**{name: (name,) for name in names})
    assert notice(every) == (
        "[partial result] finished: finished; failed: failed; outcome unknown: unknown; partly done: partial; "
        "still running: in_flight; waiting for approval: waiting; not approved: refused; "
        "done with less access than asked for: narrowed."
    )


def test_policy_may_hold_an_answer_back_while_an_outcome_is_unknown(make_world: Callable[..., World]) -> None:
    world = make_world("settled_first")
    assert world.gate.emit(world.run, "Working on it.") == "Working on it."
    broken(world, TICKET, key="key-1", error=TimeoutError())
    with pytest.raises(ActionBlocked) as caught:
        world.gate.emit(world.run, "Done.")
    assert "no_answer_over_an_unknown_outcome" in caught.value.decision.codes
    assert world.reconcile("committed") == "side_effect_committed"
    assert world.gate.emit(world.run, "Done.") == "Done."
