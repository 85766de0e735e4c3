"""Limits and run budgets as rules: for each capability that spends one, an entry with what the call would spend.

Pure. Counts nothing: `gate.effect.limit` compares what the records have with what is asked, and the store counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gate.compiler.link_limits import claims
from gate.compiler.model import EntryRule, Equals, Item, Member, OperandRule
from gate.compiler.positions import POLICY
from gate.documents import Bundle, tokens_of
from gate.documents import pointer_of as pointer
from gate.documents.limits import RUN_BUDGET, Limit

_SUBJECTS = {
    "tenant": ("identity", "tenant_id"),
    "principal": ("identity", "principal_id"),
    "session": ("trace", "session_id"),
    "run": ("trace", "run_id"),
}


def limits_of(bundle: Bundle) -> tuple[tuple[Limit, str], ...]:
    """Every limit with its source; the run budget is one more, of all capabilities that claim an effect."""
    found = [(limit, f"{POLICY}#{pointer('policy', 'limits', i)}") for i, limit in enumerate(bundle.policy.limits)]
    if bundle.policy.run_budget is not None:
        budget = Limit(
            limit_id=RUN_BUDGET,
            applies_to=tuple(name for name in bundle.capabilities if claims(bundle, name)),
            amount=1,
            per="run",
            window="none",
            max=bundle.policy.run_budget,
        )
        found.append((budget, f"{POLICY}#{pointer('policy', 'run_budget')}"))
    return tuple(found)


def counted_by(bundle: Bundle, name: str) -> dict[str, Any]:
    """What the gate must read before it can ask about the capability, as a field of its catalog entry."""
    counted = [
        {"limit_id": limit.limit_id, "per": limit.per, "window": limit.window, "max": limit.max}
        for limit, _ in limits_of(bundle)
        if name in limit.applies_to
    ]
    # Only when there is something: a bundle without limits compiles to what it was.
    return {"counted_by": counted} if counted else {}


def lower_limits(bundle: Bundle) -> Iterator[Item]:
    """The rules of every limit, in YAML's order."""
    for number, (limit, source) in enumerate(limits_of(bundle)):
        subject = _SUBJECTS.get(limit.per, ("request", "arguments", *tokens_of(limit.per)))
        yield OperandRule(f"limit_{number}_subject", "input", subject)
        if isinstance(limit.amount, str):
            yield OperandRule(f"limit_{number}_amount", "input", ("request", "arguments", *tokens_of(limit.amount)))
        for name in limit.applies_to:
            yield EntryRule(
                name="limits",
                title=f"{limit.limit_id} on {name}",
                source=source,
                fields=(
                    ("limit_id", limit.limit_id),
                    ("per", limit.per),
                    ("window", limit.window),
                    ("max", limit.max),
                    ("subject", Member(rule=f"limit_{number}_subject")),
                    ("amount", Member(rule=f"limit_{number}_amount") if isinstance(limit.amount, str) else 1),
                ),
                conditions=(Equals(("request", "capability"), name),),
            )
