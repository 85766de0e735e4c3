"""Which way a decision went: whether a caller gets further than before, less far, or elsewhere.

Pure. The order of strictness is that of `gate.decision.Verdict`. What cannot be ranked counts as both.
"""

from __future__ import annotations

import json
from typing import Any

from gate.decision import Verdict
from gate.release.diff_batch import Outcome

GROUPS = ("newly_allowed", "newly_needing_approval", "newly_refused", "other")
NONE, LOOSENS, TIGHTENS, MIXED = "none", "loosens", "tightens", "mixed"
_APPROVAL = (Verdict.REQUIRE_APPROVAL, Verdict.REAUTHORIZATION_REQUIRED)
_RANK = {str(verdict): rank for rank, verdict in enumerate(Verdict)}
"""0 is the strictest; a decision that could not be had is a refusal like a deny."""


def change_of(old: Outcome, new: Outcome) -> tuple[str, str]:
    """Group and direction of the difference between two outcomes."""
    before, after = _RANK.get(old.verdict, 0), _RANK.get(new.verdict, 0)
    if before == after:
        return "other", _obligations(old, new)
    direction = LOOSENS if after > before else TIGHTENS
    if new.verdict == Verdict.ALLOW:
        return "newly_allowed", direction
    if new.verdict in _APPROVAL:
        return "newly_needing_approval", direction
    return ("newly_refused" if old.verdict in (Verdict.ALLOW, *_APPROVAL) else "other"), direction


def _obligations(old: Outcome, new: Outcome) -> str:
    """Reasons alone change nothing for the caller; what the gate must do does."""
    if old.verdict not in (Verdict.ALLOW, *_APPROVAL):
        return NONE
    before, after = _duties(old), _duties(new)
    found: set[str] = set()
    for kind in before.keys() | after.keys():
        one, two = before.get(kind), after.get(kind)
        if one == two:
            continue
        if one is None or two is None:
            found.add(TIGHTENS if one is None else LOOSENS)
        elif kind == "redact":
            found |= _lists(set(one["pointers"]), set(two["pointers"]))
        else:
            found.add(_wait(one, two))
    return found.pop() if len(found) == 1 else (MIXED if found else NONE)


def _duties(outcome: Outcome) -> dict[str, Any]:
    return {str(one["type"]): one for one in map(json.loads, outcome.obligations)}


def _lists(before: set[str], after: set[str]) -> set[str]:
    return ({LOOSENS} if before - after else set()) | ({TIGHTENS} if after - before else set())


def _wait(one: dict[str, Any], two: dict[str, Any]) -> str:
    """A longer wait or lease gets a caller further; any other change of a duty cannot be ranked."""
    differing = {key for key in one.keys() | two.keys() if one.get(key) != two.get(key)}
    (key, *others) = sorted(differing)
    if not others and key in {"max_wait_seconds", "lease_seconds"}:
        return LOOSENS if two.get(key, 0) > one.get(key, 0) else TIGHTENS
    return MIXED
