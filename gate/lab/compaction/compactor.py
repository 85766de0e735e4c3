"""What a compactor is given, what it gives back, and how both are measured.

Pure. Knows no compactor and judges none: what was kept is read in `gate.lab.compaction.results`, from the text that a
model would be shown and from nothing a compactor says about itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from gate.errors import GateError

Lane = Literal["exact", "structured", "reload", "lossy"]
LANES: tuple[Lane, ...] = ("exact", "structured", "reload", "lossy")
"""How an item is to be kept, the most careful first (SEED 003: retention lanes)."""

Kind = Literal[
    "rule", "pending", "procedure", "correction", "fact", "preference", "task", "user", "assistant", "tool", "summary"
]
"""What an item is. `task` is what the agent is there for; `summary` is what a compactor wrote itself."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_PROMPT_OVERHEAD = 3
"""Tokens a message costs beside its text."""


class CompactionError(GateError):
    """A compactor failed, or gave back what is not a context: the earlier context still stands."""

    code = "compaction_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One message of a working context."""

    item_id: str
    """Stable over the rounds; a compactor gives the items it writes itself an id of their own."""
    kind: Kind
    text: str
    """What a model is shown, without the mark that `line` puts before it."""
    lane: Lane = "lossy"
    rule_id: str | None = None
    """The registered rule, pending gate, procedure or correction that the text states."""
    scope: tuple[str, ...] = ()
    """Capabilities the rule is about, sorted."""
    authority: str = "conversation"
    """Who says so: policy, approval_store, user, tool or conversation."""

    @property
    def line(self) -> str:
        """As a model is shown it: `[rule_id @ scope] text` for a registered item, the text alone for any other."""
        if self.rule_id is None:
            return self.text
        return f"[{self.rule_id} @ {','.join(self.scope)}] {self.text}"

    @property
    def tokens(self) -> int:
        """What the item costs; an estimate, see `estimate_tokens`."""
        return estimate_tokens(self.line) + _PROMPT_OVERHEAD

    def as_json(self) -> dict[str, Any]:
        """For a compactor in another process."""
        return {
            "item_id": self.item_id,
            "kind": self.kind,
            "text": self.text,
            "lane": self.lane,
            "rule_id": self.rule_id,
            "scope": list(self.scope),
            "authority": self.authority,
        }

    @classmethod
    def from_json(cls, value: object) -> ContextItem:
        """Reads what `as_json` wrote. Raises `CompactionError` for anything else; nothing is filled in but defaults."""
        if not isinstance(value, dict):
            raise _not_an_item()
        item_id, kind, text = value.get("item_id"), value.get("kind"), value.get("text")
        lane, rule_id = value.get("lane", "lossy"), value.get("rule_id")
        scope, authority = value.get("scope", []), value.get("authority", "conversation")
        if (
            not (isinstance(item_id, str) and isinstance(text, str) and isinstance(authority, str))
            or kind not in KINDS
            or lane not in LANES
            or not (rule_id is None or isinstance(rule_id, str))
            or not (isinstance(scope, list) and all(isinstance(name, str) for name in scope))
        ):
            raise _not_an_item()
        return cls(
            item_id=item_id,
            kind=kind,
            text=text,
            lane=lane,
            rule_id=rule_id,
            scope=tuple(scope),
            authority=authority,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextView:
    """A working context before a compaction, oldest first."""

    items: tuple[ContextItem, ...]
    round: int
    """Which compaction is about to happen, from 1."""

    @property
    def tokens(self) -> int:
        """What the whole context costs."""
        return total_tokens(self.items)

    @property
    def text(self) -> str:
        """What a model is shown, an item a line."""
        return text_of(self.items)

    def as_json(self, budget_tokens: int) -> dict[str, Any]:
        """The request to a compactor in another process."""
        return {"round": self.round, "budget_tokens": budget_tokens, "items": [item.as_json() for item in self.items]}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedContext:
    """What a compactor gives back; it becomes the working context of the next round."""

    items: tuple[ContextItem, ...]
    opaque: bool = False
    """The true representation cannot be read (provider-native): what it keeps is unknown, whatever `items` says."""
    paused: bool = False
    """The exact lane alone is over the budget, so that nothing was compressed: the task pauses or is split."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What the compactor says of itself; shown in a report and believed by nobody."""

    @property
    def tokens(self) -> int:
        """What the whole context costs."""
        return total_tokens(self.items)

    @property
    def text(self) -> str:
        """What a model is shown, an item a line."""
        return text_of(self.items)

    @classmethod
    def from_json(cls, value: object) -> CompactedContext:
        """Reads the reply of a compactor in another process. Raises `CompactionError`, `compaction_malformed`."""
        if isinstance(value, dict) and isinstance(value.get("items"), list):
            opaque, paused, notes = value.get("opaque", False), value.get("paused", False), value.get("notes", {})
            if isinstance(opaque, bool) and isinstance(paused, bool) and _texts(notes):
                read = tuple(ContextItem.from_json(item) for item in value["items"])
                return cls(items=read, opaque=opaque, paused=paused, notes=notes)
        raise CompactionError("the reply of the compactor is not a compacted context", code="compaction_malformed")


@runtime_checkable
class Compactor(Protocol):
    """What is tested. The same view and budget must give the same context, or no two reports are the same."""

    @property
    def name(self) -> str:
        """As it is chosen on the command line and named in a report."""

    @property
    def version(self) -> str:
        """Exact revision; a changed one makes every earlier record stale."""

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """The context in at most `budget_tokens`, as `ContextView.tokens` counts. Raises `CompactionError`."""


def estimate_tokens(text: str) -> int:
    """Tokens of `text`: a quarter of its ASCII characters and one for each other, rounded up.

    An estimate that depends on no tokenizer, so that two machines count the same; it only has to rank contexts.
    """
    plain = sum(character.isascii() for character in text)
    return math.ceil(plain / 4) + len(text) - plain


def total_tokens(items: Iterable[ContextItem]) -> int:
    """Tokens of `items` together."""
    return sum(item.tokens for item in items)


def text_of(items: Iterable[ContextItem]) -> str:
    """What a model is shown of `items`, an item a line."""
    return "\n".join(item.line for item in items)


def read_reply(text: str) -> CompactedContext:
    """The reply of a compactor in another process, from JSON. Raises `CompactionError`, `compaction_malformed`."""
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise CompactionError("the reply of the compactor is not JSON", code="compaction_malformed") from exc
    return CompactedContext.from_json(value)


def _texts(notes: object) -> bool:
    return isinstance(notes, dict) and all(isinstance(k, str) and isinstance(v, str) for k, v in notes.items())


def _not_an_item() -> CompactionError:
    return CompactionError("an item of the compacted context is not in its form", code="compaction_malformed")
