"""Sections of a bundle's page: how much may be spent, and which rules outlive every rewrite of a context.

Made from the documents; decides nothing and writes no file.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.compiler import Compiled
from gate.documents import pointer_of
from gate.documents.limits import Limit
from gate.release.page import Block, Cell, Code, Heading, Paragraph, Table

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def place(compiled: Compiled, file: str, *tokens: str | int) -> Code:
    """Where something stands in the YAML, as `file:line`."""
    line, _ = compiled.bundle.documents[file].position(pointer_of(*tokens), key=True)
    return Code(f"{file}:{line}")


def duration(seconds: int) -> str:
    """A time as people say it, in the largest unit that leaves no rest."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return f"{seconds // size} {unit}{'' if seconds // size == 1 else 's'}"


def bounds(compiled: Compiled) -> Iterator[Block]:
    """What may be spent in all; nothing when the policy sets no limit and no budget."""
    policy = compiled.bundle.policy
    rows: list[tuple[Cell, ...]] = [
        (
            Code(limit.limit_id),
            tuple(Code(name) for name in limit.applies_to),
            f"at most {limit.max}",
            "effects" if limit.amount == 1 else ("of", Code(str(limit.amount)), "in whole minor units"),
            _counted_for(limit),
            place(compiled, "policy.yaml", "policy", "limits", index),
        )
        for index, limit in enumerate(policy.limits)
    ]
    if policy.run_budget is not None:
        where = place(compiled, "policy.yaml", "policy", "run_budget")
        writes = "everything that has an effect"
        rows.append((Code("run_budget"), writes, f"at most {policy.run_budget}", "effects", "each run", where))
    if rows:
        yield Heading(2, "How much may be spent")
        yield Table(("limit", "by", "how much", "of what", "counted for", "where"), tuple(rows))
        yield Paragraph("Reaching a limit is permitted, passing it is not. It is counted when an effect is claimed.")


def _counted_for(limit: Limit) -> Cell:
    whom: tuple[str | Code, ...] = (
        ("each value of", Code(limit.per)) if limit.per.startswith("/") else (f"each {limit.per}",)
    )
    return (*whom, "on a UTC day" if limit.window == "day" else "for ever")


def lasting(compiled: Compiled) -> Iterator[Block]:
    """Which rules a rewritten context must still state; nothing when the bundle has no contract about it."""
    bundle = compiled.bundle
    contract = bundle.compaction
    if contract is None:
        return
    yield Heading(2, "What outlives a compaction")
    measured = "A record of what was measured is listed; Rego judges it at every compaction that is asked for."
    unmeasured = "Nothing was measured yet: a compaction that is asked for is refused."
    yield Paragraph(
        (
            "Before any call after a boundary the model's input must state each required rule, word for word.",
            measured if bundle.compaction_record is not None else unmeasured,
            "Answered for by",
            Code(contract.owner),
            ".",
        )
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Code(rule.rule_id),
            "required" if rule.rule_id in contract.required_rule_ids else "kept",
            tuple(Code(name) for name in rule.scope),
            next((wording.text for wording in rule.wordings), ""),
            place(compiled, "compaction.yaml", "compaction_release", "rules", rule.rule_id),
        )
        for rule in contract.rules.values()
    )
    yield Table(("rule", "is", "for", "says", "where"), rows)
    states: tuple[str | Code, ...] = tuple(Code(state) for state in contract.forbidden_states)
    yield Paragraph(("No compaction in these states:", *states))
