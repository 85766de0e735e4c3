"""What limits and run budgets must say of the catalog: that what they count is there in every call they bind.

Pure. Every problem at once, at the limit, with the place it refers to in the hint. Repairs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gate.compiler.link_approvals import demanded
from gate.compiler.positions import CATALOG, POLICY, at
from gate.documents import Bundle, Capability, tokens_of
from gate.documents import pointer_of as pointer
from gate.documents.limits import PER, RUN_BUDGET, Limit
from gate.errors import Problem


def claims(bundle: Bundle, name: str) -> bool:
    """The capability claims an effect: the only place where something can be counted."""
    capability, entry = bundle.capabilities[name], bundle.policy.capabilities.get(name)
    harmless = (capability.mode, capability.side_effect, capability.approval) == ("read", "none", "none")
    free = entry is not None and entry.decision != "approval_required" and capability.risk_tier != "critical"
    return not (harmless and free and not demanded(bundle, name))


def link_limits(bundle: Bundle) -> Iterator[Problem]:
    """Every disagreement of limits with the rest of the bundle."""
    policy = bundle.documents[POLICY]
    seen = Counter([RUN_BUDGET])
    for index, limit in enumerate(bundle.policy.limits):
        here = ("policy", "limits", index)
        seen[limit.limit_id] += 1
        if seen[limit.limit_id] > 1:
            yield policy.problem(
                pointer(*here, "limit_id"),
                "limit_repeated",
                f"`{limit.limit_id}` is the id of another limit, and both would be counted as one",
                "give each limit an id of its own; run_budget is taken",
            )
        for number, name in enumerate(limit.applies_to):
            place = (*here, "applies_to", number)
            if name not in bundle.capabilities:
                yield policy.problem(
                    pointer(*place),
                    "capability_unknown",
                    f"`{name}` is not in the catalog",
                    f"see {at(bundle.documents[CATALOG], 'capabilities', key=True)}",
                )
            elif not claims(bundle, name):
                yield policy.problem(
                    pointer(*place),
                    "limit_counts_nothing",
                    f"`{name}` only reads and claims no effect, so it would never be counted",
                    "limit capabilities that write, or that need an approval",
                )
            else:
                yield from _arguments(bundle, here, limit, bundle.capabilities[name])


def _arguments(bundle: Bundle, here: tuple[str | int, ...], limit: Limit, capability: Capability) -> Iterator[Problem]:
    wanted = [("amount", limit.amount, "integer")] if isinstance(limit.amount, str) else []
    wanted += [("per", limit.per, "string")] if limit.per not in PER else []
    for field, place, kind in wanted:
        found = _required(capability, place)
        if found is None or found.get("type") != kind:
            yield bundle.documents[POLICY].problem(
                pointer(*here, field),
                "limit_argument_unfit",
                f"`{place}` is not an argument of type {kind} that every call of `{capability.name}` has",
                f"declare it as {kind} and required at "
                f"{at(bundle.documents[CATALOG], 'capabilities', capability.name, 'arguments')}",
            )
        elif kind == "integer" and found.get("minimum", 0) < 1:
            yield bundle.documents[POLICY].problem(
                pointer(*here, field),
                "limit_amount_not_positive",
                f"`{place}` of `{capability.name}` may be zero or less, which would spend nothing or give back",
                f"give it a minimum of at least 1 at "
                f"{at(bundle.documents[CATALOG], 'capabilities', capability.name, 'arguments')}",
            )


def _required(capability: Capability, place: str) -> dict[str, Any] | None:
    """The schema of an argument that no valid call can leave out; None for any other."""
    node: Any = capability.arguments
    for name in tokens_of(place):
        if name not in node.get("required", ()) or name not in node.get("properties", {}):
            return None
        node = node["properties"][name]
    return dict(node)
