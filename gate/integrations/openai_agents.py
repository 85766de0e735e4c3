"""The OpenAI Agents SDK: a session whose compaction is asked for first, and a filter that checks the final model input.

The compaction stays the SDK's and the provider's: here is only where the gate is asked, what is bound to its answer,
and what is put back. Whatever goes wrong leaves the boundary open, and nothing runs in the run until it is recovered.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from agents.memory import OpenAIResponsesCompactionArgs, OpenAIResponsesCompactionSession, Session
from agents.memory.openai_responses_compaction_session import default_should_trigger_compaction
from agents.run_config import CallModelData, ModelInputData
from agents.run_context import RunContextWrapper

from gate.continuity import Boundary, ContextView
from gate.decision import ActionBlocked, Decision
from gate.enforcement import Gate
from gate.errors import GateError
from gate.evidence import Run
from gate.integrations.exact_lane import ExactLane, ModelInputs, readable

_logger = logging.getLogger(__name__)

_REASON = "context_compaction"


class GatedCompactionSession(OpenAIResponsesCompactionSession):
    """An `OpenAIResponsesCompactionSession` that compacts only when the gate permits it.

    A compaction that is refused is not made and the turn goes on with the whole history: `refused` holds the decision,
    whose `advice` says what to do instead. One that is made is sealed over the items that stand in the session
    afterwards, and resumed into the next epoch: `run` is then the handle to go on with.

    Options are those of the SDK's session. One session belongs to one run.
    """

    def __init__(
        self,
        session_id: str,
        underlying_session: Session,
        *,
        gate: Gate,
        run: Run,
        inputs: ModelInputs | None = None,
        should_trigger_compaction: Callable[[dict[str, Any]], bool] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(session_id, underlying_session, should_trigger_compaction=self._permitted, **options)
        self.run = run
        """The host's handle, in the epoch that stands."""
        self.view: ContextView | None = None
        """What the context may be rebuilt from since the last compaction; None before one."""
        self.refused: Decision | None = None
        """Why the last compaction that was due was not made; None when it was."""
        self._gate = gate
        self._inputs = inputs
        self._due = should_trigger_compaction or default_should_trigger_compaction
        self._boundary: Boundary | None = None
        self._one_at_a_time = asyncio.Lock()

    async def run_compaction(
        self,
        args: OpenAIResponsesCompactionArgs | None = None,
        *,
        wrapper: RunContextWrapper[Any] | None = None,
    ) -> None:
        """As the SDK's, between the two halves of the gate's protocol.

        Raises `ActionBlocked` for a forced compaction that is refused and for a session that does not hold what was
        sealed; what the SDK raises leaves the boundary open, see `recover`.
        """
        async with self._one_at_a_time:
            self._boundary = self.refused = None
            if args is not None and args.get("force"):
                # The SDK asks no hook about a compaction that is forced.
                self._boundary = await asyncio.to_thread(self._gate.prepare_boundary, self.run, _REASON)
            await super().run_compaction(args, wrapper=wrapper)
            if self._boundary is not None:
                await self._resume(self._boundary)

    async def recover(self) -> None:
        """After a compaction that failed: a boundary from the records, resumed without a summary.

        Raises `ActionBlocked` when the run may not go on, such as while an outcome is unknown.
        """
        async with self._one_at_a_time:
            boundary = await asyncio.to_thread(self._gate.recover, self.run)
            await self._go_on(boundary, None)

    def _permitted(self, context: dict[str, Any]) -> bool:
        if not self._due(context):
            return False
        if self._boundary is not None:
            # The SDK asks again about the very items it will send; nothing ran since the first answer.
            return True
        try:
            self._boundary = self._gate.prepare_boundary(self.run, _REASON)
        except GateError as exc:
            # Not raised: the turn is done, and goes on with the whole history.
            self.refused = exc.decision if isinstance(exc, ActionBlocked) else Decision.undecided(exc, audit={})
            _logger.warning("no compaction of run %s: %s", self.run.run_id, ", ".join(self.refused.codes))
        return self._boundary is not None

    async def _resume(self, boundary: Boundary) -> None:
        if self._inputs is not None:
            self._inputs.forget(self.run)
        # Read twice: what is sealed is what was written, and what is presented is what a next turn would read.
        sealed = await asyncio.to_thread(self._gate.seal_summary, boundary, await self._stored())
        await self._go_on(sealed, await self._stored())

    async def _stored(self) -> str:
        # Not the canonical form of documents, which has a limit of size: it is only compared with itself.
        return json.dumps(await self.underlying_session.get_items(), sort_keys=True)

    async def _go_on(self, boundary: Boundary, presented: str | None) -> None:
        found = await asyncio.to_thread(self._gate.resume, boundary.envelope_id, presented, self.run)
        if found.run is None:
            raise ActionBlocked(found.decision)
        self.run, self.view = found.run, found.view


def checked_model_input(
    gate: Gate, session: GatedCompactionSession, lane: ExactLane, inputs: ModelInputs
) -> Callable[[CallModelData[Any]], Any]:
    """A `RunConfig.call_model_input_filter`: puts the exact lane into the instructions and asks at checkpoint llm.

    The decision is about the final input, with `inputs` as what `CompactionSource.model_input` reads. The filter raises
    `ActionBlocked` when the model may not be called with it, which ends the SDK's run.
    """

    async def checked(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        instructions = "\n\n".join(part for part in (given.instructions, lane.text(session.view)) if part)
        final = ModelInputData(input=list(given.input), instructions=instructions)
        text = "\n".join((instructions, *readable([dict(item) for item in final.input])))
        inputs.shown(session.run, text)
        try:
            (await asyncio.to_thread(gate.check, session.run, "model_call", {"text": text})).enforce()
        except GateError:
            inputs.forget(session.run)
            raise
        return final

    return checked
