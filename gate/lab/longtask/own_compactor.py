"""A user's own compactor on the same trajectory: what it keeps, how faithfully, and whether it says the same twice.

It is measured, not ranked: one trajectory, two runs, and no expectation that could fail.
"""

from __future__ import annotations

from gate.lab.longtask.cases import Material
from gate.lab.longtask.experiments import decision
from gate.lab.longtask.grading import grade, retention
from gate.lab.longtask.supplement import Section, Value, listed
from gate.longtask.artifact import Lineage, items_digest
from gate.longtask.events import LongTaskError
from gate.longtask.generation import Generation, inspect
from gate.longtask.strategies import Strategy, StrategyOutput, latest_items

OWN = "own compactor"
"""Name of the section."""


def own_compactor(m: Material, strategy: Strategy) -> Section:
    """Two runs of the compactor over the events before the boundary; a refusal is a row, not an error."""
    runs = [_run(m, strategy, number) for number in (1, 2)]
    return Section(
        name=OWN,
        about="Keys kept are not statements kept: `unchanged` is the share of required keys that stand as the log has "
        "them, and `drift` and `stops` say what departs from it.",
        rows=tuple(runs),
        expectations=(),
    )


def _run(m: Material, strategy: Strategy, number: int) -> dict[str, Value]:
    names = ("bytes_before", "bytes_after", "goal", "acceptance", "constraint", "negative_constraint", "open_issue")
    row: dict[str, Value] = {"strategy": strategy.strategy, "run": number, "refused": None}
    row |= dict.fromkeys((*names, "rejected_hypothesis", "unchanged", "drift", "stops", "decision", "artifact"))
    try:
        output = strategy.prepare(m.trajectory.prefix, m.seed)
    except LongTaskError as exc:
        return {**row, "refused": exc.code}
    found = grade(output.visible_keys, m.seed)
    return {
        **row,
        "bytes_before": output.serialized_bytes_before,
        "bytes_after": output.serialized_bytes_after,
        "goal": found.goal_retained,
        "acceptance": found.acceptance_retention,
        "constraint": found.constraint_retention,
        "negative_constraint": found.negative_constraint_retention,
        "open_issue": found.open_issue_retention,
        "rejected_hypothesis": found.rejected_hypothesis_retention,
        "unchanged": _unchanged(m, output),
        "decision": decision(m, output.visible_keys),
        **_facts(m, output),
    }


def _unchanged(m: Material, output: StrategyOutput) -> float:
    stated = latest_items(m.trajectory.prefix)
    same = {item.key for item in output.context_items if stated.get(item.key) == item}
    return retention(m.seed.required_keys, frozenset(same))


def _facts(m: Material, output: StrategyOutput) -> dict[str, Value]:
    """Not measured without an artifact: there is nothing that could be compared field by field."""
    made = output.artifact
    if made is None:
        return {}
    lineage = Lineage(
        generation=1,
        parent_artifact_id=None,
        parent_digest=None,
        direct_source="event_log",
        generator=output.strategy,
        generator_version=output.strategy,
        items_digest=items_digest(made),
    )
    facts = inspect(
        Generation(artifact=made, lineage=lineage),
        events=m.trajectory.prefix,
        seed=m.seed,
        live_workspace_digest=m.artifact.workspace_digest,
    )
    return {
        "drift": listed({f"{one.kind}/{one.code}" for one in facts.drifts}),
        "stops": listed(facts.stops),
        "artifact": made.artifact_id,
    }
