"""`compound.yaml` as typed values: plans of several steps, and the tasks they may serve.

Pure data. Whether capabilities exist must not be checked here but by the linker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gate.documents.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCapability:
    """A capability that carries out a plan, and those that run only as steps of one."""

    capability: str
    steps: tuple[str, ...]
    """Capabilities that may be steps of the plan; none of them runs outside one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScope:
    """What a task may touch at most, in canonical names."""

    task_ref: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompoundPolicy:
    """`compound_authorization`: how plans are authorized as a whole."""

    adapters: tuple[str, ...]
    """Names of the adapters whose derivation of requirements counts as complete."""
    max_age_seconds: int
    """How old a check of rights may be at the decision, in seconds."""
    plans: tuple[PlanCapability, ...]
    tasks: tuple[TaskScope, ...]
    reasons: Mapping[str, str]
    """Required access to the reason the audit gives when it is lacking."""


def compound_policy(document: Document) -> CompoundPolicy:
    """The policy that `compound.yaml` states."""
    root = document.value["compound_authorization"]
    return CompoundPolicy(
        adapters=tuple(root["adapters"]),
        max_age_seconds=root["max_age_seconds"],
        plans=tuple(
            PlanCapability(capability=entry["capability"], steps=tuple(entry["steps"])) for entry in root["plans"]
        ),
        tasks=tuple(
            TaskScope(task_ref=entry["task_ref"], actions=tuple(entry["actions"]), resources=tuple(entry["resources"]))
            for entry in root["tasks"]
        ),
        reasons=dict(root.get("reasons", {})),
    )
