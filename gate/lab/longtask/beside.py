"""Everything that is measured beside the published rows, over one trajectory.

Runs the experiments in their order and judges none of them.
"""

from __future__ import annotations

from gate.lab.longtask import experiments
from gate.lab.longtask.fork_story import fork_with_two_subagents
from gate.lab.longtask.hostile import hostile_output
from gate.lab.longtask.memory_candidates import memory_candidates
from gate.lab.longtask.own_compactor import own_compactor
from gate.lab.longtask.schema_reset import reset_after_schema_change
from gate.lab.longtask.supplement import Supplement
from gate.lab.longtask.trajectory import Trajectory
from gate.lab.longtask.variations import run_tests_ablation, third_generation, window_sweep
from gate.longtask.strategies import Strategy


def measure(trajectory: Trajectory, own: Strategy | None = None) -> Supplement:
    """The seven sections, and one more for a compactor of the user's own.

    Raises `LongTaskError` when the trajectory cannot be compacted.
    """
    m = experiments.material(trajectory)
    return Supplement(
        (
            run_tests_ablation(m),
            window_sweep(m),
            third_generation(m),
            hostile_output(m),
            reset_after_schema_change(),
            fork_with_two_subagents(m),
            memory_candidates(),
            *(() if own is None else (own_compactor(m, own),)),
        )
    )
