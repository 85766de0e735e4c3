"""Which way a decision went: whether a caller gets further than before, less far, or elsewhere.

Pure. The order of strictness is that of `gate.decision.Verdict`. What cannot be ranked counts as both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    # Who may take an approval back holds the agent by it: that nobody can any more lets the agent go on.
    looser = after < before if takes_back(old) or takes_back(new) else after > before
    direction = LOOSENS if looser else TIGHTENS
    if new.verdict == Verdict.ALLOW:
        return "newly_allowed", direction
    if new.verdict in _APPROVAL:
        return "newly_needing_approval", direction
    return ("newly_refused" if old.verdict in (Verdict.ALLOW, *_APPROVAL) else "other"), direction


def takes_back(outcome: Outcome) -> bool:
    """Whether an approval that was asked for or given ends by it without a call."""
    return any(
        one["type"] == "move_approval" and one.get("to") in _ENDED for one in map(json.loads, outcome.obligations)
    )


def _obligations(old: Outcome, new: Outcome) -> str:
    """Reasons alone change nothing for the caller; what the gate must do does, of a refusal what it ends or blocks."""
    refused = old.verdict not in (Verdict.ALLOW, *_APPROVAL)
    before, after = _duties(old), _duties(new)
    found: set[str] = set()
    for kind in before.keys() | after.keys():
        if refused and kind not in _OF_REFUSALS:
            continue
        one, two = (
            [duty for duty in mine.get(kind, []) if duty not in other.get(kind, [])]
            for mine, other in ((before, after), (after, before))
        )
        if len(one) == len(two) == 1:
            found |= _details(kind, one[0], two[0])
        else:
            gone, come = (TIGHTENS, LOOSENS) if kind in _FREEING else (LOOSENS, TIGHTENS)
            found |= ({gone} if one else set()) | ({come} if two else set())
    return found.pop() if len(found) == 1 else (MIXED if found else NONE)


def _duties(outcome: Outcome) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in map(json.loads, outcome.obligations):
        found.setdefault(str(one["type"]), []).append(one)
    return found


def _details(kind: str, one: Mapping[str, Any], two: Mapping[str, Any]) -> set[str]:
    """What became of a duty that both have, field by field."""
    found: set[str] = set()
    for key in sorted(key for key in one.keys() | two.keys() if one.get(key) != two.get(key)):
        before, after = one.get(key), two.get(key)
        if key in _LISTS:
            found |= _lists(before, after)
        elif key in _AMOUNTS:
            found.add(_amounts(before, after))
        elif key == "counters":
            found |= _counters(before, after)
        elif key == "standing_digest" and None in (before, after):
            found.add(LOOSENS if before is None else TIGHTENS)
        elif (kind, before, after) == ("move_approval", "pending", "approved"):
            found.add(LOOSENS)
        elif (kind, before, after) == ("move_approval", "approved", "pending"):
            found.add(TIGHTENS)
        else:
            found.add(MIXED)
    return found


def _lists(before: Any, after: Any) -> set[str]:
    """Of what is blanked, owned up to or remembered against a run, less is looser."""
    if not isinstance(before, list) or not isinstance(after, list):
        return {MIXED}
    return ({LOOSENS} if set(before) - set(after) else set()) | ({TIGHTENS} if set(after) - set(before) else set())


def _amounts(before: Any, after: Any) -> str:
    """A longer wait or lease and more uses get a caller further; no number of uses is one."""
    one, two = (1 if value is None else value for value in (before, after))
    if not all(isinstance(value, (int, float)) for value in (one, two)) or one == two:
        return MIXED
    return LOOSENS if two > one else TIGHTENS


def _counters(before: Any, after: Any) -> set[str]:
    """Limits that are counted against: a higher one, or a smaller amount, or one less of them, is looser."""
    old, new = ({one["name"]: one for one in uses or ()} for uses in (before, after))
    found = ({LOOSENS} if old.keys() - new.keys() else set()) | ({TIGHTENS} if new.keys() - old.keys() else set())
    for name in old.keys() & new.keys():
        found |= {_amounts(old[name][key], new[name][key]) for key in ("limit",) if old[name][key] != new[name][key]}
        found |= {_amounts(new[name][key], old[name][key]) for key in ("amount",) if old[name][key] != new[name][key]}
    return found or {MIXED}


_ENDED = frozenset({"rejected", "revoked", "cancelled", "expired"})
_OF_REFUSALS = frozenset({"end_run", "stop_plan", "reconcile", "return_receipt"})
_FREEING = frozenset({"return_receipt", "resume_run", "resume_boundary", "fork_run", "hand_over_run"})
"""Duties that get a caller further; every other one holds it back."""
_LISTS = frozenset({"pointers", "refused_scopes", "forbidden_states"})
_AMOUNTS = frozenset({"max_wait_seconds", "lease_seconds", "max_uses"})
