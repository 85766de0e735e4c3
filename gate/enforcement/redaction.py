"""Blanks what a decision says must not go on: values at JSON pointers of a call's arguments or of an output.

Pure. Decides nothing: which pointers, and whether at all, is the decision's. A value that is blanked is another value,
so whoever blanks decides again afterwards.
"""

from __future__ import annotations

from typing import Any

from gate.canonical import canonical_bytes, parse
from gate.decision import Decision
from gate.documents import pointer_of, tokens_of
from gate.enforcement.obligations import undischarged
from gate.evidence.action import resolve

REDACTED = "[REDACTED]"
"""What stands where a value was; the literal of the reference runtime."""


def redacted(decision: Decision, value: Any) -> Any:
    """A copy of `value` as the decision's `redact` obligation wants it; `value` itself when there is nothing to blank.

    A pointer to nothing is met already. Raises `EvidenceError` (`obligation_undischarged`) for an obligation that
    names no pointers, or one that is no pointer to a part, and for a value that has no parts to point at.
    """
    obligation = decision.obligation("redact")
    if obligation is None:
        return value
    pointers = obligation.get("pointers")
    if not isinstance(pointers, list) or not pointers or not isinstance(value, (dict, list)):
        raise undischarged()
    if not all(isinstance(pointer, str) and pointer.startswith("/") for pointer in pointers):
        raise undischarged()
    copy = parse(canonical_bytes(value))
    for pointer in pointers:
        _blank(copy, pointer)
    return copy if copy != value else value


def _blank(document: Any, pointer: str) -> None:
    *parents, last = tokens_of(pointer)
    node = resolve(document, pointer_of(*parents))
    if isinstance(node, dict) and last in node:
        node[last] = REDACTED
    elif isinstance(node, list) and last.isascii() and last.isdigit() and int(last) < len(node):
        node[int(last)] = REDACTED
