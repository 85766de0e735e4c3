"""The gate for event loops: the same answers, and no effect that a cancelled task leaves as a success."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from desk_support import REASON, TENANT, Desk, desk_copy, desk_point, refund_of
from new_store import new_store
from opa_point import OpaPoint

from gate import AsyncGate
from gate.decision import ActionBlocked
from gate.enforcement import EffectNotStarted, EffectOutcomeUnknown
from gate.evidence import Call, Identity, Run
from gate.records import RunStatus

ARGUMENTS = refund_of(100, "ch-1")
OPTIONS = {"idempotency_key": "key-1", "reason": REASON}


@pytest.fixture(scope="module")
def point(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> OpaPoint:
    change = ("capabilities.yaml", "timeout_seconds: 10", "timeout_seconds: 1")
    return desk_point(desk_copy(repo, tmp_path_factory.mktemp("desk"), change))


@pytest.fixture
def desk(point: OpaPoint, tmp_path: Path) -> Iterator[Desk]:
    opened = Desk.open(point, new_store(tmp_path / "records.sqlite"))
    yield opened
    opened.store.close()


def play(story: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(story(), 60))


def status(desk: Desk) -> str:
    (effect,) = desk.store.effects(TENANT)
    return str(effect.status)


def test_call_runs_and_its_repetition_gets_the_first_receipt(desk: Desk) -> None:
    gate, ran = AsyncGate(desk.gate), []

    @gate.tool("issue_refund")
    async def pay(charge_id: str, amount_minor: int, currency: str) -> dict[str, str]:
        await asyncio.sleep(0)
        ran.append((charge_id, amount_minor, currency))
        return {"refund": charge_id}

    async def story() -> list[Any]:
        return [await pay(desk.run, ARGUMENTS, **OPTIONS) for _ in range(2)]

    assert play(story) == [{"refund": "ch-1"}] * 2
    assert ran == [("ch-1", 100, "USD")]
    assert status(desk) == "side_effect_committed"


def test_everything_else_answers_as_the_gate_does(desk: Desk) -> None:
    gate = AsyncGate(desk.gate)

    async def story() -> dict[str, Any]:
        run = await gate.start_run(
            agent_id="refund-desk-ref",
            identity=Identity(tenant_id=TENANT, principal_id="user-7"),
            session_id="s",
            trace_id="t",
        )
        call = Call(capability="issue_refund", arguments=refund_of(2501, "ch-1"), **OPTIONS)
        found: dict[str, Any] = {
            "check": str((await gate.check(run, "user_message", {"text": "hi"})).verdict),
            "check_call": str((await gate.check_call(run, call)).verdict),
            "emit": await gate.emit(run, "done"),
        }
        await gate.pause_run(run)
        found["paused"] = str((await gate.check_call(run, call)).verdict)
        await gate.resume_run(run)
        async with gate.tool_call(run, "issue_refund", ARGUMENTS, **OPTIONS) as entered:
            said = {"tenant_id": TENANT, "capability": "issue_refund", "arguments": ARGUMENTS}
            found["verified"] = (await gate.verify_call(entered.token, **said)).arguments
            entered.complete()
        await gate.end_run(run, RunStatus.COMPLETED)
        try:
            async with gate.tool_call(run, "issue_refund", refund_of(1, "ch-2"), idempotency_key="k2", reason="r"):
                found["ran"] = True
        except ActionBlocked as blocked:
            found["ended"] = blocked.decision.codes
        return found

    assert play(story) == {
        "check": "allow",
        "check_call": "require_approval",
        "emit": "done",
        "paused": "deny",
        "verified": ARGUMENTS,
        "ended": ("configured_allow", "run_not_running"),
    }
    assert gate.reviews is desk.gate.reviews


def test_task_that_is_cancelled_in_the_body_leaves_an_unknown_effect(desk: Desk) -> None:
    gate = AsyncGate(desk.gate)

    async def story() -> None:
        inside = asyncio.Event()

        async def work() -> None:
            async with gate.tool_call(desk.run, "issue_refund", ARGUMENTS, **OPTIONS):
                inside.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(work())
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    play(story)
    assert status(desk) == "side_effect_unknown"


def test_decorated_tool_that_is_cancelled_is_told_and_leaves_an_unknown_effect(desk: Desk) -> None:
    gate, told = AsyncGate(desk.gate), []

    async def story() -> None:
        inside = asyncio.Event()

        @gate.tool("issue_refund")
        async def pay(**_: Any) -> None:
            inside.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                told.append("cancelled")
                raise

        task = asyncio.create_task(pay(desk.run, ARGUMENTS, **OPTIONS))
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    play(story)
    assert (status(desk), told) == ("side_effect_unknown", ["cancelled"])


def test_task_that_is_cancelled_after_the_tool_said_done_keeps_the_receipt(desk: Desk) -> None:
    gate = AsyncGate(desk.gate)

    async def story() -> None:
        inside = asyncio.Event()

        async def work() -> None:
            async with gate.tool_call(desk.run, "issue_refund", ARGUMENTS, **OPTIONS) as call:
                call.complete({"refund": "ch-1"})
                inside.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(work())
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    play(story)
    assert status(desk) == "side_effect_committed"


class Waiting:
    """A decision point that answers about tool calls only when it is let."""

    def __init__(self, point: OpaPoint) -> None:
        self.point, self.asked, self.let = point, threading.Event(), threading.Event()

    def decide(self, document: Any) -> Any:
        if document["operation"] == "call_tool":
            self.asked.set()
            assert self.let.wait(60)
        return self.point.decide(document)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.point, name)


def test_task_that_is_cancelled_while_it_is_decided_starts_nothing(point: OpaPoint, tmp_path: Path) -> None:
    waiting: Any = Waiting(point)
    desk = Desk.open(waiting, new_store(tmp_path / "records.sqlite"))
    gate, ran, run = AsyncGate(desk.gate), [], desk.run

    async def story() -> None:
        async def work() -> None:
            async with gate.tool_call(run, "issue_refund", ARGUMENTS, **OPTIONS):
                ran.append("body")

        task = asyncio.create_task(work())
        await asyncio.to_thread(waiting.asked.wait, 60)
        task.cancel()
        await asyncio.sleep(0)
        # Twice, as an impatient host would.
        task.cancel()
        waiting.let.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    play(story)
    assert (ran, status(desk)) == ([], "failed_before_effect")
    desk.store.close()


def test_body_that_overstays_is_given_up_even_when_it_does_not_heed_it(desk: Desk) -> None:
    gate, released = AsyncGate(desk.gate), []

    @gate.tool("issue_refund")
    async def pay(**_: Any) -> str:
        for _ in range(2):
            try:
                await asyncio.sleep(3)
            except asyncio.CancelledError:
                continue
        released.append("late")
        return "too late"

    async def story() -> None:
        with pytest.raises(EffectOutcomeUnknown):
            await pay(desk.run, ARGUMENTS, **OPTIONS)
        assert released == []

    play(story)
    assert status(desk) == "side_effect_unknown"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (EffectNotStarted("no"), "failed_before_effect"),
        (ValueError("no"), "side_effect_unknown"),
        (TimeoutError(), "side_effect_unknown"),
        (StopAsyncIteration(), "side_effect_unknown"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_error_of_the_body_is_raised_as_it_is_and_settles_as_in_the_gate(
    desk: Desk, error: Exception, expected: str
) -> None:
    gate = AsyncGate(desk.gate)

    async def story() -> BaseException | None:
        try:
            async with gate.tool_call(desk.run, "issue_refund", ARGUMENTS, **OPTIONS):
                raise error
        except Exception as exc:  # noqa: BLE001 - an answer like any other
            return exc
        return None

    assert play(story) is error
    assert status(desk) == expected


def test_arguments_that_are_no_object_never_reach_a_decorated_tool(desk: Desk) -> None:
    gate, ran = AsyncGate(desk.gate), []

    @gate.tool("issue_refund")
    async def pay(**_: Any) -> None:
        ran.append("body")

    async def story(run: Run) -> None:
        with pytest.raises(ActionBlocked):
            await pay(run, [1], **OPTIONS)

    play(lambda: story(desk.run))
    assert ran == []


def test_many_tasks_at_once_have_one_effect(desk: Desk) -> None:
    gate, ran = AsyncGate(desk.gate), []

    @gate.tool("issue_refund")
    async def pay(**_: Any) -> dict[str, int]:
        ran.append("body")
        await asyncio.sleep(0.1)
        return {"n": len(ran)}

    async def story() -> list[Any]:
        run = desk.run
        return await asyncio.gather(*(pay(run, ARGUMENTS, **OPTIONS) for _ in range(10)), return_exceptions=True)

    answers = play(story)
    assert len(ran) == 1
    assert [a for a in answers if not isinstance(a, ActionBlocked) and a != {"n": 1}] == []
