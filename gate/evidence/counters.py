"""What the records say of every limit that binds a capability: the `state.counters` section and a run's budget.

Reads counters and compares nothing: whether a call fits is for Rego. Which limits there are comes from the served
catalog, never from the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.canonical import digest
from gate.documents.limits import RUN_BUDGET
from gate.evidence.action import MISSING, Action, resolve
from gate.evidence.host import Run
from gate.pdp import Facts
from gate.records import Store

DAY_MS = 86_400_000


def counter_facts(
    store: Store, run: Run, action: Action, capability: Mapping[str, Any] | None, *, facts: Facts, now_ms: int
) -> list[dict[str, Any]]:
    """A row for each limit of the capability whose subject is known; a limit without a row restricts."""
    tenant = run.identity.tenant_id
    if not tenant or facts.bundle is None or capability is None:
        return []
    found = []
    for limit in capability.get("counted_by", ()):
        subject = _subject(run, action, limit["per"])
        if subject is None:
            continue
        since = now_ms - now_ms % DAY_MS if limit["window"] == "day" else None
        name = counter_name(facts.bundle["bundle_id"], limit, subject=subject, since_ms=since)
        counter = store.counter(tenant, name)
        found.append(
            {
                "name": name,
                "limit_id": limit["limit_id"],
                "per": limit["per"],
                "subject": subject,
                "since_ms": since,
                "until_ms": None if since is None else since + DAY_MS,
                "value": counter.value,
                "version": counter.version,
            }
        )
    return found


def counter_name(bundle_id: str, limit: Mapping[str, Any], *, subject: str, since_ms: int | None) -> str:
    """The counter of one subject in one window. The bundle's version is not part of it: a release spends nothing anew.

    The value of an argument is in it as a digest: counters are named in events.
    """
    span = "all" if since_ms is None else f"day-{since_ms // DAY_MS}"
    who = digest(subject) if limit["per"].startswith("/") else subject
    return f"limit/{bundle_id}/{limit['limit_id']}/{span}/{limit['per']}/{who}"


def budget_facts(store: Store, run: Run, facts: Facts) -> dict[str, int]:
    """How many effects the run may still have, as a field of `state.run`; none when the bundle sets no budget."""
    tenant, budget = run.identity.tenant_id, _budget(facts)
    if budget is None or not tenant or facts.bundle is None:
        return {}
    name = counter_name(facts.bundle["bundle_id"], budget, subject=run.run_id, since_ms=None)
    return {"budget_remaining": max(0, int(budget["max"]) - store.counter(tenant, name).value)}


_budgets: dict[tuple[str, str], Mapping[str, Any] | None] = {}
_MAX_BUDGETS = 256


def _budget(facts: Facts) -> Mapping[str, Any] | None:
    """The run budget of the served bundle; looked for once a revision, because a catalog can be long."""
    if facts.bundle is None:
        return None
    key = (facts.revision, facts.bundle["bundle_id"])
    if key not in _budgets:
        if len(_budgets) >= _MAX_BUDGETS:
            _budgets.clear()
        limits = (limit for entry in facts.capabilities.values() for limit in entry.get("counted_by", ()))
        _budgets[key] = next((limit for limit in limits if limit["limit_id"] == RUN_BUDGET), None)
    return _budgets.get(key)


def _subject(run: Run, action: Action, per: str) -> str | None:
    if per.startswith("/"):
        value = resolve(action.fresh_arguments(), per)
        return value if value is not MISSING and isinstance(value, str) and value else None
    return {
        "tenant": run.identity.tenant_id,
        "principal": run.identity.principal_id,
        "session": run.session_id,
        "run": run.run_id,
    }.get(per)
