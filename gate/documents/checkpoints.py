"""`checkpoints.yaml` as typed values: control checkpoints, each a requirement with a predicate.

Pure data. What a predicate means is the compiler's question; here it is text with a position.
"""

from __future__ import annotations

from dataclasses import dataclass

from gate.documents.document import Document

EVERY = "*"
"""In `applies_to`: the control is bound to no capability and looked at on every call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlCheckpoint:
    """One control of `control_checkpoints`."""

    checkpoint: str
    """`input`, `llm`, `state`, `tool_execution` or `output`."""
    policy_requirement: str
    """Name of the requirement; the reason code when it fires."""
    applies_to: tuple[str, ...]
    """Capability names, or `*` alone."""
    operations: tuple[str, ...]
    """Operations of the checkpoint it is bound to; empty for every one of them."""
    predicate: str | None
    """None when a judge decides."""
    judge: str | None
    """Verifier contract whose verdict decides; None when a predicate does."""
    action: str
    """`deny`, `require_approval`, `redact` or `warn`."""
    redact: tuple[str, ...]
    """JSON pointers that action `redact` blanks."""
    control_version: str
    eval_case_id: str
    """Golden case that shows the control."""
    observed_signal: str | None
    audit_fields: tuple[str, ...]


def control_checkpoints(document: Document) -> tuple[ControlCheckpoint, ...]:
    """The controls that `checkpoints.yaml` states, in its order."""
    return tuple(
        ControlCheckpoint(
            checkpoint=entry["checkpoint"],
            policy_requirement=entry["policy_requirement"],
            applies_to=tuple(entry["applies_to"]),
            operations=tuple(entry.get("operations", ())),
            predicate=entry.get("predicate"),
            judge=entry.get("judge"),
            action=entry["action"],
            redact=tuple(entry.get("redact", ())),
            control_version=entry["control_version"],
            eval_case_id=entry["eval_case_id"],
            observed_signal=entry.get("observed_signal"),
            audit_fields=tuple(entry["audit_fields"]),
        )
        for entry in document.value["control_checkpoints"]
    )
