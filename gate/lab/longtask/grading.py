"""What an experiment's outcome is graded on: each dimension for itself, never an overall score.

Pure. What was not measured is null; it becomes neither 0 nor false.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.lab.longtask.trajectory import CURSOR, GOAL, LENGTH, NEGATIVE_CONSTRAINTS
from gate.longtask.artifact import CompactionSeed
from gate.longtask.events import EventRecord, EvidenceLocator
from gate.longtask.strategies import observed_digest

_RESUMED_KEYS = (
    "resume-artifact-loaded",
    "checkpoint-resumed",
    "compatible-patch-applied",
    "legacy-test-passing",
    "full-suite-passing",
    "repair-complete",
)
_REPEATED_WORK = frozenset({"rounding-only-hypothesis", "rounding-probe-applied", "repeat-rounding-attempt"})
_BEFORE_PATCH = 2
"""Events after the resume that still see the old workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuityGrade:
    """Twelve separate observations of one case; None: not measured."""

    goal_retained: bool
    acceptance_retention: float
    constraint_retention: float
    negative_constraint_retention: float
    open_issue_retention: float
    rejected_hypothesis_retention: float
    locator_integrity: float | None = None
    resume_correct: bool | None = None
    duplicate_work_count: int | None = None
    false_completion: bool = False
    packet_contract_passed: bool | None = None
    trace_contract_passed: bool = False
    """False until the report has looked at the case's trace."""


@dataclass(frozen=True, slots=True)
class PostResume:
    """What the events after a resume show; `duplicates` is None when they are not the frozen ones."""

    well_formed: bool
    duplicates: int | None


def retention(expected: frozenset[str], visible: frozenset[str]) -> float:
    """Share of the expected keys that are visible; 1.0 when nothing was expected."""
    return len(expected & visible) / len(expected) if expected else 1.0


def grade(
    visible: frozenset[str],
    seed: CompactionSeed,
    *,
    observed: frozenset[str] | None = None,
    locator_integrity: float | None = None,
    resume_correct: bool | None = None,
    duplicate_work_count: int | None = None,
    false_completion: bool = False,
    packet_contract_passed: bool | None = None,
) -> ContinuityGrade:
    """The grade of what is visible. `observed`: keys that had been seen at all, when the cursor came early."""

    def kept(keys: frozenset[str]) -> float:
        return retention(keys if observed is None else keys & observed, visible)

    return ContinuityGrade(
        goal_retained=GOAL in visible,
        acceptance_retention=kept(seed.acceptance_keys),
        constraint_retention=kept(seed.constraint_keys),
        negative_constraint_retention=kept(NEGATIVE_CONSTRAINTS),
        open_issue_retention=kept(seed.open_issue_keys),
        rejected_hypothesis_retention=kept(seed.rejected_hypothesis_keys),
        locator_integrity=locator_integrity,
        resume_correct=resume_correct,
        duplicate_work_count=duplicate_work_count,
        false_completion=false_completion,
        packet_contract_passed=packet_contract_passed,
    )


def integrity(locators: Sequence[EvidenceLocator], events: Sequence[EventRecord]) -> float:
    """Share of the locators that lead to an observation with the same content and workspace, read again."""
    seen = {(event.payload_ref, observed_digest(event), event.workspace_digest) for event in events}
    good = sum((one.ref, one.content_digest, one.workspace_digest) in seen for one in locators)
    return good / len(locators) if locators else 1.0


def post_resume(events: Sequence[EventRecord]) -> PostResume:
    """Whether the events after the boundary are the whole frozen resume, and how much old work they repeat."""
    workspaces = [event.workspace_digest for event in events]
    well_formed = (
        [event.sequence for event in events] == list(range(CURSOR + 1, LENGTH + 1))
        and len({event.run_id for event in events}) == 1
        and len(set(workspaces[:_BEFORE_PATCH])) == 1
        and len(set(workspaces[_BEFORE_PATCH:])) == 1
        and workspaces[0] != workspaces[-1]
        and tuple(item.key for event in events for item in event.carry_items if item.key in _RESUMED_KEYS)
        == _RESUMED_KEYS
    )
    if not well_formed:
        return PostResume(False, None)
    return PostResume(True, sum(item.key in _REPEATED_WORK for event in events for item in event.carry_items))
