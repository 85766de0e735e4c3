"""`evidence.compaction`: what runs the model, and which rules the text it is shown states, each by its digest.

Reads and decides nothing. The text itself goes nowhere: only ids, scopes and digests of what stands behind a mark
`[rule-id @ capability,capability]` enter the document. A rule in other words, or without its mark, is not stated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gate.documents.compaction import rule_digest
from gate.evidence.host import Run
from gate.evidence.source import Question

_MARK = re.compile(r"\[(?P<rule>[a-z][a-z0-9-]{0,63}) @ (?P<scope>[A-Za-z0-9_.,-]*)\]")

MAX_STATED = 256
"""How many marks of one text are read; a text with more states nothing."""


@dataclass(frozen=True, slots=True)
class StatedRule:
    """A rule as a text states it."""

    rule_id: str
    scope: tuple[str, ...]
    """Capabilities in the mark, sorted."""
    text: str
    """The rest of the line."""

    @property
    def digest(self) -> str:
        """Of the normalised text."""
        return rule_digest(self.text)


def stated_rules(text: str) -> tuple[StatedRule, ...]:
    """Every rule that `text` states behind a mark, in its order; a mark in the middle of a line counts."""
    found = []
    for line in text.splitlines():
        marks = list(_MARK.finditer(line))
        for index, mark in enumerate(marks):
            end = marks[index + 1].start() if index + 1 < len(marks) else len(line)
            scope = tuple(sorted(name for name in mark["scope"].split(",") if name))
            found.append(StatedRule(mark["rule"], scope, line[mark.end() : end].strip()))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSource:
    """The host's runtime. `model_input` gives the final text that the model of a run is shown, after every injection.

    For a compaction inside a model's provider that is what was sent to it last with the exact lane put back in.
    """

    model: str
    harness: str
    compactor: str
    """provider-native, custom or none."""
    compactor_version: str
    model_input: Callable[[Run], str | None]
    """None when nobody knows what the model is shown: then no rule counts as stated."""
    checked_by: str = "CompactionSource"
    section: str = "compaction"

    def collect(self, question: Question) -> Mapping[str, Any] | None:
        """What runs, and what is stated now."""
        text = self.model_input(question.run)
        stated = () if text is None else stated_rules(text)
        return {
            "model": self.model,
            "harness": self.harness,
            "compactor": self.compactor,
            "compactor_version": self.compactor_version,
            "rules": None
            if text is None or len(stated) > MAX_STATED
            else [{"rule_id": rule.rule_id, "scope": list(rule.scope), "digest": rule.digest} for rule in stated],
        }
