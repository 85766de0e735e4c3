"""`AsyncGate`: the same gate for tool executors that run in an event loop.

Adds nothing and decides nothing: every step is `Gate`'s own, run in a thread. A task that is cancelled waits for the
step it is in, because a claim that is on its way cannot be called back; then its effect is settled, never as success.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any, TypeVar

from gate.decision import Decision
from gate.enforcement.gate import Gate
from gate.enforcement.outcome import AlreadyCommitted, EffectNotStarted, EffectOutcomeUnknown
from gate.enforcement.review import Reviews
from gate.enforcement.tool_call import ToolCall
from gate.enforcement.verify import VerifiedCall
from gate.errors import GateError
from gate.evidence import ABSENT, Call, Identity, Run
from gate.records import RunStatus

AsyncTool = Callable[..., Awaitable[Any]]
_T = TypeVar("_T")


class AsyncGate:
    """The policy enforcement point of one deployment, for asyncio. Safe to share between tasks and loops."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        """The gate behind; both may be used side by side."""

    @property
    def reviews(self) -> Reviews:
        """Votes on approvals and reconciliation of effects, for people; its methods block."""
        return self.gate.reviews

    async def start_run(
        self, *, agent_id: str, identity: Identity, session_id: str, trace_id: str, run_id: str | None = None
    ) -> Run:
        """As `Gate.start_run`."""
        return await _to_end(
            self.gate.start_run,
            agent_id=agent_id,
            identity=identity,
            session_id=session_id,
            trace_id=trace_id,
            run_id=run_id,
        )

    async def end_run(self, run: Run, status: RunStatus = RunStatus.COMPLETED) -> None:
        """As `Gate.end_run`."""
        await _to_end(self.gate.end_run, run, status)

    async def pause_run(self, run: Run) -> None:
        """As `Gate.pause_run`."""
        await _to_end(self.gate.pause_run, run)

    async def resume_run(self, run: Run) -> None:
        """As `Gate.resume_run`."""
        await _to_end(self.gate.resume_run, run)

    async def check(self, run: Run, operation: str, request: Mapping[str, Any] | None = None) -> Decision:
        """As `Gate.check`."""
        return await _to_end(self.gate.check, run, operation, request)

    async def check_call(self, run: Run, call: Call) -> Decision:
        """As `Gate.check_call`."""
        return await _to_end(self.gate.check_call, run, call)

    async def emit(self, run: Run, output: Any) -> Any:
        """As `Gate.emit`."""
        return await _to_end(self.gate.emit, run, output)

    async def verify_call(
        self, token: object, *, tenant_id: str, capability: str, arguments: Any = ABSENT, tool: str = "tool"
    ) -> VerifiedCall:
        """As `Gate.verify_call`. Cancelled while it asks: the dispatch may be taken, and nothing was started."""
        return await _to_end(
            self.gate.verify_call, token, tenant_id=tenant_id, capability=capability, arguments=arguments, tool=tool
        )

    @asynccontextmanager
    async def tool_call(
        self,
        run: Run,
        capability: str,
        arguments: Any = ABSENT,
        *,
        idempotency_key: str | None = None,
        reason: str | None = None,
        resource: str | None = None,
        approval_id: str | None = None,
    ) -> AsyncIterator[ToolCall]:
        """As `Gate.tool_call`. A cancellation in the body settles the effect as unknown, unless it was completed.

        A cancellation before the body settles a claim that was won meanwhile as failed before the effect.
        """
        manager = self.gate.tool_call(
            run,
            capability,
            arguments,
            idempotency_key=idempotency_key,
            reason=reason,
            resource=resource,
            approval_id=approval_id,
        )
        call = await _entered(manager)
        try:
            yield call
        except BaseException as exc:
            await _to_end(manager.__exit__, type(exc), exc, exc.__traceback__)
            raise
        await _to_end(manager.__exit__, None, None, None)

    def tool(self, capability: str) -> Callable[[AsyncTool], AsyncTool]:
        """As `Gate.tool`, for an `async def` body: `await wrapped(run, arguments, *, idempotency_key=…, …)`.

        After the catalog's `timeout_seconds` the body is cancelled and given up, even when it does not heed that.
        """

        def decorate(body: AsyncTool) -> AsyncTool:
            @functools.wraps(body)
            async def wrapped(run: Run, arguments: Any = ABSENT, **options: Any) -> Any:
                try:
                    async with self.tool_call(run, capability, arguments, **options) as call:
                        keywords = {} if call.arguments is None else call.arguments
                        if not isinstance(keywords, dict):
                            raise EffectNotStarted("a decorated tool takes its arguments as an object")
                        return call.complete(await _within(call.timeout_seconds, body(**keywords)))
                except AlreadyCommitted as done:
                    return done.receipt

            return wrapped

        return decorate


async def _to_end(step: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
    """What `step` returns in a thread. A cancellation waits until the step has ended, and is raised then."""
    task = asyncio.ensure_future(asyncio.to_thread(step, *arguments, **options))
    cancelled = await _wait(task)
    if cancelled is not None:
        # The step's own failure must not be lost as one that nobody looked at.
        task.exception()
        raise cancelled
    return task.result()


async def _entered(manager: AbstractContextManager[ToolCall]) -> ToolCall:
    task = asyncio.ensure_future(asyncio.to_thread(manager.__enter__))
    cancelled = await _wait(task)
    if cancelled is None:
        return task.result()
    if task.exception() is None:
        # The claim was won while nobody waited for it any more, and its body will not begin.
        await _to_end(_never_began, manager)
    raise cancelled


def _never_began(manager: AbstractContextManager[ToolCall]) -> None:
    error = EffectNotStarted("the task was cancelled before the tool began")
    try:
        manager.__exit__(EffectNotStarted, error, None)
    except GateError:
        # Not recorded: the effect stays claimed, which blocks until somebody reconciles it.
        return


async def _wait(task: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Waits for the end of `task` whatever happens to the waiting one; its last cancellation, if there was one."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as exc:
            cancelled = exc
    return cancelled


async def _within(timeout_seconds: int, body: Awaitable[Any]) -> Any:
    task = asyncio.ensure_future(body)
    task.add_done_callback(_looked_at)
    try:
        await asyncio.wait([task], timeout=timeout_seconds)
    except BaseException:
        task.cancel()
        raise
    if task.done():
        return task.result()
    # Asked to end, not waited for: a body that swallows the request would hold its caller beyond the deadline.
    task.cancel()
    raise EffectOutcomeUnknown(
        f"the tool did not answer within {timeout_seconds} s", hint="reconcile the effect before anything else"
    )


def _looked_at(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()
