"""`continuity.yaml` as typed values: what a bundle adds to the comparison at a context boundary.

Pure data. It can say nothing that takes a core comparison away; whether what it adds has an effect is the linker's
question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gate.documents.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuityPolicy:
    """`continuity`: everything that was left out adds nothing."""

    compare: tuple[str, ...] = ()
    """`role`, `objective`, `evidence_refs`, `budget_remaining`, `pending_obligations`."""
    reconfirm_approval: bool = False
    """An approval given before a boundary is asked for again after it."""
    max_age_seconds: int | None = None
    """Greatest age of an envelope at its resumption; None for any."""
    max_boundaries: int | None = None
    """Greatest number of boundaries of one run; None for any."""
    max_steps_after_failed_compaction: int | None = None
    """How many steps a long task may begin after a compaction failed, until one succeeds; None for eight."""
    forbidden_states: tuple[str, ...] = ()
    """States besides the seven that always forbid a boundary."""
    required_constraints: tuple[str, ...] = ()
    """Ids of user constraints that every envelope must carry."""


def continuity_policy(document: Document) -> ContinuityPolicy:
    """What `continuity.yaml` adds."""
    stated: dict[str, Any] = document.value["continuity"]
    frozen: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in stated.items()}
    return ContinuityPolicy(**frozen)
