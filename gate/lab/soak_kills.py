"""Tool calls whose process is killed between two steps, wherever chance falls; then everything is cleared up by hand.

Every second call needs a reviewer: asking, the signed vote, the claim that consumes it and the tool that verifies its
call before it starts are all in reach of the kill. Each call runs in a forked child that kills itself at a line of this
package chosen beforehand. What happened outside is a line in a file. Nothing may be in it twice, nothing that the
records do not know of, and nothing without the review and the verification that it wants.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from gate.decision import ActionBlocked
from gate.enforcement import AlreadyCommitted, CallRefused, EffectNotStarted, Gate
from gate.errors import GateError
from gate.evidence import Identity, Run
from gate.lab.billing import Billing
from gate.lab.soak_work import Audit, World, audit
from gate.pdp import DecisionPoint
from gate.records import ApprovalStatus, EffectStatus, GateKey, PublicKey, ReviewerKey, Store, generate_key

_TENANT = "soak-kills"
_ENVIRONMENT = "soak"
_CAPABILITY = "issue_refund"
_AUTOMATIC, _REVIEWED = 1, 7800
_ATTEMPTS = 5
_STEPS = tuple(str(Path(__file__).parent.parent / room) for room in ("enforcement", "evidence", "records", "lab"))
_UNRESOLVED = (EffectStatus.IN_FLIGHT, EffectStatus.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kills:
    """What the killed calls came to."""

    calls: int
    reviewed: int
    """Calls among them that needed a reviewer."""
    killed: int
    """Calls whose process died at its point; the others had ended before it."""
    found: dict[str, int]
    """What the records said of the effect after the kill, and whether it had happened: `STATUS, happened|not`."""
    retries: dict[str, int]
    """How the same call was answered afterwards, before anybody reconciled or reviewed."""
    happened_after_all: int
    """Effects that happened exactly once in the end: as many as calls."""
    without_review: int
    """Effects that wanted a review and happened although no approval was consumed for them: must be 0."""
    without_dispatch: int
    """Effects that happened although no tool verified the call: must be 0."""
    audit: Audit
    seconds: float

    @property
    def lost(self) -> int:
        """Everything that went wrong, counted."""
        missing = self.calls - self.happened_after_all
        return self.audit.lost + missing + self.without_review + self.without_dispatch


def kill_calls(
    url: str, point: DecisionPoint, *, calls: int, world: World, reviewer: ReviewerKey, seed: int = 7
) -> Kills:
    """Kills `calls` calls of the refund desk that `point` serves, retries each, and reconciles what is left.

    `reviewer` is a support reviewer of that desk. A seed repeats the points.
    """
    chance, begin = random.Random(seed), time.monotonic()  # noqa: S311 - not a secret
    found, retries, killed = Counter[str](), Counter[str](), 0
    with Store.open(url, busy_timeout_ms=60_000) as store:
        cast = _Cast.on(store, point, world, reviewer)
        lines = [_dry_run(cast, number) for number in (-2, -1)]
        runs = [cast.start(number) for number in range(calls)]
        for number, run in enumerate(runs):
            killed += _in_a_child(cast, run, number, at_line=lines[number % 2].choose(chance))
            found[_found(store, number, world)] += 1
        for number, run in enumerate(runs):
            retries[cast.call(run, number)] += 1
        _reconcile(cast)
        for number, run in enumerate(runs):
            cast.finish(run, number)
        happened = world.happened()
        return Kills(
            calls=calls,
            reviewed=calls // 2,
            killed=killed,
            found=dict(found),
            retries=dict(retries),
            happened_after_all=sum(happened[_key(number)] == 1 for number in range(calls)),
            without_review=sum(
                happened[_key(number)] > 0 and not cast.reviewed(run)
                for number, run in enumerate(runs)
                if _amount(number) == _REVIEWED
            ),
            without_dispatch=sum(
                happened[_key(number)] > 0 and not cast.dispatched(run) for number, run in enumerate(runs)
            ),
            audit=audit(store, world, tenant=_TENANT),
            seconds=time.monotonic() - begin,
        )


def _key(number: int) -> str:
    return f"kill-{number}"


def _amount(number: int) -> int:
    return _REVIEWED if number % 2 else _AUTOMATIC


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cast:
    """Who takes part in a call: the desk, its tool, its reviewer and the world."""

    desk: Gate
    tool: Gate
    store: Store
    billing: Billing
    world: World
    reviewer: ReviewerKey

    @classmethod
    def on(cls, store: Store, point: DecisionPoint, world: World, reviewer: ReviewerKey) -> _Cast:
        private, public = generate_key()
        billing = Billing(_TENANT)
        return cls(
            desk=Gate(
                point,
                store,
                environment=_ENVIRONMENT,
                call_key=GateKey(key_id="executor", private_key=private),
                evidence=[billing.source()],
                evidence_timeout_ms=30_000,
            ),
            tool=Gate(point, store, environment=_ENVIRONMENT, call_keys={"executor": PublicKey(public_key=public)}),
            store=store,
            billing=billing,
            world=world,
            reviewer=reviewer,
        )

    def start(self, number: int) -> Run:
        """The run of one call, with a charge that billing knows to be a duplicate."""
        # A principal of its own, so that the desk's limit of a day binds no other call.
        principal, charge = f"user-of-{number}", _key(number)
        self.billing.charge(charge, _amount(number), principal_id=principal, duplicate_of=f"{charge}-first")
        return self.desk.start_run(
            agent_id="refund-desk-ref",
            identity=Identity(tenant_id=_TENANT, principal_id=principal),
            session_id=charge,
            trace_id=charge,
        )

    def call(self, run: Run, number: int) -> str:
        """The call, and how it was answered."""
        arguments = {"charge_id": _key(number), "amount_minor": _amount(number), "currency": "USD"}
        try:
            with self.desk.tool_call(run, _CAPABILITY, arguments, idempotency_key=_key(number), reason="soak") as call:
                try:
                    verified = self.tool.verify_call(
                        call.token, tenant_id=_TENANT, capability=_CAPABILITY, arguments=call.arguments
                    )
                except CallRefused as exc:
                    raise EffectNotStarted("the tool refused") from exc
                self.world.happen(verified.arguments["charge_id"])
                call.complete({"refund": verified.arguments["charge_id"]})
        except AlreadyCommitted:
            return "receipt"
        except ActionBlocked as blocked:
            return str(blocked.decision.verdict)
        except GateError as exc:
            return exc.code
        return "ran"

    def review(self, run: Run) -> None:
        """The reviewer signs whatever the run waits for."""
        for asked in self.store.approvals(_TENANT, status=ApprovalStatus.PENDING):
            if asked.run_id == run.run_id:
                vote = self.desk.reviews.sign(asked, decision="approved", key=self.reviewer)
                self.desk.reviews.vote(
                    _TENANT, asked.approval_id, vote, decision="approved", reviewer=self.reviewer.reviewer
                )

    def finish(self, run: Run, number: int) -> str:
        """The call, reviewed as often as it asks for it; how it was answered in the end."""
        answer = ""
        for _ in range(_ATTEMPTS):
            answer = self.call(run, number)
            if answer != "require_approval":
                break
            self.review(run)
        return answer

    def reviewed(self, run: Run) -> bool:
        """An approval of the run was consumed."""
        consumed = self.store.approvals(_TENANT, status=ApprovalStatus.CONSUMED)
        return any(approval.run_id == run.run_id for approval in consumed)

    def dispatched(self, run: Run) -> bool:
        """A tool has verified a call of the run."""
        return any(event.event_type == "effect_dispatched" for event in self.store.events(_TENANT, run.run_id))


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of this package that one call executes."""

    marks: tuple[int, ...]
    """Numbers of the first lines of what matters most: the vote, the claim, the tool's dispatch, the effect."""
    count: int

    def choose(self, chance: random.Random) -> int:
        """A line anywhere, or after one of the marks: where it matters most, few are."""
        return chance.randint(chance.choice((1, *self.marks)), self.count)


def _counting(reached: Callable[[FrameType, int], None]) -> Any:
    """A trace function that tells which frame is at the how-manieth line of this package."""
    count = 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(_STEPS):
            return None
        count += event == "line"
        reached(frame, count)
        return line

    return line


def _dry_run(cast: _Cast, number: int) -> _Lines:
    first: dict[str, int] = {}
    last = 0

    def reached(frame: FrameType, count: int) -> None:
        nonlocal last
        last = count
        first.setdefault(Path(frame.f_code.co_filename).name, max(1, count))

    run = cast.start(number)
    scratch = _Cast(
        desk=cast.desk,
        tool=cast.tool,
        store=cast.store,
        billing=cast.billing,
        world=World(cast.world.path.with_suffix(".dry")),
        reviewer=cast.reviewer,
    )
    sys.settrace(_counting(reached))
    try:
        scratch.finish(run, number)
    finally:
        sys.settrace(None)
    marks = ["claims.py", "dispatches.py", "soak_work.py"]
    if _amount(number) == _REVIEWED:
        marks.append("review.py")
    return _Lines(tuple(first[name] for name in marks), last)


def _in_a_child(cast: _Cast, run: Run, number: int, *, at_line: int) -> bool:
    """True when the child was killed at its line."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])

    def reached(_: FrameType, count: int) -> None:
        if count >= at_line:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.settrace(_counting(reached))
        cast.finish(run, number)
    finally:
        # Never back into the parent's code: what is open there is the parent's.
        os._exit(0)


def _found(store: Store, number: int, world: World) -> str:
    effect = next((e for e in store.effects(_TENANT) if e.idempotency_key == _key(number)), None)
    status = "not_started" if effect is None else str(effect.status)
    return f"{status}, {'happened' if world.happened()[_key(number)] else 'not'}"


def _reconcile(cast: _Cast) -> None:
    """Waits until every lease has run out, then says of each effect what the world shows."""
    store = cast.store
    open_effects = [e for e in store.effects(_TENANT) if e.status in _UNRESOLVED]
    while open_effects and store.now_ms() <= max(e.lease_expires_at_ms for e in open_effects):
        time.sleep(0.2)
    happened = cast.world.happened()
    for effect in open_effects:
        cast.desk.reviews.reconcile(
            effect,
            outcome="committed" if happened[effect.idempotency_key] else "not_committed",
            evidence_ref="soak:world",
            reconciled_by="soak",
            owner_fenced=True,
        )
