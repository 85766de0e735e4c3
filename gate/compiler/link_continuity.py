"""What `continuity.yaml` must say of the rest of the bundle: every field has an effect, and a boundary can be resumed.

Pure. A field that could change no decision as the bundle stands is refused, because its author believes it does.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.compiler.positions import POLICY, at
from gate.documents import Bundle
from gate.documents import pointer_of as pointer
from gate.errors import Problem

CONTINUITY = "continuity.yaml"
_ROOT = "continuity"

REQUESTED = ("compact", "reset", "handoff", "fork")
"""Operations that cross a boundary somebody asked for."""

ADDED_STATES = ("obligation_open", "sandbox_not_saved", "budget_exhausted")
"""States that forbid a boundary only where a bundle says so."""

_STEPS = "max_steps_after_failed_compaction"

_AT_RESUMPTION = ("compare", "max_age_seconds")
"""Fields that say something of a resumption only."""


def link_continuity(bundle: Bundle) -> Iterator[Problem]:
    """Every disagreement of `continuity.yaml` with the rest of the bundle."""
    if bundle.continuity is None:
        return
    yield from _boundaries_are_permitted(bundle)
    yield from _states_are_added(bundle)
    if bundle.continuity.reconfirm_approval and not bundle.contracts:
        yield _idle(
            bundle,
            "reconfirm_approval",
            message="`reconfirm_approval` has no effect, because no capability has an approval contract",
            hint="drop it, or write approvals.yaml",
        )


def _boundaries_are_permitted(bundle: Bundle) -> Iterator[Problem]:
    permitted = {name for name, decision in bundle.policy.operations.items() if decision == "allow"}
    place = at(bundle.documents[POLICY], "policy", "operations", key=True)
    stated = bundle.documents[CONTINUITY].value[_ROOT]
    if not permitted & {*REQUESTED, "recover"}:
        yield _idle(
            bundle,
            message="`continuity` has no effect, because policy.yaml permits no boundary",
            hint=f"allow compact, reset, handoff, fork or recover at {place}",
        )
        return
    if _STEPS in stated and not permitted >= {"compact", "model_call"}:
        yield _idle(
            bundle,
            _STEPS,
            message=f"`{_STEPS}` has no effect, because policy.yaml does not allow `compact` and `model_call`",
            hint=f"allow both at {place}: a compaction that fails, and the steps that are counted after it",
        )
    if "rehydrate" not in permitted:
        for name in (n for n in stated if n in _AT_RESUMPTION):
            yield _idle(
                bundle,
                name,
                message=f"`{name}` has no effect, because policy.yaml does not allow operation `rehydrate`",
                hint=f"allow it at {place}; without it no boundary is ever resumed",
            )


def _states_are_added(bundle: Bundle) -> Iterator[Problem]:
    stated = bundle.documents[CONTINUITY].value[_ROOT].get("forbidden_states", [])
    for index, name in enumerate(stated):
        if name not in ADDED_STATES:
            yield _idle(
                bundle,
                "forbidden_states",
                index,
                message=f"`{name}` has no effect, because it forbids every boundary already",
                hint="drop it; a bundle adds " + ", ".join(ADDED_STATES),
            )


def _idle(bundle: Bundle, *where: str | int, message: str, hint: str) -> Problem:
    document = bundle.documents[CONTINUITY]
    return document.problem(pointer(_ROOT, *where), "continuity_without_effect", message, hint, key=True)
