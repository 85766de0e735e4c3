"""Typed retention: each lane is kept as the contract says (SEED 003, retention lanes), and constraint pinning.

Never compresses the exact lane: when it does not fit, nothing is compressed and the task pauses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gate.canonical import digest
from gate.lab.compaction.compactor import CompactedContext, Compactor, ContextItem, ContextView, total_tokens
from gate.lab.compaction.compactors.plain import newest

_ARCHIVE = "archive-"


@dataclass(frozen=True, slots=True)
class Structured:
    """Rules word by word, procedures and corrections whole, facts as a pointer, the rest archived."""

    name: str = "structured"
    version: str = "1"

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """The typed context, or the earlier one with `paused` when what must be kept does not fit."""
        kept = {item.item_id: _typed(item) for item in context.items if _is_held(item)}
        held = total_tokens(kept.values())
        if held > budget_tokens:
            return CompactedContext(items=context.items, paused=True, notes={"held_tokens": str(held)})
        rest = [i for i in context.items if not _is_held(i) and not i.item_id.startswith(_ARCHIVE)]
        archive = _archive(context, rest)
        if archive.tokens > budget_tokens - held:
            return CompactedContext(items=tuple(kept.values()))
        talk = newest(rest, budget_tokens - held - archive.tokens)
        kept |= {item.item_id: item for item in talk}
        dropped = len(talk) < len(rest)
        ordered = tuple(kept[item.item_id] for item in context.items if item.item_id in kept)
        return CompactedContext(items=(*ordered, archive) if dropped else ordered)


@dataclass(frozen=True, slots=True)
class Pinned:
    """Constraint pinning around another compactor: it never sees the exact lane, which is put back word by word."""

    inner: Compactor

    @property
    def name(self) -> str:
        """The inner name, marked."""
        return f"{self.inner.name}+pinning"

    @property
    def version(self) -> str:
        """The inner revision, marked."""
        return f"{self.inner.version}+pinning-1"

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """The exact lane, and what the inner compactor makes of the rest in what is left of the budget."""
        exact = tuple(item for item in context.items if item.lane == "exact")
        room = budget_tokens - total_tokens(exact)
        if room < 0:
            return CompactedContext(items=context.items, paused=True)
        others = ContextView(items=tuple(i for i in context.items if i.lane != "exact"), round=context.round)
        inner = self.inner.compact(others, room)
        return replace(inner, items=(*exact, *(item for item in inner.items if item.lane != "exact")))


def _is_held(item: ContextItem) -> bool:
    return item.lane in {"exact", "structured"} or item.kind == "task" or item.lane == "reload"


def _typed(item: ContextItem) -> ContextItem:
    if item.lane != "reload" or item.text.startswith("Reload "):
        return item
    return replace(item, text=f"Reload {item.item_id} from its system of record before use.")


def _archive(context: ContextView, rest: Sequence[ContextItem]) -> ContextItem:
    content = digest([item.as_json() for item in rest])
    text = f"Older messages are archived under {content.removeprefix('sha256:')[:12]}; look them up by id when needed."
    return ContextItem(item_id=f"{_ARCHIVE}{context.round}", kind="summary", text=text)
