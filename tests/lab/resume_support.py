"""A resume that is broken in one known way, as objects: for the reference order and for the policies alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gate.lab.longtask.reference_checks import SourceResolver, first_objection
from gate.lab.longtask.trajectory import Trajectory, checkpoint, seed
from gate.longtask.artifact import CompactionArtifact, RunCheckpoint
from gate.longtask.events import EventRecord, LongTaskError
from gate.longtask.strategies import structured_artifact


@dataclass(frozen=True)
class Resume:
    artifact: CompactionArtifact
    point: RunCheckpoint
    live: str
    resolve: SourceResolver | None

    def objection(self) -> str | None:
        return first_objection(self.artifact, self.point, live_workspace_digest=self.live, resolve=self.resolve)

    def events(self) -> Sequence[EventRecord] | None:
        """What the log gives of the range; None when it cannot be read."""
        try:
            return None if self.resolve is None else self.resolve(self.artifact)
        except LongTaskError:
            return None


def resume(own: Trajectory, *, live: str = "workspace-price-v1", resolve: Any = "prefix", **changes: Any) -> Resume:
    """The repair's resume; `point_*` changes the checkpoint, anything else the artifact, past its constructor."""
    artifact = structured_artifact(own.prefix, seed())
    named = {name.removeprefix("point_"): value for name, value in changes.items() if name.startswith("point_")}
    point = dataclasses.replace(checkpoint(artifact.artifact_id, artifact.workspace_digest), **named)
    rest = {name: value for name, value in changes.items() if not name.startswith("point_")}
    return Resume(forged(artifact, **rest), point, live, (lambda _: own.prefix) if resolve == "prefix" else resolve)


def forged(artifact: CompactionArtifact, **changes: Any) -> CompactionArtifact:
    made = dataclasses.replace(artifact)
    for name, value in changes.items():
        object.__setattr__(made, name, value)
    return made


def _unreadable(_: object) -> tuple[EventRecord, ...]:
    raise LongTaskError("gone", code="event_digest_mismatch")


# Each row breaks one more thing than its reason needs: the first of the two has to be the answer.
ORDER: list[tuple[dict[str, Any], str | None]] = [
    ({}, None),
    ({"run_id": "other", "artifact_id": "other"}, "checkpoint_run_mismatch"),
    ({"artifact_id": "other", "schema_version": "2.0"}, "checkpoint_artifact_mismatch"),
    ({"schema_version": "2.0", "source_digest": " "}, "artifact_rejected_schema"),
    ({"source_digest": "", "resolve": None}, "artifact_rejected_source_digest"),
    ({"resolve": None, "point_event_cursor": 23}, "artifact_source_unverifiable"),
    ({"resolve": _unreadable, "source_event_range": (1, 3)}, "artifact_source_unverifiable"),
    ({"resolve": lambda _: ()}, "artifact_source_unverifiable"),
    ({"source_event_range": (1, 23), "source_digest": "x"}, "artifact_source_range_mismatch"),
    ({"source_digest": "x", "point_event_cursor": 23}, "artifact_source_digest_mismatch"),
    ({"point_event_cursor": 23, "workspace_digest": "w"}, "stale_event_cursor"),
    ({"workspace_digest": "w", "live": "w"}, "stale_artifact_workspace_digest"),
    ({"live": "workspace-price-v2"}, "stale_workspace_digest"),
]
