"""Which way a vote went that ends an approval: it depends on whether its voter may still give one.

Pure. That a reviewer who left can no longer say no lets nobody through, but that one who stays cannot does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gate.decision import Verdict
from gate.release.diff_batch import Outcome
from gate.release.diff_change import change_of, takes_back
from gate.release.diff_documents import value_at

Both = tuple[Outcome, Outcome]
_VOTER, _CAPABILITY = ("evidence", "vote", "reviewer"), ("state", "approval", "capability")


class Voters:
    """Directions of the differences between two bundles, with what became of each voter in mind."""

    def __init__(self, seen: Iterable[tuple[Mapping[str, Any], Both]]) -> None:
        self._given: dict[tuple[str, str], set[str]] = {}
        for document, (old, new) in seen:
            permitted = [outcome.verdict == Verdict.ALLOW for outcome in (old, new)]
            if value_at(document, ("request", "transition")) == "approve" and permitted[0] != permitted[1]:
                self._given.setdefault(_key(document), set()).add(change_of(old, new)[1])

    def change_of(self, document: Mapping[str, Any], outcomes: Both) -> tuple[str, str]:
        """Group and direction of what the two sides make of `document`."""
        group, direction = change_of(*outcomes)
        if outcomes[0].verdict != outcomes[1].verdict and any(map(takes_back, outcomes)):
            given = self._given.get(_key(document), set())
            direction = next(iter(given)) if len(given) == 1 else direction
        return group, direction


def _key(document: Mapping[str, Any]) -> tuple[str, str]:
    return str(value_at(document, _VOTER)), str(value_at(document, _CAPABILITY))
