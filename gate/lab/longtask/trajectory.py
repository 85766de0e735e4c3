"""The price-repair trajectory: thirty events, the seed and the run checkpoint that the experiments freeze.

Reads a JSONL file and nothing else. The repository's own trajectory has the same keys and landmarks in its own words;
the published one is read from a file that the caller names.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from gate.canonical import parse
from gate.errors import InputError
from gate.longtask.artifact import CompactionArtifact, CompactionSeed, RunCheckpoint
from gate.longtask.canonical_form import digest
from gate.longtask.events import EventRecord, event_from, refuse
from gate.longtask.packet import BuildConfig
from gate.longtask.strategies import check_events

RUN_ID = "run-price-repair"
CURSOR = 24
"""Sequence of the last event before the boundary."""
EARLY_CURSOR = 8
WINDOW = 8
"""Events that the sliding window keeps."""
LENGTH = 30

GOAL = "repair-price"
NEGATIVE_CONSTRAINTS = frozenset({"public-signature"})
REJECTED = "rounding-only-rejected"
OPEN_ISSUE = "legacy-config-open"
FAILING_TEST = "legacy-test-failing"
COMPLETION = "repair-complete"

PUBLISHED_DIGEST = "9b365ed494f07a6598d2213bc9f4d89d775706d44bc6864691a78b4a058a9919"
"""Digest of the published thirty events; other events are measured just the same, without being called published."""

_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The thirty events of one repair."""

    events: tuple[EventRecord, ...]

    @property
    def prefix(self) -> tuple[EventRecord, ...]:
        """The events up to the frozen cursor."""
        return tuple(event for event in self.events if event.sequence <= CURSOR)

    @property
    def published(self) -> bool:
        """These are the published events, so that the published figures have to come out."""
        return digest(self.events) == PUBLISHED_DIGEST


def seed() -> CompactionSeed:
    """What a compaction of the repair has to keep."""
    groups = {
        "acceptance_keys": frozenset({"decimal-result", "legacy-compatibility", "regression-coverage"}),
        "constraint_keys": frozenset({"public-signature", "user-clarification"}),
        "decision_keys": frozenset({"compatible-patch-plan", "preserve-decimal-path"}),
        "rejected_hypothesis_keys": frozenset({REJECTED}),
        "open_issue_keys": frozenset({OPEN_ISSUE}),
        "verification_keys": frozenset({FAILING_TEST}),
    }
    required = frozenset({GOAL, "next-intent"}).union(*groups.values())
    return CompactionSeed(run_id=RUN_ID, goal_key=GOAL, required_keys=required, **groups)


def checkpoint(artifact_id: str, workspace_digest: str) -> RunCheckpoint:
    """Where the repair stands at the frozen cursor."""
    return RunCheckpoint(
        run_id=RUN_ID,
        checkpoint_id="ckpt-price-024",
        next_step="apply-compatible-patch",
        completed_steps=("inspect", "diagnose", "reject-rounding-only"),
        pending_step="apply-compatible-patch",
        event_cursor=CURSOR,
        workspace_digest=workspace_digest,
        artifact_id=artifact_id,
    )


def build_config(artifact: CompactionArtifact) -> BuildConfig:
    """How the packet of the repair is built: everything the artifact is evidence for is expected."""
    return BuildConfig(
        task_id=GOAL,
        repository="price-fixture",
        target_path="src/pricing.py",
        budget_limit=100_000,
        expected_requirements=frozenset(name for item in artifact.items for name in item.required_for),
    )


def load(path: Path | None = None) -> Trajectory:
    """The trajectory in `path`, or the repository's own.

    Raises `InputError`: `trajectory_unreadable`, `invalid_event_log_entry`, `invalid_event_record`, or the code of the
    rule that an event breaks; `trajectory_incomplete` unless it has the thirty sequences.
    """
    try:
        if path is None:
            text = resources.files("gate.lab.longtask").joinpath("price-repair.jsonl").read_text("utf-8")
        elif path.stat().st_size > _MAX_BYTES:
            raise InputError("the trajectory is too large", code="trajectory_unreadable")
        else:
            text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError("the trajectory cannot be read", code="trajectory_unreadable") from exc
    events = tuple(_event(line) for line in text.splitlines())
    check_events(events, seed())
    if [event.sequence for event in events] != list(range(1, LENGTH + 1)):
        raise InputError("the trajectory has other events than 1 to 30", code="trajectory_incomplete")
    return Trajectory(events)


def _event(line: str) -> EventRecord:
    try:
        data = parse(line.encode())
    except InputError as exc:
        raise refuse("invalid_event_log_entry", "a line of the trajectory is not JSON") from exc
    return event_from(data)
