"""Compactors that know nothing of rules: none, truncate, sliding window, paragraph summary, evict by noise.

Deterministic, and honest about nothing: what they lose is what is measured.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gate.lab.compaction.compactor import CompactedContext, ContextItem, ContextView, estimate_tokens

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")  # noqa: RUF001 - Chinese ends its sentences so
_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")
_MESSAGE_TOKENS = 3
# What a message costs beside its text, as `ContextItem.tokens` counts.


@dataclass(frozen=True, slots=True)
class NoCompaction:
    """Keeps everything, over the budget too."""

    name: str = "none"
    version: str = "1"

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """The context as it is."""
        return CompactedContext(items=context.items)


@dataclass(frozen=True, slots=True)
class Truncate:
    """Keeps the beginning, and cuts the first message that does not fit in the middle of its text."""

    name: str = "truncate"
    version: str = "1"

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """The oldest messages that fit."""
        kept: list[ContextItem] = []
        left = budget_tokens
        for item in context.items:
            if item.tokens > left:
                shorter = cut(item, left)
                kept += [] if shorter is None else [shorter]
                break
            kept.append(item)
            left -= item.tokens
        return CompactedContext(items=tuple(kept))


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Keeps the newest messages, whole."""

    name: str = "sliding-window"
    version: str = "1"

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """The newest messages that fit."""
        return CompactedContext(items=newest(context.items, budget_tokens))


@dataclass(frozen=True, slots=True)
class ParagraphSummary:
    """Makes one paragraph of the sentences whose words are said most often; ids and roles are lost in prose.

    The ranking by word frequency is what extractive summaries do: what is repeated stays, what is said once goes.
    """

    name: str = "paragraph-summary"
    version: str = "1"

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """The last message, and one summary before it."""
        if not context.items:
            return CompactedContext(items=())
        last = context.items[-1]
        room = budget_tokens - last.tokens - _MESSAGE_TOKENS
        text = _paragraph([s for item in context.items[:-1] for s in sentences(item.text)], room)
        summary = ContextItem(item_id=f"summary-{context.round}", kind="summary", text=text)
        kept = (last,) if not text else (summary, last)
        return CompactedContext(items=kept if last.tokens <= budget_tokens else newest((summary,), budget_tokens))


@dataclass(frozen=True, slots=True)
class EvictByNoise:
    """Evicts what was not touched lately and is small, as caches do: a flood of tool output pushes the rules out."""

    name: str = "evict-by-noise"
    version: str = "1"

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """The messages that score best, in their order."""
        weight = {"tool": 3, "user": 2, "assistant": 2}
        ranked = sorted(
            enumerate(context.items),
            key=lambda at: (-weight.get(at[1].kind, 1), -at[0]),
        )
        kept: list[tuple[int, ContextItem]] = []
        left = budget_tokens
        for position, item in ranked:
            if item.tokens <= left:
                kept.append((position, item))
                left -= item.tokens
        return CompactedContext(items=tuple(item for _, item in sorted(kept, key=lambda at: at[0])))


def newest(items: Sequence[ContextItem], budget_tokens: int) -> tuple[ContextItem, ...]:
    """The longest tail of `items` that fits."""
    first, left = len(items), budget_tokens
    while first and items[first - 1].tokens <= left:
        first -= 1
        left -= items[first].tokens
    return tuple(items[first:])


def cut(item: ContextItem, budget_tokens: int) -> ContextItem | None:
    """`item` with as much of its text as fits, None when not even a character does."""
    low, high = 0, len(item.text)
    while low < high:
        middle = (low + high + 1) // 2
        if replace(item, text=item.text[:middle]).tokens <= budget_tokens:
            low = middle
        else:
            high = middle - 1
    return replace(item, text=item.text[:low]) if low else None


def sentences(text: str) -> list[str]:
    """The sentences of an English or Chinese text, trimmed."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def _paragraph(found: list[str], budget_tokens: int) -> str:
    said = Counter(word for sentence in found for word in _words(sentence))
    once = list(dict.fromkeys(found))
    ranked = sorted(enumerate(once), key=lambda at: (-_score(at[1], said), at[0]))
    kept: list[tuple[int, str]] = []
    left = budget_tokens
    for position, sentence in ranked:
        cost = estimate_tokens(f"{sentence} ")
        if cost <= left:
            kept.append((position, sentence))
            left -= cost
    return " ".join(sentence for _, sentence in sorted(kept))


def _score(sentence: str, said: Counter[str]) -> float:
    words = _words(sentence)
    return sum(said[word] for word in words) / len(words) if words else 0.0


def _words(sentence: str) -> list[str]:
    return _WORD.findall(sentence.lower())
