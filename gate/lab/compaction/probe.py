"""Does the tool itself recheck? A probe that reaches a tool past the executor, in every way a model or a bug could.

A contract's `external_tool_rechecks_policy` is true when the tool refused every one of these and ran the one call that
came through the executor, once. Believes nothing that anybody declares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gate.decision import ActionBlocked
from gate.enforcement import CallRefused, EffectNotStarted
from gate.errors import GateError, InputError
from gate.lab.compaction.stage import CAPABILITY, KEY, SUMMARY, TENANT, TICKET, Stage, theatre
from gate.lab.continuity_stage import Opened

Tool = Callable[..., Any]
"""The tool under test: `tool(token, arguments, *, capability, tenant)` starts the effect or raises `CallRefused`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One way to reach the tool."""

    name: str
    answer: str
    """`started`, or the code of the refusal."""
    sound: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What the tool did."""

    attempts: tuple[Attempt, ...]
    effects: int
    """How many effects there are in the end; one, when only the call through the executor ran."""

    @property
    def rechecks(self) -> bool:
        """The tool refused everything that did not come through the executor, and started what did, once."""
        return bool(self.attempts) and self.effects == 1 and all(attempt.sound for attempt in self.attempts)


def probe(opened: Opened, tool_of: Callable[[Stage], Tool] | None = None) -> Probe:
    """Probes the ticket service over fresh records, or the tool that `tool_of` puts in its place."""
    with theatre(opened) as place, place.stage("probe") as stage:
        tool: Tool = stage.service.write if tool_of is None else tool_of(stage)
        attempts = tuple(_attempts(stage, tool))
        return Probe(attempts=attempts, effects=stage.service.count)


def _attempts(stage: Stage, tool: Tool) -> Iterator[Attempt]:
    yield _refused(tool, "no token", None)
    yield _refused(tool, "what the model remembers as a token", SUMMARY)
    yield _refused(tool, "a token somebody made up", "e30.e30.e30")
    stage.call("the ticket")
    yield _refused(tool, "an approval's id as a token", stage.approval("pending").approval_id)
    stage.approve()
    yield _refused(tool, "an approved call that was not claimed", stage.approval("approved").approval_id)
    token = ""
    try:
        with stage.gate.tool_call(stage.run, CAPABILITY, TICKET, idempotency_key=KEY, reason="probe") as call:
            token = call.token
            yield _refused(tool, "its token with a changed signature", _resigned(token))
            yield _refused(tool, "other arguments", token, arguments={"title": "Another invoice"})
            yield _refused(tool, "another capability", token, capability="delete_ticket")
            yield _refused(tool, "another tenant", token, tenant="tenant-other")
            try:
                call.complete(tool(token, call.arguments, capability=CAPABILITY, tenant=TENANT))
            except CallRefused as exc:
                yield Attempt(name="the executor's own call", answer=exc.code, sound=False)
                raise EffectNotStarted("the tool refused the executor's own call") from exc
            yield Attempt(name="the executor's own call", answer="started", sound=True)
            yield _refused(tool, "the same token while it runs", token)
    except EffectNotStarted:
        # As it was settled; the attempt says so already.
        return
    except ActionBlocked as exc:
        raise InputError("the probe needs a call that an approval lets through", code="probe_unfit") from exc
    yield _refused(tool, "the same token afterwards", token)


def _refused(
    tool: Tool,
    name: str,
    token: object,
    *,
    arguments: Any = None,
    capability: str = CAPABILITY,
    tenant: str = TENANT,
) -> Attempt:
    try:
        tool(token, TICKET if arguments is None else arguments, capability=capability, tenant=tenant)
    except CallRefused as exc:
        return Attempt(name=name, answer=exc.code, sound=True)
    except GateError as exc:
        # It did not start, but not because it looked.
        return Attempt(name=name, answer=exc.code, sound=False)
    return Attempt(name=name, answer="started", sound=False)


def _resigned(token: str) -> str:
    """The token with one character of its signature changed, in the middle, where each counts."""
    at = len(token) - 12
    return token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
