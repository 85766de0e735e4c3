"""Kills a process at random points of the boundary protocol, and looks at what is left.

Expects of every round: the log holds and has every event that was acknowledged, no effect ran twice, no approval that
was spent counts again, and the run either goes on or stops with a code.
"""

from __future__ import annotations

import base64
import os
import random
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gate.continuity import UserConstraint
from gate.decision import ActionBlocked
from gate.enforcement import AlreadyCommitted, Gate
from gate.errors import GateError
from gate.evidence import Identity, Run
from gate.lab.continuity_bundle import AGENT, Reviewer, write_bundle
from gate.lab.continuity_stage import Opened
from gate.pdp import DecisionPoint
from gate.records import BoundaryStatus, GateKey, Store
from gate.trace import JsonlSink

TENANT = "tenant-acme"
SUMMARY = "Two tickets were to be written."
_UNKILLED_SECONDS = 120.0
# How long the first play may take, which is not killed: it says how long the others last.


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one killed process left."""

    number: int
    acknowledged: str
    """The last step the process said it had finished; empty when it was killed before the first."""
    outcome: str
    """How the run goes on: a verdict and its reason, or `no run`."""
    stopped: str = ""
    """Code of the error with which the process stopped before it was killed, as on a machine that is too busy."""
    faults: tuple[str, ...] = ()
    """What must not have happened; empty in a sound round."""


@dataclass(slots=True)
class _Place:
    """The files of one round."""

    folder: Path
    seal: GateKey
    reviewer: Reviewer
    point: DecisionPoint
    number: int
    run_id: str = field(init=False)

    def __post_init__(self) -> None:
        self.run_id = f"run-{self.number}"

    @property
    def identity(self) -> Identity:
        """One principal a round: constraints add up over the runs of a principal."""
        principal = f"user-{self.number}"
        return Identity(
            tenant_id=TENANT,
            principal_id=principal,
            authorization_mode="user_delegated",
            delegated_principal_id=principal,
            delegated_scope="tickets:create",
        )

    @property
    def acknowledged(self) -> Path:
        return self.folder / f"acknowledged-{self.number}"

    @property
    def stopped(self) -> Path:
        return self.folder / f"stopped-{self.number}"

    @property
    def executed(self) -> Path:
        return self.folder / f"executed-{self.number}"

    def store(self) -> Store:
        return Store.open(f"sqlite:///{self.folder}/records.sqlite", busy_timeout_ms=30_000)

    def gate(self, store: Store) -> Gate:
        sink = JsonlSink(self.folder / "trace.jsonl")
        return Gate(self.point, store, environment="kill", trace=sink, seal_key=self.seal)

    def run(self, epoch: int) -> Run:
        return Run(
            agent_id=AGENT,
            session_id="session-1",
            run_id=self.run_id,
            trace_id=f"trace-{self.number}",
            identity=self.identity,
            epoch=epoch,
        )


def rounds(count: int, opened: Opened, *, seed: int) -> Iterator[Round]:
    """Plays `count` rounds, each killed after a step, and a while, that `seed` determines."""
    chance, reviewer = random.Random(seed), Reviewer.new()  # noqa: S311 - not a secret
    seal = GateKey(key_id="kill", private_key=base64.b64encode(os.urandom(32)).decode("ascii"))
    with tempfile.TemporaryDirectory(prefix="gate-kill-") as name:
        folder = Path(name)
        compiled = write_bundle(folder / "bundle" / AGENT, version="1.0.0", wait_seconds=3600, reviewer=reviewer)
        with opened(compiled) as point:
            whole = _Place(folder, seal, reviewer, point, 0)
            whole.store().close()
            cycle = _killed(whole, _UNKILLED_SECONDS)
            if cycle is None or _lines(whole.stopped):
                raise GateError("one play does not come to its end within two minutes", code="kill_play_failed")
            steps = len(_lines(whole.acknowledged))
            for number in range(1, count + 1):
                place = _Place(folder, seal, reviewer, point, number)
                # After a step rather than after a time: a busy machine would die before the first one mostly.
                _killed(place, chance.uniform(0, cycle / steps), after_steps=chance.randrange(steps + 1))
                yield _inspected(place)


def _killed(place: _Place, after_seconds: float, *, after_steps: int = 0) -> float | None:
    """Plays in a child that is killed a while after some steps; how long it took when it was done before that."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _play(place)
            code = 0
        except GateError as exc:
            _append(place.stopped, exc.code)
            code = 0
        finally:
            os._exit(code)
    reached = began if after_steps == 0 else None
    while reached is None or time.monotonic() - reached < after_seconds:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if os.waitstatus_to_exitcode(status) != 0:
                raise GateError("the play broke by itself", code="kill_play_failed", hint="play it without killing")
            return time.monotonic() - began
        if reached is None and len(_lines(place.acknowledged)) >= after_steps:
            reached = time.monotonic()
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _play(place: _Place) -> None:
    """Every step of the protocol, acknowledged one by one."""
    with place.store() as store:
        gate = place.gate(store)

        def done(step: str) -> None:
            found = store.snapshot(TENANT, place.run_id)
            _append(place.acknowledged, f"{step} {0 if found is None else found.range.last_seq}")

        run = gate.start_run(
            agent_id=AGENT,
            identity=place.identity,
            session_id="session-1",
            trace_id=f"trace-{place.number}",
            run_id=place.run_id,
        )
        done("start_run")
        gate.record_progress(run, objective="Write two tickets.", checkpoint_ref="checkpoint:1")
        gate.record_constraint(
            run,
            UserConstraint(
                words="No refunds.", predicate='arguments.title == "Refund"', source_event="m-1",
                applies_to=["create_ticket"], constraint_id=f"constraint-{place.number}",
            ),
        )  # fmt: skip
        done("record_constraint")
        _ticket(place, gate, store, run, "first", done)
        boundary = gate.prepare_boundary(run, "context_compaction", envelope_id=f"ce-{place.number}")
        done("prepare_boundary")
        gate.seal_summary(boundary, SUMMARY)
        done("seal_summary")
        resumed = gate.resume(boundary.envelope_id, SUMMARY, run)
        if resumed.run is None:
            raise GateError("the resume failed", code="kill_play_failed")
        done("resume")
        _ticket(place, gate, store, resumed.run, "second", done)
        recovery = gate.recover(resumed.run)
        done("recover")
        gate.resume(recovery.envelope_id, None, resumed.run)
        done("resume_recovery")


def _ticket(place: _Place, gate: Gate, store: Store, run: Run, name: str, done: Callable[[str], None]) -> None:
    try:
        _write(place, gate, run, name)
    except ActionBlocked as blocked:
        approval = store.approval(TENANT, blocked.approval_id or "none")
        if approval is None:
            raise
        key = place.reviewer.key
        vote = gate.reviews.sign(approval, decision="approved", key=key)
        gate.reviews.vote(TENANT, approval.approval_id, vote, decision="approved", reviewer=key.reviewer)
    done(f"approve_{name}")
    _write(place, gate, run, name)
    done(f"write_{name}")


def _write(place: _Place, gate: Gate, run: Run, name: str) -> None:
    key = f"{place.number}-{name}"
    with (
        suppress(AlreadyCommitted),
        gate.tool_call(run, "create_ticket", {"title": key}, idempotency_key=key, reason="kill") as call,
    ):
        _append(place.executed, key)
        call.complete({"ticket": key})


def _append(path: Path, line: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []


def _inspected(place: _Place) -> Round:
    said = _lines(place.acknowledged)
    step, _, seq = said[-1].rpartition(" ") if said else ("", "", "0")
    faults: list[str] = []
    with place.store() as store:
        record = store.run(TENANT, place.run_id)
        if record is None:
            lost = ["an acknowledged run is gone"] if said else []
            return Round(number=place.number, acknowledged=step, outcome="no run", faults=tuple(lost))
        (state,) = store.inspect_chains(TENANT, place.run_id)
        if not state.sound or state.events < int(seq):
            faults.append("the event log does not hold or lost an event")
        outcome = _gone_on(place, store, record.epoch, record.boundary_id)
        before = _lines(place.executed)
        for name in ("first", "second"):
            _tried_again(place, store, name)
        after = _lines(place.executed)
        # What was written before must not be written again; what was never begun may be refused or begin now.
        faults += [f"{key} ran twice" for key in set(after) if after.count(key) > 1]
        faults += [] if after[: len(before)] == before else ["what ran before is forgotten"]
        faults += _revived(place)
        (state,) = store.inspect_chains(TENANT, place.run_id)
        faults += [] if state.sound else ["the event log does not hold after the run went on"]
    stopped = next(iter(_lines(place.stopped)), "")
    return Round(
        number=place.number, acknowledged=step, outcome=outcome, stopped=stopped, faults=tuple(dict.fromkeys(faults))
    )


def _gone_on(place: _Place, store: Store, epoch: int, boundary_id: str | None) -> str:
    """The run from its last sealed boundary, else from a recovery."""
    gate, run = place.gate(store), place.run(epoch)
    found = None if boundary_id is None else store.boundary(TENANT, boundary_id)
    if found is not None and found.status is BoundaryStatus.SEALED:
        presented = None if found.reason == "process_recovery" else SUMMARY
        resumed = gate.resume(found.envelope_id, presented, run)
    else:
        resumed = gate.resume(gate.recover(run).envelope_id, None, run)
    return f"{resumed.status}: {resumed.reason}"


def _tried_again(place: _Place, store: Store, name: str) -> None:
    record = store.run(TENANT, place.run_id)
    epoch = 1 if record is None else record.epoch
    with suppress(ActionBlocked):
        _write(place, place.gate(store), place.run(epoch), name)


def _revived(place: _Place) -> list[str]:
    """Approvals that were spent and do not say so."""
    connection = sqlite3.connect(place.folder / "records.sqlite")
    try:
        rows = connection.execute(
            "SELECT a.approval_id FROM approvals a JOIN approval_consumptions c USING (tenant_id, approval_id) "
            "WHERE a.status <> 'consumed'"
        ).fetchall()
    finally:
        connection.close()
    return [f"{approval_id} was spent and counts again" for (approval_id,) in rows]
