"""Where a statement of a task belongs, and which of four may be offered to a memory beyond the task.

Pure. It places statements by facts about them, in the order in which the questions are asked; importance is no fact.
Whether a candidate is written to any memory is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gate.lab.longtask.supplement import Expectation, Section, Value, listed


class Surface(StrEnum):
    """What holds a statement."""

    WORKSPACE = "workspace"
    RUN_CHECKPOINT = "run_checkpoint"
    WORKING_SET = "working_set"
    ARTIFACT = "artifact"
    MEMORY_CANDIDATE = "memory_candidate"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement and the facts that place it."""

    name: str
    external_product: bool = False
    """It describes, or is, a product outside the run: code, a report, a versioned rule."""
    says_where_to_go_on: bool = False
    verbatim_for_near_steps: bool = False
    survives_compaction: bool = False
    useful_after_task: bool = False
    owner: str = ""
    """Who may change it and says what it is worth; empty when nobody is known."""
    consent: bool = False
    scoped: bool = False
    """It says for whom and for what it holds."""
    expires: bool = False
    verified: bool = False


FOUR = (
    Statement(
        name="the user prefers short reports",
        survives_compaction=True,
        useful_after_task=True,
        owner="user",
        scoped=True,
        expires=True,
        verified=True,
    ),
    Statement(
        name="test_legacy_string_config fails in this run",
        verbatim_for_near_steps=True,
        survives_compaction=True,
        owner="verifier",
        verified=True,
    ),
    Statement(
        name="the repository keeps its public signatures",
        external_product=True,
        survives_compaction=True,
        useful_after_task=True,
        owner="repository",
        scoped=True,
        expires=True,
        verified=True,
    ),
    Statement(
        name="final rounding may be the cause",
        verbatim_for_near_steps=True,
    ),
)
"""The four of the exercise."""


def surfaces(statement: Statement) -> tuple[Surface, ...]:
    """Every surface the statement belongs to, its owner's first; a candidate for memory never for that alone."""
    questions = (
        (statement.external_product, Surface.WORKSPACE),
        (statement.says_where_to_go_on, Surface.RUN_CHECKPOINT),
        (statement.verbatim_for_near_steps, Surface.WORKING_SET),
        (statement.survives_compaction, Surface.ARTIFACT),
        (not missing_for_memory(statement), Surface.MEMORY_CANDIDATE),
    )
    return tuple(surface for answer, surface in questions if answer) or (Surface.NOWHERE,)


def missing_for_memory(statement: Statement) -> tuple[str, ...]:
    """What a statement lacks to be offered to a memory; sorted."""
    needs = {
        "useful after the task": statement.useful_after_task,
        "owner": bool(statement.owner),
        "consent": statement.consent,
        "scope": statement.scoped,
        "expiry": statement.expires,
        "verified": statement.verified,
        # A versioned rule is read where it is versioned; a copy in a memory would be a second truth.
        "no other owner of record": not statement.external_product,
    }
    return tuple(sorted(name for name, there in needs.items() if not there))


def memory_candidates() -> Section:
    """The four statements, and the preference once more after the user agreed."""
    agreed = Statement(
        name="the user prefers short reports, and agreed that it is kept",
        survives_compaction=True,
        useful_after_task=True,
        owner="user",
        consent=True,
        scoped=True,
        expires=True,
        verified=True,
    )
    rows: list[dict[str, Value]] = [
        {
            "statement": one.name,
            "owner": one.owner or None,
            "surfaces": ", ".join(surface.value for surface in surfaces(one)),
            "memory_candidate": Surface.MEMORY_CANDIDATE in surfaces(one),
            "missing_for_memory": listed(missing_for_memory(one)),
        }
        for one in (*FOUR, agreed)
    ]
    places = [row["surfaces"] for row in rows]
    return Section(
        name="memory candidates",
        about="Four statements of the repair, placed by who owns them, how long they hold and how they are verified.",
        rows=tuple(rows),
        expectations=(
            Expectation(
                "none of the four goes to a memory as it is",
                not any(row["memory_candidate"] for row in rows[: len(FOUR)]),
            ),
            Expectation("a failing test stays with the run", places[1] == "working_set, artifact"),
            Expectation(
                "a repository's rule is owned by the workspace and only projected into the artifact",
                places[2] == "workspace, artifact",
            ),
            Expectation("an unproven guess lives for the near steps only", places[3] == "working_set"),
            Expectation("consent is all that the preference lacked", places[4] == "artifact, memory_candidate"),
        ),
    )
