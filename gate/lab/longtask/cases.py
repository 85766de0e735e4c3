"""What an experiment reports: one case, its trace records, and the claims it may and may not make.

Pure. The claim texts are the published ones, to the letter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gate.lab.longtask.grading import ContinuityGrade
from gate.lab.longtask.scripted_policy import RepairPolicy
from gate.lab.longtask.trajectory import Trajectory
from gate.longtask.artifact import CompactionArtifact, CompactionSeed
from gate.longtask.canonical_form import digest
from gate.longtask.strategies import StrategyOutput

UNSUPPORTED = (
    "real model average task success rate",
    "model or commercial product ranking",
    "production-optimal compaction threshold",
    "cross-process side effects are exactly-once",
)

SUPPORTED: dict[str, tuple[str, str]] = {
    "append-all-cursor-08": (
        "canonical UTF-8 bytes are measured after event 8",
        "append-all retains each observed event at that cursor",
    ),
    "append-all-cursor-24": (
        "canonical UTF-8 bytes are measured after event 24",
        "append-all retains each observed event at that cursor",
    ),
    "sliding-window-8-events": (
        "the eight-event window omits the event-2 public-signature constraint",
        "the fixed policy enters its unsafe-signature controlled failure branch",
    ),
    "summary-only-v1": (
        "the fixed summary rule omits declared constraints and the open failure",
        "the comparison measures this controlled rule, not model summarization quality",
    ),
    "structured-compaction-v1": (
        "the structured artifact retains every declared semantic field",
        "all generated evidence locators match the frozen workspace digest",
    ),
    "checkpoint-only-v1": (
        "the checkpoint restores the declared next step while the stable task contract provides only the goal anchor",
        "no ContextPacket contract is measured for the checkpoint-only control",
    ),
    "rehydrated-context-v1": (
        "rehydration produced an actual Chapter 5 ContextPacket and ContextBuildTrace",
        "the fixed policy continued with the compatible patch without repeating the rejected attempt",
    ),
}

SINGLE: dict[str, str] = {
    "summary-generation-1": "the first controlled free-text generation loses structured constraints and open state",
    "summary-generation-2": "the declared second-generation transform retains only the goal key",
    "early-constraint-loss": "dropping event 2 sends the fixed policy into its unsafe-signature branch",
    "omitted-open-failure": ("the injected summary replaces an unresolved issue with an unsupported completion claim"),
    "workspace-digest-mismatch": "the stale workspace was rejected with stale_workspace_digest",
    "unsupported-artifact-schema": "the injected boundary was rejected with artifact_rejected_schema",
    "corrupt-artifact-source-digest": "the injected boundary was rejected with artifact_source_digest_mismatch",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentCase:
    """One row of the report. Sizes are canonical UTF-8 bytes."""

    experiment: str
    variant: str
    sample_count: int = 1
    serialized_bytes_before: int
    serialized_bytes_after: int
    grade: ContinuityGrade
    decision_kind: str | None
    supported_claims: tuple[str, ...]
    unsupported_claims: tuple[str, ...] = UNSUPPORTED


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRecord:
    """One step that a case rests on; evidence by digest, never content."""

    experiment: str
    variant: str
    stage: str
    outcome: str
    item_key: str | None
    evidence_digest: str


@dataclass(frozen=True, slots=True)
class Group:
    """The cases of one experiment and what was traced."""

    cases: tuple[ExperimentCase, ...]
    trace: tuple[TraceRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What the experiments share: the trajectory, its seed, and what the strategies made of the prefix."""

    trajectory: Trajectory
    seed: CompactionSeed
    structured: StrategyOutput
    artifact: CompactionArtifact
    summary: StrategyOutput
    window: StrategyOutput
    policy: RepairPolicy


def record(experiment: str, variant: str) -> Callable[..., TraceRecord]:
    """Makes trace records of one case: `(stage, outcome, evidence, item_key=None)`; the evidence is digested."""

    def made(stage: str, outcome: str, evidence: object, item_key: str | None = None) -> TraceRecord:
        return TraceRecord(
            experiment=experiment,
            variant=variant,
            stage=stage,
            outcome=outcome,
            item_key=item_key,
            evidence_digest=digest(evidence),
        )

    return made


def claims(variant: str) -> tuple[str, ...]:
    """What the case of that variant supports."""
    return SUPPORTED[variant] if variant in SUPPORTED else (SINGLE[variant],)
