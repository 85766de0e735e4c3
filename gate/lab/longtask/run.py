"""Runs the experiment groups over one trajectory and says whether the frozen rows came out.

Decides nothing about any run of an agent. Sizes are held to the published ones only for the published events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gate.lab.longtask import experiments
from gate.lab.longtask.cases import ExperimentCase, Group, claims
from gate.lab.longtask.failures import FAILURES, failure_matrix
from gate.lab.longtask.grading import ContinuityGrade, grade
from gate.lab.longtask.report import Report, report
from gate.lab.longtask.scripted_policy import APPLY, UNSAFE
from gate.lab.longtask.trajectory import Trajectory, seed

PUBLISHED: dict[tuple[str, str], tuple[int, int, str | None]] = {
    (experiments.GROWTH, "append-all-cursor-08"): (3950, 3950, None),
    (experiments.GROWTH, "append-all-cursor-24"): (12108, 12108, APPLY),
    (experiments.WINDOWED, "sliding-window-8-events"): (12108, 4337, UNSAFE),
    (experiments.SUMMARISED, "summary-only-v1"): (12108, 843, UNSAFE),
    (experiments.SUMMARISED, "structured-compaction-v1"): (12108, 3579, APPLY),
    (experiments.RESUMED, "checkpoint-only-v1"): (12108, 583, UNSAFE),
    (experiments.RESUMED, "rehydrated-context-v1"): (12108, 3447, APPLY),
    (experiments.DRIFTED, "summary-generation-1"): (12108, 843, UNSAFE),
    (experiments.DRIFTED, "summary-generation-2"): (843, 16, UNSAFE),
    (experiments.DRIFTED, "structured-regenerated-v1"): (12108, 3579, APPLY),
    (FAILURES, "early-constraint-loss"): (12108, 4337, UNSAFE),
    (FAILURES, "omitted-open-failure"): (12108, 3579, "injected_summary_claims_complete"),
    (FAILURES, "workspace-digest-mismatch"): (12108, 3579, "rejected_stale_workspace_digest"),
    (FAILURES, "unsupported-artifact-schema"): (12108, 7272, "rejected_artifact_schema"),
    (FAILURES, "corrupt-artifact-source-digest"): (12108, 7217, "rejected_artifact_source_digest_mismatch"),
}
"""Bytes before, bytes after and decision of every published row."""

_NOTHING = grade(frozenset(), seed())
_GOAL_ONLY = replace(_NOTHING, goal_retained=True)
_WHOLE = grade(seed().required_keys, seed())
_WINDOW = replace(_GOAL_ONLY, constraint_retention=0.5, rejected_hypothesis_retention=1.0)
_LOCATED = replace(_WHOLE, locator_integrity=1.0)

GRADES: dict[str, ContinuityGrade] = {
    "append-all-cursor-08": _WHOLE,
    "append-all-cursor-24": _WHOLE,
    "sliding-window-8-events": _WINDOW,
    "summary-only-v1": _GOAL_ONLY,
    "structured-compaction-v1": _LOCATED,
    "checkpoint-only-v1": _GOAL_ONLY,
    "rehydrated-context-v1": replace(
        _LOCATED, resume_correct=True, duplicate_work_count=0, packet_contract_passed=True
    ),
    "summary-generation-1": _GOAL_ONLY,
    "summary-generation-2": _GOAL_ONLY,
    "structured-regenerated-v1": _LOCATED,
    "early-constraint-loss": _WINDOW,
    "omitted-open-failure": replace(_WHOLE, open_issue_retention=0.0, false_completion=True),
    "workspace-digest-mismatch": _NOTHING,
    "unsupported-artifact-schema": _NOTHING,
    "corrupt-artifact-source-digest": _NOTHING,
}
"""The grade of every row, its trace apart: a claim that its own grade does not bear out fails the run."""

_STABLE = "structured regeneration from the frozen event log is byte-stable: true"


def run(trajectory: Trajectory) -> Report:
    """The report of the five groups and the failure matrix."""
    return assess(groups(trajectory), published=trajectory.published)


def groups(trajectory: Trajectory) -> tuple[Group, ...]:
    """The five groups and the failure matrix, each measured. Raises `LongTaskError` as the strategies do."""
    m = experiments.material(trajectory)
    return (
        experiments.context_growth(m),
        experiments.sliding_window(m),
        experiments.summary_vs_structured(m),
        experiments.checkpoint_vs_rehydration(m),
        experiments.generational_drift(m),
        failure_matrix(m),
    )


def assess(measured: Sequence[Group], *, published: bool) -> Report:
    """The report of what was measured; passed when rows, decisions, claims, traces and published sizes are right."""
    cases = tuple(case for group in measured for case in group.cases)
    return report(measured, passed=_as_expected(cases, published=published))


def _as_expected(cases: tuple[ExperimentCase, ...], *, published: bool) -> bool:
    found = {(case.experiment, case.variant): case for case in cases}
    return (
        len(cases) == len(found)
        and found.keys() == PUBLISHED.keys()
        and all(_matches(case, PUBLISHED[pair], sizes=published) for pair, case in found.items())
    )


def _matches(case: ExperimentCase, wanted: tuple[int, int, str | None], *, sizes: bool) -> bool:
    claimed = (_STABLE,) if case.variant == "structured-regenerated-v1" else claims(case.variant)
    measured = (case.serialized_bytes_before, case.serialized_bytes_after)
    return (
        case.decision_kind == wanted[2]
        and case.supported_claims == claimed
        and replace(case.grade, trace_contract_passed=False) == GRADES[case.variant]
        and (not sizes or measured == wanted[:2])
    )
