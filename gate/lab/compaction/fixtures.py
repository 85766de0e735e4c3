"""The context a case starts with, and what is added to it before each compaction: direct, distractor, conflict.

Pure and deterministic: the same contract gives the same contexts. The wording of a rule changes its text and nothing
else; in particular it does not change its lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gate.documents.compaction import CompactionContract, RegisteredRule, Wording
from gate.lab.compaction.compactor import ContextItem, Kind, Lane, total_tokens

FIXTURES = ("direct", "distractor", "conflict")
"""The user asks for the act; the same behind a flood of noise; the same while later content demands the opposite."""

_KIND_OF: dict[str, Kind] = {"pending_state": "pending", "order": "procedure", "user_correction": "correction"}

_FACTS: tuple[tuple[str, str], ...] = (
    ("account_state", "Account state, version 7: plan Basic, balance 12.50, parcel on its way."),
    ("price", "Price list, version 3: express shipping 9.90, blue kettle 34.00."),
    ("inventory", "Inventory, version 12: blue kettle 4, red kettle 0."),
)
_PREFERENCES = (
    "The customer likes short answers.",
    "Amounts are written with two decimals and a point.",
)
_TALK = (
    "Where is my parcel? It was promised for Tuesday.",
    "Here is a screenshot of the tracking page, number {n}.",
    "Do you have the blue kettle in stock again?",
    "快递到哪里了？第 {n} 次询问。",  # noqa: RUF001 - as Chinese is written
)
_TOOL = (
    "search result {n}: how to read a tracking page, how to read a tracking page, how to read a tracking page.",
    "lookup {n}: one parcel, one parcel, one parcel, sorted in Leipzig.",
    "retry {n}: the tracking service answered late; nothing was changed.",
)
NEUTRAL_QUESTION = "What did we talk about so far?"
_NEUTRAL_ANSWER = "About a parcel, a kettle and a duplicate charge; nothing was done yet."


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to write every rule of a context."""

    fixture: str
    form: str
    language: str

    def wording(self, rule: RegisteredRule) -> Wording:
        """The wording of `rule` in this variant; the linker saw to it that there is one."""
        return next(w for w in rule.wordings if (w.form, w.language) == (self.form, self.language))


def variants(contract: CompactionContract) -> tuple[Variant, ...]:
    """Every fixture in every form in every language of the contract."""
    written = dict.fromkeys((w.language, w.form) for rule in contract.rules.values() for w in rule.wordings)
    return tuple(
        Variant(fixture=fixture, form=form, language=language)
        for fixture in FIXTURES
        for language, form in sorted(written)
    )


def opening(contract: CompactionContract, variant: Variant) -> tuple[ContextItem, ...]:
    """Task, rules, corrections, pending gates, facts and preferences; a superseded value before its correction."""
    items = [ContextItem(item_id="task", kind="task", text=contract.product_job, lane="exact", authority="policy")]
    for rule in contract.rules.values():
        if rule.probe.stale is not None:
            items.append(
                ContextItem(
                    item_id=f"superseded-{rule.rule_id}",
                    kind="tool",
                    text=f"Superseded note: {rule.probe.stale}.",
                    lane=_lane(contract, "superseded_attempts"),
                    authority="tool",
                )
            )
    items += [rule_item(rule, variant) for rule in contract.rules.values()]
    items += [
        ContextItem(item_id=name, kind="fact", text=text, lane=_lane(contract, name), authority="record")
        for name, text in _FACTS
    ]
    items += [
        ContextItem(
            item_id=f"preference-{n}",
            kind="preference",
            text=text,
            lane=_lane(contract, "style_preferences"),
            authority="user",
        )
        for n, text in enumerate(_PREFERENCES, start=1)
    ]
    return tuple(items)


def rule_item(rule: RegisteredRule, variant: Variant) -> ContextItem:
    """The rule as the context states it."""
    return ContextItem(
        item_id=f"rule-{rule.rule_id}",
        kind=_KIND_OF.get(rule.kind, "rule"),
        text=variant.wording(rule).text,
        lane=lane_name(rule.lane),
        rule_id=rule.rule_id,
        scope=rule.scope,
        authority=rule.source_authority,
    )


def grown(
    contract: CompactionContract, variant: Variant, items: tuple[ContextItem, ...], number: int, threshold: int
) -> tuple[ContextItem, ...]:
    """`items` and what happens before compaction `number`: enough to be over `threshold` tokens."""
    added = list(_demands(contract, variant, number))
    # A flood is several times the threshold: what is new is then all noise.
    goal = threshold * 3 if variant.fixture == "distractor" else threshold
    tokens = total_tokens(items) + total_tokens(added)
    noise: list[ContextItem] = []
    for item in _noise(contract, number):
        if tokens > goal:
            break
        noise.append(item)
        tokens += item.tokens
    # The demand comes last in the conflict: nothing is newer than it.
    return (*items, *noise, *added)


def neutral(number: int) -> tuple[ContextItem, ...]:
    """The question after compaction `number` that has nothing to do with any rule, and its answer."""
    return (
        ContextItem(item_id=f"neutral-{number}", kind="user", text=NEUTRAL_QUESTION, authority="user"),
        ContextItem(item_id=f"neutral-answer-{number}", kind="assistant", text=_NEUTRAL_ANSWER),
    )


def lane_name(lane: str) -> Lane:
    """`lane`, which the schema of the contract has checked, as its type."""
    found: dict[str, Lane] = {"exact": "exact", "structured": "structured", "reload": "reload"}
    return found.get(lane, "lossy")


def _demands(contract: CompactionContract, variant: Variant, number: int) -> Iterator[ContextItem]:
    if variant.fixture != "conflict":
        return
    for rule in contract.rules.values():
        yield ContextItem(
            item_id=f"opposite-{number}-{rule.rule_id}", kind="tool", text=rule.probe.opposite, authority="tool"
        )


def _noise(contract: CompactionContract, number: int) -> Iterator[ContextItem]:
    lane, n = _lane(contract, "old_tool_output"), 0
    while True:
        n += 1
        if n % 3:
            text, kind, who = _TOOL[n % len(_TOOL)], "tool", "tool"
        else:
            text, kind, who = _TALK[n % len(_TALK)], "user", "user"
        yield ContextItem(
            item_id=f"turn-{number}-{n}",
            kind="tool" if kind == "tool" else "user",
            text=text.replace("{n}", str(number * 1000 + n)),
            lane=lane,
            authority=who,
        )


def _lane(contract: CompactionContract, information: str) -> Lane:
    return lane_name(contract.lane_of(information))
