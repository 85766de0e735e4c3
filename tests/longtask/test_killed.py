"""The process is killed at random points of the commit: what was committed last is what is gone back to."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from dataclasses import replace
from multiprocessing.connection import Connection

from gate.evidence import Run
from gate.lab.longtask import stage
from gate.longtask.events import EventRecord
from gate.longtask.log import TaskLog
from gate.longtask.vocabulary import EventType
from gate.pdp import DecisionPoint

POINTS = int(os.environ.get("GATE_TEST_KILL_POINTS", "2"))
"""How often it is killed on each database; 200 before a release."""


def _goes_on(point: DecisionPoint, url: str, run: Run, sequence: int, told: Connection) -> None:
    """Appends, compacts and rehydrates until it is killed; tells each step, and each cursor that was committed."""
    with stage.opened(point, url) as task:
        here = run
        while True:
            event = EventRecord(
                event_id=f"evt-kill-{sequence}",
                run_id=run.run_id,
                sequence=sequence,
                event_type=EventType.OBSERVATION,
                workspace_digest=task.live,
            )
            TaskLog(store=task.store).append(task.tenant, run.run_id, [event])
            own = task.coordinator(told=lambda step: told.send(("step", step)))
            done = own.compact(here, stage.request(here, from_log=False))
            told.send(("committed", done.checkpoint.event_cursor))
            back = task.rehydrator().rehydrate(here, done.envelope_id, stage.material())
            assert back.run is not None
            here, sequence = back.run, sequence + 1


def test_kill_at_random_points_of_the_commit_loses_nothing_committed(task_point: DecisionPoint, task_url: str) -> None:
    url, dice = task_url, random.Random(20260401)
    fork = multiprocessing.get_context("fork")
    with stage.opened(task_point, url) as task:
        run = task.start()
        task.append(run)
        first = task.coordinator().compact(run, stage.request(run))
        back = task.rehydrator().rehydrate(run, first.envelope_id, stage.material())
    assert back.run is not None
    here, sequence, cursor = back.run, 25, 24
    for _ in range(POINTS):
        heard, told = fork.Pipe(duplex=False)
        child = fork.Process(target=_goes_on, args=(task_point, url, here, sequence, told))
        child.start()
        told.close()
        steps = dice.randrange(1, 12)
        while steps and heard.poll(60):
            kind, value = heard.recv()
            steps -= 1
            cursor = max(cursor, value) if kind == "committed" else cursor
        time.sleep(dice.random() * 0.05)
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        while heard.poll():
            try:
                kind, value = heard.recv()
            except EOFError:
                break
            cursor = max(cursor, value) if kind == "committed" else cursor
        with stage.opened(task_point, url) as task:
            record = task.store.run(task.tenant, run.run_id)
            assert record is not None
            # A host that starts again takes the epoch from the records, as nobody is left who knows another.
            found = task.rehydrator().recover(replace(here, epoch=record.epoch), stage.material())
            assert (found.reason, found.built is not None) == ("continuity_validated", True)
            assert found.checkpoint is not None
            assert found.checkpoint.event_cursor >= cursor
            assert task.store.verify_run(task.tenant, run.run_id) > 24
            assert found.run is not None
            last = task.store.last_task_event(task.tenant, run.run_id)
            assert last is not None
            here, sequence = found.run, last.sequence + 1
            cursor = found.checkpoint.event_cursor
