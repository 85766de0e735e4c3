"""The compaction hooks of Claude Code and the Claude Agent SDK: ask before, seal and resume after, put the rules back.

Answers in the framework's own form: exit code 2, or `decision: block`, keeps a compaction from happening. Whatever is
not understood, and whatever fails, blocks; a compaction that happened all the same leaves the boundary open, and
nothing runs in the run until it is recovered.

`PreCompact` is asked before, several times for one compaction (as seen in the wild), so that the same run and epoch
have one boundary. `PostCompact` has the summary. `SessionStart` after a compaction, and `UserPromptSubmit`, are the
hooks whose `additionalContext` reaches the model: there the exact lane is put back, outside the compaction.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from claude_agent_sdk import HookContext, HookInput, HookJSONOutput, HookMatcher
from claude_agent_sdk.types import HookEvent

from gate.canonical import parse
from gate.continuity import Boundary, ContextView
from gate.decision import ActionBlocked
from gate.enforcement import Gate
from gate.errors import ConflictError, GateError, InputError
from gate.evidence import Run
from gate.integrations.exact_lane import ExactLane
from gate.records import BoundaryRecord, BoundaryStatus, Store

EXIT_OK, EXIT_BLOCK = 0, 2
"""What a hook's process ends with: 2 is Claude Code's own blocking code, whatever the gate's commands use."""

MAX_EVENT_BYTES = 4 * 1_048_576
"""How large one hook event may be."""

_REASON = "context_compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAnswer:
    """What one hook says."""

    exit_code: int = EXIT_OK
    stdout: str = ""
    stderr: str = ""
    """Shown to the user, with the codes of the refusal and what to do instead; no text of the session."""

    @property
    def blocks(self) -> bool:
        """The compaction must not happen."""
        return self.exit_code == EXIT_BLOCK

    @property
    def output(self) -> HookJSONOutput:
        """The same as the SDK's hooks return it."""
        if self.blocks:
            return {"decision": "block", "reason": self.stderr}
        return cast(HookJSONOutput, json.loads(self.stdout)) if self.stdout else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionHooks:
    """The hooks of one run. Its epoch is read from the records each time, because every hook may be a new process."""

    gate: Gate
    store: Store
    run: Callable[[str], Run | None]
    """The host's handle on the run of a Claude session id; None for a session that is not the host's."""
    lane: ExactLane | None = None

    def answer(self, data: bytes) -> HookAnswer:
        """Answers the JSON that Claude Code writes to a hook's stdin. Never raises for what it says."""
        try:
            if len(data) > MAX_EVENT_BYTES:
                raise InputError("the hook event is too large", code="hook_event_invalid")
            event = json.loads(data)
            if not isinstance(event, dict):
                raise InputError("the hook event is not an object", code="hook_event_invalid")
        except InputError as exc:
            return _blocked(exc)
        except (ValueError, RecursionError):
            return _blocked(InputError("the hook event is not JSON", code="hook_event_invalid"))
        return self.hear(event)

    def hear(self, event: Mapping[str, Any]) -> HookAnswer:
        """Answers one event. Never raises for what it says."""
        try:
            session = event.get("session_id")
            run = self.run(session) if isinstance(session, str) and session else None
            if run is None:
                raise InputError("the session is not known to the host", code="hook_session_unknown")
            here = self._current(run)
            match event:
                case {"hook_event_name": "PreCompact", "trigger": "manual" | "auto"}:
                    return self._before(here)
                case {"hook_event_name": "PostCompact", "compact_summary": str(summary)}:
                    return self._after(here, summary)
                case {"hook_event_name": "SessionStart", "source": str()}:
                    return self._lane("SessionStart", here)
                case {"hook_event_name": "UserPromptSubmit"}:
                    return self._lane("UserPromptSubmit", here)
            raise InputError("the hook event is not one of a compaction", code="hook_event_invalid")
        except GateError as exc:
            return _blocked(exc)

    def _current(self, run: Run) -> Run:
        tenant = run.identity.tenant_id or ""
        record = self.store.run(tenant, run.run_id)
        if record is None:
            raise InputError(f"run `{run.run_id}` is not known", code="run_unknown")
        # The hook's own process has crossed no boundary: which epoch stands is the record's to say.
        return Run(
            agent_id=run.agent_id,
            session_id=run.session_id,
            run_id=run.run_id,
            trace_id=run.trace_id,
            identity=run.identity,
            epoch=record.epoch,
            role=run.role,
        )

    def _before(self, run: Run) -> HookAnswer:
        stored = self._stored(run)
        if stored is None:
            self.gate.prepare_boundary(run, _REASON, envelope_id=_envelope_id(run))
        elif stored.status is not BoundaryStatus.OPEN:
            raise ConflictError("the compaction of this epoch is over", code="boundary_changed", hint="recover the run")
        return HookAnswer()

    def _after(self, run: Run, summary: str) -> HookAnswer:
        stored = self._stored(run)
        if stored is None:
            # Nobody asked: it happened, and is recorded as that.
            sealed = self.gate.note_boundary(run, _REASON, summary=summary, envelope_id=_envelope_id(run))
        else:
            sealed = self.gate.seal_summary(_boundary(run, stored), summary)
        found = self.gate.resume(sealed.envelope_id, summary, run)
        if found.run is None:
            raise ActionBlocked(found.decision)
        return HookAnswer()

    def _lane(self, event: str, run: Run) -> HookAnswer:
        if self.lane is None or (event == "UserPromptSubmit" and run.epoch == 1):
            return HookAnswer()
        said = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": self.lane.text()}}
        return HookAnswer(stdout=json.dumps(said))

    def _stored(self, run: Run) -> BoundaryRecord | None:
        return self.store.boundary(run.identity.tenant_id or "", _envelope_id(run))


def sdk_hooks(hooks: CompactionHooks) -> dict[HookEvent, list[HookMatcher]]:
    """For `ClaudeAgentOptions(hooks=…)`: every event of a compaction.

    The SDK's type names no `PostCompact` and no `SessionStart`; it hands any name on to Claude Code, which knows them.
    A `PreCompact` hook that fails or is late blocks as well; a Claude Code too old for that is refused by the SDK.
    """

    async def heard(event: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        answer = await asyncio.to_thread(hooks.hear, cast(Mapping[str, Any], event))
        return answer.output

    found = {cast(HookEvent, n): [HookMatcher(hooks=[heard])] for n in ("PostCompact", "SessionStart")}
    return {
        "PreCompact": [HookMatcher(hooks=[heard], on_failure="block")],
        "UserPromptSubmit": [HookMatcher(hooks=[heard])],
        **found,
    }


def _envelope_id(run: Run) -> str:
    """One boundary for a run and epoch, whichever process asks and however often."""
    named = hashlib.sha256(f"{run.run_id}\n{run.epoch}".encode()).hexdigest()
    return f"ce-{named[:24]}"


def _boundary(run: Run, stored: BoundaryRecord) -> Boundary:
    return Boundary(
        run=run,
        envelope_id=stored.envelope_id,
        reason=stored.reason,
        requested=stored.requested,
        status=stored.status,
        epoch=stored.epoch,
        envelope=parse(stored.body),
        view=ContextView(()),
    )


def _blocked(error: GateError) -> HookAnswer:
    lines = [f"the gate: {error.code}: {error.message}"]
    if isinstance(error, ActionBlocked):
        found = error.decision
        lines = [f"the gate: {found.verdict}: {', '.join(found.codes)}"]
        lines += [f"instead: {str(advice['code']).replace('_', ' ')}" for advice in found.advice if "code" in advice]
    return HookAnswer(exit_code=EXIT_BLOCK, stderr="\n".join(lines))
