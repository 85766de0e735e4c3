"""What a commit and a rehydration need of others: the gate with its boundaries, and a migration to be committed.

Protocols only. Whoever implements them decides nothing for the policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from gate.decision import Decision
from gate.evidence import Run
from gate.longtask.artifact import CompactionArtifact
from gate.records import TaskCheckpoint


class Migrated(Protocol):
    """A migration that is to be committed."""

    @property
    def artifact(self) -> CompactionArtifact:
        """In the schema of now, under its own id."""

    @property
    def parent_artifact_id(self) -> str:
        """What it was made of."""

    @property
    def parent_digest(self) -> str:
        """The digest that had."""


class Envelope(Protocol):
    """The authority side of a boundary, open or sealed."""

    @property
    def envelope_id(self) -> str:
        """Its id."""

    @property
    def run(self) -> Run:
        """The handle it was written for."""


class Boundaries(Protocol):
    """What the coordinator needs of the gate."""

    def prepare_boundary(self, run: Run, reason: str, *, envelope_id: str | None = None) -> Any:
        """Stops the run and opens its boundary. Raises `ActionBlocked` in a forbidden state."""

    def decide_meaning(self, envelope: Any, section: Mapping[str, Any]) -> Decision:
        """Asks about the pair."""

    def commit_meaning(self, envelope: Any, decision: Decision, checkpoint: TaskCheckpoint, text: str) -> Any:
        """Commits the pair with the envelope."""

    def resume(
        self,
        envelope_id: str,
        presented_summary: str | None,
        host: Run,
        *,
        meaning: Mapping[str, Any] | None = None,
    ) -> Any:
        """Resumes the boundary, once."""

    def recover(self, run: Run) -> Any:
        """Writes an envelope from the records in place of whatever was open."""
