"""Two hosts that compact one run at once: one pair is committed, and the other host is told."""

from __future__ import annotations

from threading import Barrier, Thread

from gate.errors import GateError
from gate.lab.longtask import stage
from gate.pdp import DecisionPoint


def test_two_hosts_that_compact_at_once_commit_one_pair_and_lose_nothing(
    task_point: DecisionPoint, task_url: str
) -> None:
    with stage.opened(task_point, task_url) as one, stage.opened(task_point, task_url) as other:
        run = one.start()
        one.append(run)
        barrier, told = Barrier(2), list[str]()

        def compact(host: stage.Stage) -> None:
            barrier.wait(60)
            try:
                told.append(host.coordinator().compact(run, stage.request(run)).checkpoint.checkpoint_id)
            except GateError:
                told.append("refused")

        threads = [Thread(target=compact, args=(host,)) for host in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        checkpoints = [each.checkpoint_id for each in one.store.task_checkpoints(one.tenant, run.run_id)]
        assert sorted(told) == sorted([*checkpoints, "refused"])
        assert len(checkpoints) == 1
        # Neither host can read the seal of the other, so the run is taken up as after a crash.
        back = other.rehydrator().recover(run, stage.material())
        assert back.checkpoint is not None
        assert (back.reason, back.checkpoint.checkpoint_id) == ("continuity_validated", checkpoints[0])
        assert one.store.verify_run(one.tenant, run.run_id) > 24
