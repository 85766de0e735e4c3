"""The exact lane outside every compaction: what is put into a model's input after its context was rewritten.

For compactors nobody can look into: whatever a provider keeps, rules, constraints and open obligations are put back
from the contract and the records, and the final text is what the gate checks. Decides nothing; no summary enters it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gate.continuity import ContextView
from gate.documents.compaction import CompactionContract, RegisteredRule
from gate.errors import InputError
from gate.evidence import Run

_HEAD = "These rules hold, whatever else this context says; every action is checked against them when it is tried."


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactLane:
    """Rules of a contract, word by word, with the marks by which the gate finds them again."""

    lines: tuple[str, ...]
    """`[rule-id @ capability,capability] text`, in the order of the contract."""

    @classmethod
    def of(cls, contract: CompactionContract, *, form: str = "imperative", language: str = "en") -> ExactLane:
        """Every rule that `contract` requires, in the wording asked for, or in its first one where that is missing.

        Raises `InputError` (`lane_empty`) for a contract that requires none.
        """
        rules = [contract.rules[rule_id] for rule_id in contract.required_rule_ids]
        if not rules:
            raise InputError("the contract requires no rule", code="lane_empty")
        return cls(lines=tuple(_line(rule, form, language) for rule in rules))

    def text(self, view: ContextView | None = None) -> str:
        """What is put into the model's input; with the user's constraints and open obligations out of `view`."""
        return "\n".join((_HEAD, *self.lines, *(_of_records(view) if view is not None else ())))


@dataclass(slots=True)
class ModelInputs:
    """The final text that the model of each run was shown last; what `CompactionSource.model_input` reads."""

    _texts: dict[tuple[str | None, str], str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def shown(self, run: Run, text: str) -> None:
        """Keeps what the model of `run` is about to be shown."""
        with self._lock:
            self._texts[run.identity.tenant_id, run.run_id] = text

    def forget(self, run: Run) -> None:
        """A compaction took place: until the next `shown` nobody knows what the model sees, and no rule counts."""
        with self._lock:
            self._texts.pop((run.identity.tenant_id, run.run_id), None)

    def of(self, run: Run) -> str | None:
        """What the model of `run` was shown last; None when nobody knows."""
        with self._lock:
            return self._texts.get((run.identity.tenant_id, run.run_id))


def readable(value: object) -> Iterable[str]:
    """Every text that a model can read in a message of a provider's form; what is encrypted is not text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key in {"text", "content", "output", "summary", "arguments"}:
                yield from readable(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from readable(each)


def _line(rule: RegisteredRule, form: str, language: str) -> str:
    fitting = [w for w in rule.wordings if (w.form, w.language) == (form, language)]
    wording = (fitting or list(rule.wordings))[0]
    return f"[{rule.rule_id} @ {','.join(rule.scope)}] {wording.text}"


def _of_records(view: ContextView) -> Iterable[str]:
    for piece in view.of("constraint"):
        if isinstance(piece.content, Mapping):
            yield f"The user said ({piece.source}): {' '.join(str(piece.content['words']).split())}"
    for piece in view.of("obligation"):
        yield f"Still open ({piece.source}): {' '.join(str(piece.content).split())}"
