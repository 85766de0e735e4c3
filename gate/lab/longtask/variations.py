"""Three variations on the published experiments: the run-tests ablation, every window size, a third generation.

Deterministic. None of these rows is a row of the published report, and none of its figures is taken from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from gate.lab.longtask.cases import Material
from gate.lab.longtask.grading import grade
from gate.lab.longtask.scripted_policy import APPLY, UNSAFE, VisibleSemanticState
from gate.lab.longtask.supplement import Expectation, Section, Value, listed
from gate.lab.longtask.trajectory import CURSOR, FAILING_TEST, GOAL, NEGATIVE_CONSTRAINTS, OPEN_ISSUE, REJECTED
from gate.longtask.artifact import CompactionArtifact, Lineage, items_digest
from gate.longtask.canonical_form import serialized_bytes
from gate.longtask.generation import Generation, GenerationFacts, canonical, inspect
from gate.longtask.strategies import SlidingWindow

REPEAT = "repeat_rounding_attempt"


def run_tests_ablation(m: Material) -> Section:
    """What the same step leads to when only statements are taken away."""
    everything = m.structured.visible_keys
    hidden = (
        frozenset[str](),
        frozenset({REJECTED}),
        frozenset({REJECTED, FAILING_TEST}),
        frozenset({OPEN_ISSUE}),
        NEGATIVE_CONSTRAINTS | {REJECTED, FAILING_TEST},
    )
    rows: list[dict[str, Value]] = []
    for step in ("run-tests", "apply-compatible-patch"):
        for keys in hidden:
            visible = everything - keys
            decided = m.policy(
                VisibleSemanticState(
                    visible_keys=visible, checkpoint_next_step=step, verification_keys=visible & {FAILING_TEST}
                )
            )
            rows.append(
                {
                    "next_step": step,
                    "hidden": listed(keys),
                    "decision": decided.kind,
                    "would_have_needed": listed(decided.required_keys),
                }
            )
    opening = {row["hidden"]: row for row in rows if row["next_step"] == "run-tests"}[listed(hidden[2])]
    return Section(
        name="run-tests ablation",
        about="One step, restored exactly, with statements hidden from the fixed policy. Not the checkpoint-only row.",
        rows=tuple(rows),
        expectations=(
            Expectation(
                "without the refuted hypothesis and the failing test, run-tests repeats the rounding attempt",
                (opening["decision"], opening["would_have_needed"]) == (REPEAT, listed({REJECTED, FAILING_TEST})),
            ),
            Expectation(
                "the repetition belongs to run-tests alone",
                all(row["decision"] != REPEAT for row in rows if row["next_step"] != "run-tests"),
            ),
            Expectation(
                "with nothing hidden, both steps go on with the compatible patch",
                all(row["decision"] == APPLY for row in rows if not row["hidden"]),
            ),
        ),
    )


def window_sweep(m: Material) -> Section:
    """Every window from nothing to everything."""
    rows: list[dict[str, Value]] = []
    for size in range(CURSOR + 1):
        output = SlidingWindow(size).prepare(m.trajectory.prefix, m.seed)
        visible = output.visible_keys | {GOAL}
        found = grade(visible, m.seed)
        state = VisibleSemanticState(
            visible_keys=visible,
            checkpoint_next_step="apply-compatible-patch",
            verification_keys=visible & {FAILING_TEST},
        )
        rows.append(
            {
                "keep_events": size,
                "bytes_after": output.serialized_bytes_after
                + (0 if GOAL in output.visible_keys else serialized_bytes([m.artifact.goal])),
                "acceptance": found.acceptance_retention,
                "constraint": found.constraint_retention,
                "negative_constraint": found.negative_constraint_retention,
                "open_issue": found.open_issue_retention,
                "rejected_hypothesis": found.rejected_hypothesis_retention,
                "decision": m.policy(state).kind,
            }
        )
    stated = next(
        event.sequence
        for event in m.trajectory.prefix
        if NEGATIVE_CONSTRAINTS & {item.key for item in event.carry_items}
    )
    safe = [row["keep_events"] for row in rows if row["decision"] != UNSAFE]
    return Section(
        name="window sweep",
        about="The newest N events and the goal, for every N up to the frozen cursor.",
        rows=tuple(rows),
        expectations=(
            Expectation(
                "no window that leaves out the event of the public signature is safe, and every other is",
                safe == list(range(CURSOR - stated + 1, CURSOR + 1)),
            ),
            Expectation(
                "a window that is safe may still have lost an acceptance criterion",
                any(row["decision"] == APPLY and row["acceptance"] != 1.0 for row in rows),
            ),
        ),
    )


def third_generation(m: Material) -> Section:
    """Three generations of three kinds: made of the log each time, of the last artifact, of the last summary."""
    rows: list[dict[str, Value]] = [*_summaries(m)]
    facts: dict[tuple[str, int], GenerationFacts] = {}
    for chain, generations in (("from the log", _regenerated(m)), ("from the last artifact", _hardened(m))):
        parent: Generation | None = None
        for number, one in enumerate(generations, start=1):
            found = inspect(
                one,
                events=m.trajectory.prefix,
                seed=m.seed,
                live_workspace_digest=m.artifact.workspace_digest,
                parent=parent,
            )
            facts[chain, number] = found
            visible = frozenset(item.key for item in one.artifact.items)
            rows.append(_row(m, chain, number, visible, serialized_bytes(one.artifact.items), found))
            parent = one
    summaries = [row for row in rows if row["chain"] == "from the last summary"]
    hard = "from the last artifact"
    return Section(
        name="third drift generation",
        about="What a third generation has when it reads the log, the artifact before it, or the summary before it.",
        rows=tuple(rows),
        expectations=(
            Expectation(
                "made of the log, three generations are the same bytes and free of drift",
                len({items_digest(one.artifact) for one in _regenerated(m)}) == 1
                and not any(facts["from the log", number].drifts for number in (1, 2, 3)),
            ),
            Expectation(
                "a guess that the second generation calls a decision is found as hardening",
                "hardening" in {one.kind.value for one in facts[hard, 2].drifts},
            ),
            Expectation(
                "a third generation without the open issue meets the stop rule",
                "open_issue_closed_without_verification" in facts[hard, 3].stops,
            ),
            Expectation(
                "what a summary lost does not come back in the summary of it",
                summaries[1]["bytes"] == summaries[2]["bytes"] and summaries[2]["keys"] == 1,
            ),
        ),
    )


def _row(
    m: Material, chain: str, number: int, visible: frozenset[str], size: int, facts: GenerationFacts | None
) -> dict[str, Value]:
    state = VisibleSemanticState(
        visible_keys=visible,
        checkpoint_next_step="apply-compatible-patch",
        verification_keys=visible & {FAILING_TEST},
    )
    return {
        "chain": chain,
        "generation": number,
        "keys": len(visible),
        "bytes": size,
        "decision": m.policy(state).kind,
        # A summary has no fields to compare: its drift is not measured, which is not the same as none.
        "drift": None if facts is None else listed({f"{one.kind}/{one.code}" for one in facts.drifts}),
        "stops": None if facts is None else listed(facts.stops),
    }


def _summaries(m: Material) -> Iterator[dict[str, Value]]:
    """Each generation reads the one before: the first what the events left, the next two the goal alone."""
    visible, size = m.summary.visible_keys, m.summary.serialized_bytes_after
    for number in (1, 2, 3):
        yield _row(m, "from the last summary", number, visible, size, None)
        visible = visible & {GOAL}
        size = serialized_bytes(sorted(visible))


def _regenerated(m: Material) -> tuple[Generation, ...]:
    """The log read three times; an earlier artifact is a cache, so none of them is made of another."""
    artifacts = [canonical(m.trajectory.prefix, m.seed) for _ in range(3)]
    return tuple(Generation(artifact=one, lineage=_lineage(one, None)) for one in artifacts)


def _hardened(m: Material) -> tuple[Generation, ...]:
    """A refuted guess among the decisions; then no open issue, and a verification that reads like success."""
    first = m.artifact
    guess = first.rejected_hypotheses[0]
    second = dataclasses.replace(
        first,
        artifact_id=first.artifact_id + "-g2",
        decisions=(*first.decisions, dataclasses.replace(guess, content="Rounding is the cause.")),
        rejected_hypotheses=(),
    )
    third = dataclasses.replace(
        second,
        artifact_id=first.artifact_id + "-g3",
        open_issues=(),
        verification_state=tuple(
            dataclasses.replace(item, content="The legacy test was dealt with.") for item in first.verification_state
        ),
    )
    one = Generation(artifact=first, lineage=_lineage(first, None))
    two = Generation(artifact=second, lineage=_lineage(second, one))
    return one, two, Generation(artifact=third, lineage=_lineage(third, two))


def _lineage(artifact: CompactionArtifact, parent: Generation | None) -> Lineage:
    return Lineage(
        generation=1 if parent is None else parent.lineage.generation + 1,
        parent_artifact_id=None if parent is None else parent.artifact.artifact_id,
        parent_digest=None if parent is None else items_digest(parent.artifact),
        direct_source="event_log" if parent is None else "artifact",
        generator="structured-compaction",
        generator_version="v1",
        items_digest=items_digest(artifact),
    )
