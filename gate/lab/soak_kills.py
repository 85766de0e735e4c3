"""Tool calls whose process is killed between two steps, wherever chance falls; then everything is cleared up by hand.

Each call runs in a forked child that kills itself at a line of this package chosen beforehand. What happened outside
is a line in a file. Nothing may be in it twice, and nothing may be in it that the records do not know of.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from gate.decision import ActionBlocked
from gate.enforcement import AlreadyCommitted, Gate
from gate.errors import GateError
from gate.evidence import Identity, Run
from gate.lab.soak_work import Audit, World, audit
from gate.pdp import DecisionPoint
from gate.records import EffectStatus, Store

_TENANT = "soak-kills"
_STEPS = tuple(str(Path(__file__).parent.parent / room) for room in ("enforcement", "evidence", "records", "lab"))
_UNRESOLVED = (EffectStatus.IN_FLIGHT, EffectStatus.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kills:
    """What the killed calls came to."""

    calls: int
    killed: int
    """Calls whose process died at its point; the others had ended before it."""
    found: dict[str, int]
    """What the records said of the effect after the kill, and whether it had happened: `STATUS, happened|not`."""
    retries: dict[str, int]
    """How the same call was answered afterwards, before anybody reconciled."""
    happened_after_all: int
    """Effects that happened exactly once in the end: as many as calls."""
    audit: Audit
    seconds: float


def kill_calls(url: str, point: DecisionPoint, *, calls: int, world: World, seed: int = 7) -> Kills:
    """Kills `calls` calls of the refund desk that `point` serves, retries each, and reconciles what is left.

    A seed repeats the points.
    """
    chance, begin = random.Random(seed), time.monotonic()  # noqa: S311 - not a secret
    found, retries, killed = Counter[str](), Counter[str](), 0
    with Store.open(url, busy_timeout_ms=60_000) as store:
        desk = Gate(point, store, environment="soak")
        lines = _dry_run(desk, world)
        runs = [_start(desk, f"call-{number}") for number in range(calls)]
        for number, run in enumerate(runs):
            killed += _in_a_child(desk, run, number, world, at_line=lines.choose(chance))
            found[_found(store, number, world)] += 1
        for number, run in enumerate(runs):
            retries[_call(desk, run, number, world)] += 1
        _reconcile(desk, store, world)
        for number, run in enumerate(runs):
            _call(desk, run, number, world)
        happened = world.happened()
        return Kills(
            calls=calls,
            killed=killed,
            found=dict(found),
            retries=dict(retries),
            happened_after_all=sum(happened[_key(number)] == 1 for number in range(calls)),
            audit=audit(store, world, tenant=_TENANT),
            seconds=time.monotonic() - begin,
        )


def _key(number: int) -> str:
    return f"kill-{number}"


def _start(desk: Gate, session: str) -> Run:
    # A principal of its own, so that the desk's limit of a day binds no other call.
    return desk.start_run(
        agent_id="refund-desk-ref",
        identity=Identity(tenant_id=_TENANT, principal_id=f"user-of-{session}"),
        session_id=session,
        trace_id=session,
    )


def _call(desk: Gate, run: Run, number: int, world: World) -> str:
    """The call, and how it was answered."""
    arguments = {"charge_id": _key(number), "amount_minor": 1, "currency": "USD"}
    try:
        with desk.tool_call(run, "issue_refund", arguments, idempotency_key=_key(number), reason="soak") as call:
            world.happen(call.arguments["charge_id"])
            call.complete({"refund": call.arguments["charge_id"]})
    except AlreadyCommitted:
        return "receipt"
    except ActionBlocked as blocked:
        return str(blocked.decision.verdict)
    except GateError as exc:
        return exc.code
    return "ran"


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of this package that one call executes."""

    claim: int
    """Number of the first line of the claim."""
    effect: int
    """Number of the first line of the effect: the claim is committed by then."""
    count: int

    def choose(self, chance: random.Random) -> int:
        """A line anywhere, or after the claim began, or after the effect did: where it matters most, few are."""
        return chance.randint(chance.choice((1, self.claim, self.effect)), self.count)


def _dry_run(desk: Gate, world: World) -> _Lines:
    count = 0
    first: dict[str, int] = {}

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(_STEPS):
            return None
        count += event == "line"
        first.setdefault(Path(frame.f_code.co_filename).name, max(1, count))
        return line

    run, scratch = _start(desk, "dry-run"), World(world.path.with_suffix(".dry"))
    sys.settrace(line)
    try:
        _call(desk, run, -1, scratch)
    finally:
        sys.settrace(None)
    return _Lines(first["claims.py"], first["soak_work.py"], count)


def _in_a_child(desk: Gate, run: Run, number: int, world: World, *, at_line: int) -> bool:
    """True when the child was killed at its line."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    count = 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(_STEPS):
            return None
        count += event == "line"
        if count >= at_line:
            os.kill(os.getpid(), signal.SIGKILL)
        return line

    try:
        sys.settrace(line)
        _call(desk, run, number, world)
    finally:
        # Never back into the parent's code: what is open there is the parent's.
        os._exit(0)


def _found(store: Store, number: int, world: World) -> str:
    effect = next((e for e in store.effects(_TENANT) if e.idempotency_key == _key(number)), None)
    status = "not_started" if effect is None else str(effect.status)
    return f"{status}, {'happened' if world.happened()[_key(number)] else 'not'}"


def _reconcile(desk: Gate, store: Store, world: World) -> None:
    """Waits until every lease has run out, then says of each effect what the world shows."""
    open_effects = [e for e in store.effects(_TENANT) if e.status in _UNRESOLVED]
    while open_effects and store.now_ms() <= max(e.lease_expires_at_ms for e in open_effects):
        time.sleep(0.2)
    happened = world.happened()
    for effect in open_effects:
        desk.reviews.reconcile(
            effect,
            outcome="committed" if happened[effect.idempotency_key] else "not_committed",
            evidence_ref="soak:world",
            reconciled_by="soak",
            owner_fenced=True,
        )
