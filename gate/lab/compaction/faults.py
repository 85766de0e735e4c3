"""Fault injection: seven ways in which a compaction goes wrong, each recovered or failed closed (SEED 003, 48 hours).

Each plays on real records through the real gate. A fault that lets a ticket be written twice, or without its review,
is not sound, whatever else was answered.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from gate.continuity import Boundary
from gate.decision import Verdict
from gate.enforcement import EffectOutcomeUnknown
from gate.errors import InputError
from gate.lab.compaction.compactor import CompactionError, ContextItem, ContextView
from gate.lab.compaction.compactors import CommandCompactor
from gate.lab.compaction.stage import CAPABILITY, KEY, SUMMARY, TICKET, Stage, theatre
from gate.lab.continuity_stage import Opened
from gate.pdp import SidecarDecisionPoint

_T = TypeVar("_T")
RECOVERED, FAILED_CLOSED, UNSOUND = "recovered", "failed_closed", "unsound"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What became of one injected fault."""

    name: str
    outcome: str
    """`recovered`: the work went on and ended as it should. `failed_closed`: it stopped. `unsound`: neither."""
    tickets: int
    """How many tickets the service wrote."""
    seen: tuple[str, ...]
    """What was answered, in order."""

    @property
    def sound(self) -> bool:
        """Recovered or failed closed."""
        return self.outcome in (RECOVERED, FAILED_CLOSED)


def play(opened: Opened) -> Iterator[Fault]:
    """Every fault, one after the other, over fresh records each."""
    with theatre(opened) as place:
        for name, scenario in FAULTS.items():
            with place.stage(name) as stage:
                outcome = scenario(stage)
                # Whatever the scenario says of itself: twice is never right, and a ticket needs its spent review.
                spent = sum(str(a.status) == "consumed" for a in stage.store.approvals("tenant-acme"))
                if stage.service.count > min(1, spent):
                    outcome = UNSOUND
                yield Fault(name=name, outcome=outcome, tickets=stage.service.count, seen=tuple(stage.seen))


def _outcome(stage: Stage, *closed: bool) -> str:
    """Recovered when all was closed as long as it had to be and the ticket was written once after all."""
    if not all(closed):
        return UNSOUND
    return RECOVERED if stage.service.count == 1 else FAILED_CLOSED


def _recover(stage: Stage) -> bool:
    boundary = stage.gate.recover(stage.run)
    stage.note("recovered from the records")
    return stage.resume("resumed", boundary, None).validated


def _written(stage: Stage) -> bool:
    """The ticket with its review: asked for, approved, written, and once more for its receipt."""
    asked = stage.call("the ticket")
    if asked == {"approval_missing"}:
        stage.approve()
        asked = stage.call("the ticket, approved")
    return asked == {"written"} and stage.call("the ticket, again") == {"receipt"}


def cancelled_compaction(stage: Stage) -> str:
    """The compactor is stopped before it answers: the boundary stays open and nothing runs until it is recovered."""
    boundary = stage.compact("compaction")
    slow = CommandCompactor(
        name="slow",
        version="1",
        command=(sys.executable, "-c", "import time; time.sleep(60)"),
        timeout_seconds=0.2,
    )
    try:
        slow.compact(ContextView(items=(ContextItem(item_id="m", kind="user", text=SUMMARY),), round=1), 100)
    except CompactionError as exc:
        stage.note("the compactor", exc.code)
    stopped = stage.call("the ticket, meanwhile")
    again = stage.compact("another compaction")
    return _outcome(
        stage,
        isinstance(boundary, Boundary),
        "boundary_open" in stopped,
        again == {"boundary_open"},
        _recover(stage) and _written(stage),
    )


def concurrent_approval(stage: Stage) -> str:
    """A provider compacts while a review waits, and the review is given before the run goes on."""
    asked = stage.call("the ticket")
    refused = stage.compact("compaction, asked for")
    boundary = stage.gate.note_boundary(stage.run, "context_compaction", summary=SUMMARY)
    stage.note("compaction, by the provider", *boundary.envelope["forbidden_states"])
    stage.approve()
    meanwhile = stage.call("the ticket, meanwhile")
    resumed = stage.resume("resumed", boundary, SUMMARY)
    after = stage.call("the ticket, after the resume")
    closed = (asked == {"approval_missing"}, refused == {"approval_pending"}, "boundary_open" in meanwhile)
    if resumed.validated:
        return _outcome(stage, *closed, after == {"written"})
    return _outcome(stage, *closed, after != {"written"}, _recover(stage) and _written(stage))


def policy_store_down(stage: Stage) -> str:
    """The decision point is gone when the compaction is asked for, when it is resumed, and for every call between."""
    # A real client of an OPA that is not there any more.
    gone = SidecarDecisionPoint(
        url=f"unix://{stage.folder}/gone.sock",
        token="gone",  # noqa: S106 - of nothing
        expected_revisions=(stage.point.revision(),),
        timeout_ms=1000,
    )
    live, stage.gate = stage.gate, stage.gate_over(gone)
    down = stage.gate
    refused = stage.compact("compaction"), stage.call("the ticket")
    stage.gate = live
    boundary = stage.compact("compaction, with policies")
    if not isinstance(boundary, Boundary):
        return UNSOUND
    sealed = stage.gate.seal_summary(boundary, SUMMARY)
    stage.gate = down
    resumed = stage.resume("resumed without policies", sealed, SUMMARY)
    called = stage.call("the ticket, without policies")
    stage.gate = live
    return _outcome(
        stage,
        refused == ({"pdp_unreachable"}, {"pdp_unreachable"}),
        not resumed.validated,
        called == {"pdp_unreachable"},
        stage.resume("resumed with policies", sealed, SUMMARY).validated and _written(stage),
    )


def tool_timeout(stage: Stage) -> str:
    """The tool does not answer in time: no compaction and no second try until somebody has looked."""
    stage.call("the ticket")
    stage.approve()

    @stage.gate.tool(CAPABILITY)
    def slow(title: str) -> None:
        with stage.service.file.open("a", encoding="utf-8") as file:
            file.write("written\n")
        time.sleep(1.5)

    try:
        slow(stage.run, TICKET, idempotency_key=KEY, reason="faults")
        stage.note("the tool")
    except EffectOutcomeUnknown as exc:
        stage.note("the tool", exc.code)
    refused = stage.compact("compaction")
    again = stage.call("the ticket, with a new key", key="ticket-intent-2")
    stage.reconcile("committed")
    boundary = stage.compact("compaction, reconciled")
    if not isinstance(boundary, Boundary):
        return UNSOUND
    resumed = stage.resume("resumed", stage.gate.seal_summary(boundary, SUMMARY), SUMMARY)
    return _outcome(
        stage,
        refused == {"tool_outcome_unknown"},
        "unknown_side_effect" in again,
        resumed.validated,
        stage.call("the ticket, again") == {"receipt"},
    )


def restart_after_unknown_outcome(stage: Stage) -> str:
    """The process dies after the ticket was written and before that was recorded."""
    stage.call("the ticket")
    stage.approve()
    child = os.fork()
    if child == 0:
        try:
            with stage.gate.tool_call(stage.run, CAPABILITY, TICKET, idempotency_key=KEY, reason="faults") as call:
                stage.service.write(call.token, call.arguments)
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    stage.note("the process", f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended")
    boundary = stage.gate.recover(stage.run)
    stage.note("recovered from the records", *boundary.envelope["forbidden_states"])
    blocked = stage.resume("resumed", boundary, None)
    again = stage.call("the ticket, meanwhile")
    stage.outlast_lease()
    stage.reconcile("committed")
    resumed = stage.resume("resumed, reconciled", boundary, None).validated or _recover(stage)
    return _outcome(
        stage,
        os.WIFSIGNALED(status),
        blocked.status is Verdict.BLOCKED_ON_RECONCILIATION,
        not again & {"written", "receipt"},
        resumed and stage.call("the ticket, again") == {"receipt"},
    )


def failed_replacement(stage: Stage) -> str:
    """The session is cleared and only half written again: what is presented is not what was sealed."""
    written = _written(stage)
    stage.session.replace(["the rules", "the ticket is written", "older talk"])
    boundary = stage.compact("compaction")
    if not isinstance(boundary, Boundary):
        return UNSOUND
    compacted = ["the rules", "the ticket is written"]
    sealed = stage.gate.seal_summary(boundary, "\n".join(compacted))
    try:
        stage.session.replace(compacted, fail_after=1)
        stage.note("the session")
    except InputError as exc:
        stage.note("the session", exc.code)
    resumed = stage.resume("resumed with what is left of it", sealed, stage.session.text)
    meanwhile = stage.call("the ticket, meanwhile")
    recovered = _recover(stage)
    return _outcome(
        stage,
        written,
        resumed.reason == "summary_digest_mismatch",
        "boundary_open" in meanwhile,
        recovered and stage.call("the ticket, again") == {"receipt"},
    )


def two_compactions_at_once(stage: Stage) -> str:
    """Two compactors start at the same moment, and two processes resume what is left."""
    answers = _at_once(lambda: stage.compact("", told=False))
    written = [answer for answer in answers if isinstance(answer, Boundary)]
    # Which code the loser gets depends on how close the race was; that it is refused does not.
    stage.note("compaction, twice at once", f"{len(written)} of {len(answers)} written")
    if len(written) != 1:
        return UNSOUND
    sealed = stage.gate.seal_summary(written[0], SUMMARY)
    host = stage.run
    resumed = _at_once(lambda: stage.gate.resume(sealed.envelope_id, SUMMARY, host))
    runs = [r.run for r in resumed if r.run is not None]
    stage.note("resumed, twice at once", f"{len(runs)} of {len(resumed)} validated")
    if len(runs) != 1:
        return UNSOUND
    stage.run = runs[0]
    return _outcome(stage, _written(stage))


FAULTS: dict[str, Callable[[Stage], str]] = {
    "cancelled_compaction": cancelled_compaction,
    "concurrent_approval": concurrent_approval,
    "policy_store_down": policy_store_down,
    "tool_timeout": tool_timeout,
    "restart_after_unknown_outcome": restart_after_unknown_outcome,
    "failed_replacement": failed_replacement,
    "two_compactions_at_once": two_compactions_at_once,
}
"""Every fault by its name."""


def _at_once(body: Callable[[], _T]) -> list[_T]:
    """What `body` gives in two threads that start together."""
    start = threading.Barrier(2)

    def one(_: int) -> _T:
        start.wait()
        return body()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, range(2)))
