"""Marks an output as a part of the work, in words for a text and under one key for a JSON object.

Pure. Decides nothing: whether an output is marked is the decision's, and what the mark says is the records'.
"""

from __future__ import annotations

from typing import Any

from gate.enforcement.obligations import undischarged
from gate.records import Completion

PARTIAL_RESULT = "partial_result"
"""Key of a marked JSON object that says what became of the work; what the model wrote there is replaced."""

_WORDS = {
    "finished": "finished",
    "failed": "failed",
    "unknown": "outcome unknown",
    "partial": "partly done",
    "in_flight": "still running",
    "waiting": "waiting for approval",
    "refused": "not approved",
    "narrowed": "done with less access than asked for",
}


def marked(output: Any, completion: Completion | None) -> Any:
    """A copy of `output` that says what was finished, what failed and what nobody knows.

    Raises `EvidenceError` (`obligation_undischarged`) when nobody looked that up, and for an output that has no place
    to say it: a list.
    """
    if completion is None:
        raise undischarged()
    if isinstance(output, str):
        return f"{output}\n\n{notice(completion)}"
    if isinstance(output, dict):
        return {**output, PARTIAL_RESULT: completion.as_dict()}
    raise undischarged()


def notice(completion: Completion) -> str:
    """One line for a reader, naming capabilities as the catalog does."""
    found = completion.as_dict()
    said = [f"{_WORDS[name]}: {', '.join(names)}" for name, names in found.items() if names and name != "finished"]
    finished = f"finished: {', '.join(completion.finished) or 'nothing'}"
    return f"[partial result] {'; '.join([finished, *said])}."
