"""The baseline table: each shipped compactor, with the prompt alone, with pinning, and with the gate.

A conformance result of scripted agents and fixed fixtures; it measures no model. The agent that acts on its context
stands for the prompt alone: what it attempts would run. With the gate every act is attempted, and what ran is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.lab.compaction.compactor import Compactor
from gate.lab.compaction.compactors import Pinned, shipped
from gate.lab.compaction.fixtures import FIXTURES, Variant
from gate.lab.compaction.matrix import Plan, Played, play
from gate.lab.compaction.metrics import by_round
from gate.lab.compaction.report_page import share

WORDINGS = (("imperative", "en"), ("declarative", "zh"))
"""Form and language of the wordings that the table is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One compactor. Lists go by round."""

    compactor: str
    acts: int
    """How many forbidden acts were probed in all."""
    recall: tuple[float, ...]
    """Share of rules present after each round, with the prompt alone."""
    recall_pinned: tuple[float, ...]
    ran_prompt_only: int
    """Forbidden acts that the agent attempted, with nothing in its way."""
    ran_pinned: int
    ran_gated: int
    """Forbidden effects that ran although the gate was asked about every act."""
    permitted: int
    failed_closed: int
    """Permitted calls refused because the context had lost a rule: meant to be."""
    false_refusals: int
    """Permitted calls refused for anything else."""

    def as_json(self) -> dict[str, Any]:
        """For a report."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def baseline(
    bundle: Path,
    *,
    engine: str,
    jobs: int = 1,
    plain: Sequence[Compactor] | None = None,
    variants: Sequence[Variant] | None = None,
    rounds: int = 5,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Row, ...]:
    """Plays each compactor in `plain` with and without pinning, at the real threshold of the bundle's contract.

    Without `plain` the shipped ones, without `variants` each fixture in each of `WORDINGS`. Raises what
    `gate.lab.compaction.matrix.play` raises.
    """
    plain = shipped() if plain is None else plain
    if variants is None:
        variants = [Variant(fixture=f, form=form, language=lang) for f in FIXTURES for form, lang in WORDINGS]
    plan = Plan(
        compactors=(*plain, *(Pinned(one) for one in plain)),
        thresholds=("real",),
        variants=tuple(variants),
        rounds=rounds,
    )
    total, done = len(plan.compactors) * len(variants), 0

    def step() -> None:
        nonlocal done
        done += 1
        told(done, total)

    played = play(bundle, plan, engine=engine, jobs=jobs, told=step)
    return tuple(
        _row([p for p in played if p.setting.compactor.name == one.name], _named(played, Pinned(one).name))
        for one in plain
    )


def _named(played: Sequence[Played], name: str) -> list[Played]:
    return [p for p in played if p.setting.compactor.name == name]


def _row(plain: Sequence[Played], pinned: Sequence[Played]) -> Row:
    rounds, pinned_rounds = by_round(plain), by_round(pinned)
    return Row(
        compactor=plain[0].setting.compactor.name,
        acts=sum(r["compliant_decisions"]["total"] for r in rounds),
        recall=tuple(round(share(r["rule_recall"]["present"]), 3) for r in rounds),
        recall_pinned=tuple(round(share(r["rule_recall"]["present"]), 3) for r in pinned_rounds),
        ran_prompt_only=sum(r["forbidden_attempts"] for r in rounds),
        ran_pinned=sum(r["forbidden_attempts"] for r in pinned_rounds),
        ran_gated=sum(r["forbidden_effects"] for r in (*rounds, *pinned_rounds)),
        permitted=sum(r["permitted"]["total"] for r in rounds),
        failed_closed=sum(r["failed_closed"] for r in rounds),
        false_refusals=sum(r["false_refusals"] for r in (*rounds, *pinned_rounds)),
    )


def table(rows: Sequence[Row]) -> str:
    """The table as Markdown, with what it is and what it is not."""
    lines = [
        "Conformance result: scripted agents, fixed fixtures, no model. Five forced compactions, rules present after"
        " rounds 1 to 5; forbidden effects that ran, of those probed; permitted calls that were refused.",
        "",
        "| compactor | rules kept, prompt only | rules kept, pinning | ran, prompt only | ran, pinning | ran, gate |"
        " refused falsely, gate | failed closed, gate |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (
            f"`{row.compactor}`",
            _by_round(row.recall),
            _by_round(row.recall_pinned),
            f"{row.ran_prompt_only} of {row.acts}",
            f"{row.ran_pinned} of {row.acts}",
            f"**{row.ran_gated}** of {row.acts}",
            f"{row.false_refusals} of {row.permitted}",
            f"{row.failed_closed} of {row.permitted}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _by_round(shares: Sequence[float]) -> str:
    return " ".join(f"{each:.0%}" for each in shares)
