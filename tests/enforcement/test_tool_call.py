"""Every way out of a call: what is recorded, what the caller sees."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from enforcement_support import REASON, TENANT, TICKET, World, error_code, raw

from gate.enforcement import EffectNotStarted, EffectOutcomeUnknown, ToolCall
from gate.errors import InputError
from gate.records import EffectRecord

OPTIONS = {"idempotency_key": "key-1", "reason": REASON}


def effect(world: World) -> EffectRecord:
    (found,) = world.store.effects(TENANT)
    return found


def test_call_completed_with_a_receipt_is_committed_with_it(any_world: World) -> None:
    any_world.approved()

    outcome = any_world.attempt(body=lambda call: call.complete({"ticket": "T-1"}))

    assert outcome.receipt == {"ticket": "T-1"}
    found = effect(any_world)
    assert (str(found.status), found.receipt, found.fencing) == ("side_effect_committed", {"ticket": "T-1"}, 1)


def test_body_left_normally_without_a_receipt_is_committed(world: World) -> None:
    world.approved()

    with world.gate.tool_call(world.run, "create_ticket", TICKET, **OPTIONS) as call:
        assert (call.completed, call.receipt, call.timeout_seconds) == (False, None, 15)
        assert call.claimed is not None
        assert str(call.claimed.effect.status) == "in_flight"

    assert (world.status(), effect(world).receipt) == ("side_effect_committed", None)
    assert world.attempt().receipt is None


def test_read_leaves_no_effect_behind(any_world: World) -> None:
    with any_world.gate.tool_call(any_world.run, "search_docs", {"query": "x"}) as call:
        assert (call.claimed, call.arguments, call.timeout_seconds) == (None, {"query": "x"}, 5)

    assert any_world.store.effects(TENANT) == []


@pytest.mark.parametrize("receipt", [object(), {1: 2}, float("nan"), (1,), 2**60, b"x", "\ud800"])
def test_receipt_that_is_no_json_is_the_tools_error_and_the_effect_is_committed(world: World, receipt: Any) -> None:
    world.approved()

    with pytest.raises(InputError):
        world.attempt(body=lambda _: receipt)

    assert (world.status(), effect(world).receipt) == ("side_effect_committed", None)
    assert (world.attempt().verdict, world.runs) == ("receipt", 1)


def test_receipt_changed_by_the_tool_afterwards_is_recorded_as_it_was(world: World) -> None:
    world.approved()
    receipt: dict[str, Any] = {"ticket": "T-1"}

    with world.gate.tool_call(world.run, "create_ticket", TICKET, **OPTIONS) as call:
        call.complete(receipt)
        receipt["ticket"] = object()

    assert world.attempt().receipt == {"ticket": "T-1"}


@pytest.mark.parametrize(
    "error", [RuntimeError, TimeoutError, ValueError, KeyboardInterrupt, SystemExit, GeneratorExit]
)
def test_body_that_raises_leaves_the_outcome_unknown(world: World, error: type[BaseException]) -> None:
    world.approved()

    def body(_: ToolCall) -> None:
        raise error

    with pytest.raises(error):
        world.attempt(body=body)

    assert world.status() == "side_effect_unknown"
    assert (world.attempt().verdict, world.runs) == ("blocked_on_reconciliation", 1)


def test_body_that_did_not_start_its_effect_leaves_it_failed(any_world: World) -> None:
    any_world.approved()

    def body(_: ToolCall) -> None:
        raise EffectNotStarted("the service was not reachable")

    assert error_code(lambda: any_world.attempt(body=body)) == "effect_not_started"

    assert any_world.status() == "failed_before_effect"
    any_world.approved()
    assert (any_world.attempt().verdict, any_world.runs) == ("allow", 2)


@pytest.mark.parametrize("error", [RuntimeError, EffectNotStarted, KeyboardInterrupt])
def test_body_that_raises_after_completing_is_committed(world: World, error: type[BaseException]) -> None:
    world.approved()

    def body(call: ToolCall) -> None:
        call.complete({"ticket": "T-1"})
        raise error("afterwards")

    with pytest.raises(error):
        world.attempt(body=body)

    assert (world.status(), world.attempt().receipt) == ("side_effect_committed", {"ticket": "T-1"})


def test_answer_after_the_lease_is_not_believed(world: World) -> None:
    world.approved()

    def body(_: ToolCall) -> dict[str, str]:
        raw(world.path, "UPDATE effects SET lease_expires_at_ms = 1")
        return {"ticket": "T-1"}

    with pytest.raises(EffectOutcomeUnknown) as unknown:
        world.attempt(body=body)

    assert getattr(unknown.value.__cause__, "code", "") == "lease_expired"
    found = effect(world)
    assert (str(found.status), found.receipt, found.late_receipt) == ("side_effect_unknown", None, {"ticket": "T-1"})
    assert world.attempt().verdict == "blocked_on_reconciliation"
    world.reconcile("committed")
    assert world.attempt().receipt == {"ticket": "T-1"}


def test_answer_of_a_worker_that_was_fenced_off_is_not_believed(world: World) -> None:
    world.approved()

    def body(_: ToolCall) -> dict[str, str]:
        raw(world.path, "UPDATE effects SET lease_expires_at_ms = 1")
        world.reconcile("not_committed")
        return {"ticket": "T-1"}

    with pytest.raises(EffectOutcomeUnknown) as unknown:
        world.attempt(body=body)

    assert getattr(unknown.value.__cause__, "code", "") == "claim_lost"
    assert world.status() == "failed_before_effect"


def test_interrupt_is_raised_even_when_its_outcome_cannot_be_recorded(world: World) -> None:
    world.approved()

    def body(_: ToolCall) -> None:
        world.store.close()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.attempt(body=body)


def test_outcome_that_cannot_be_recorded_is_unknown_to_the_caller(world: World) -> None:
    world.approved()

    def body(_: ToolCall) -> dict[str, str]:
        world.path.unlink()
        return {"ticket": "T-1"}

    with pytest.raises(EffectOutcomeUnknown, match="could not be recorded"):
        world.attempt(body=body)


# The decorator


def test_decorated_tool_gets_the_decided_arguments_and_returns_its_receipt(any_world: World) -> None:
    calls: list[Any] = []

    @any_world.gate.tool("create_ticket")
    def create_ticket(queue: str, requester_id: str, title: str) -> dict[str, int]:
        """Writes a ticket."""
        calls.append((queue, requester_id, title))
        return {"n": len(calls)}

    any_world.approved()

    assert (create_ticket.__name__, create_ticket.__doc__) == ("create_ticket", "Writes a ticket.")
    assert create_ticket(any_world.run, dict(TICKET), **OPTIONS) == {"n": 1}
    assert create_ticket(any_world.run, dict(TICKET), **OPTIONS) == {"n": 1}
    assert calls == [tuple(TICKET.values())]


def test_decorated_tool_that_is_refused_does_not_run(world: World) -> None:
    calls: list[Any] = []
    tool = world.gate.tool("create_ticket")(lambda **arguments: calls.append(arguments))

    for arguments in (TICKET, {}, None, [], "x", {**TICKET, "extra": 1}):
        assert error_code(lambda arguments=arguments: tool(world.run, arguments, **OPTIONS)) == "action_blocked"
    assert error_code(lambda: tool(world.run, **OPTIONS)) == "action_blocked"
    assert error_code(lambda: tool(world.run, {"title": float("nan")}, **OPTIONS)) == "json_number_not_finite"
    assert (calls, world.store.effects(TENANT)) == ([], [])


def test_decorated_tool_that_overstays_is_given_up_and_its_late_answer_thrown_away(
    make_world: Callable[..., World],
) -> None:
    world = make_world("one_second")
    world.approved()
    go_on, done = Event(), Event()

    @world.gate.tool("create_ticket")
    def create_ticket(**_: Any) -> dict[str, str]:
        go_on.wait(60)
        done.set()
        return {"ticket": "T-late"}

    with pytest.raises(EffectOutcomeUnknown, match="did not answer within 1 s"):
        create_ticket(world.run, TICKET, **OPTIONS)
    go_on.set()
    assert done.wait(60)

    found = effect(world)
    assert (str(found.status), found.receipt, found.late_receipt) == ("side_effect_unknown", None, None)
    assert world.attempt().verdict == "blocked_on_reconciliation"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, TypeError])
def test_decorated_tool_that_raises_raises_it_to_the_caller(world: World, error: type[BaseException]) -> None:
    world.approved()

    @world.gate.tool("create_ticket")
    def create_ticket(**_: Any) -> None:
        raise error

    with pytest.raises(error):
        create_ticket(world.run, TICKET, **OPTIONS)

    assert world.status() == "side_effect_unknown"


def test_decorated_tool_that_takes_other_arguments_leaves_the_outcome_unknown(world: World) -> None:
    world.approved()

    @world.gate.tool("create_ticket")
    def create_ticket(name: str) -> None: ...

    with pytest.raises(TypeError):
        create_ticket(world.run, TICKET, **OPTIONS)

    assert world.status() == "side_effect_unknown"


def test_decorated_tool_sees_the_callers_context(world: World) -> None:
    who = contextvars.ContextVar("who", default="nobody")
    who.set("caller")

    @world.gate.tool("search_docs")
    def search_docs(query: str) -> str:
        return who.get()

    assert search_docs(world.run, {"query": "x"}) == "caller"
