"""Limit counters: counted in the transaction that claims an effect, given back when the effect did not happen.

Opens no transaction and sets no limit: a limit comes with the decision, and is compared here once more with what
is spent by now.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, RowMapping, insert, select, update

from gate import canonical
from gate.errors import InputError
from gate.records import checks
from gate.records.keys import EffectKey
from gate.records.model import CounterRecord, CounterUse
from gate.records.statements import InsertNew
from gate.records.tables import COUNTER_USES, COUNTERS

MAX_USES = 32
"""Most counters that one claim can use."""

_INSERT = InsertNew(COUNTERS)


def checked(uses: tuple[CounterUse, ...]) -> tuple[CounterUse, ...]:
    """The uses in the order in which counters are locked. Raises `InputError`."""
    if type(uses) is not tuple or len(uses) > MAX_USES or not all(isinstance(use, CounterUse) for use in uses):
        raise InputError(f"`counters` is not a tuple of at most {MAX_USES} uses", code="record_field_invalid")
    for use in uses:
        checks.name("counter", use.name)
        checks.whole("amount", use.amount, low=1)
        checks.whole("limit", use.limit)
        checks.whole("read", use.read)
    if len({use.name for use in uses}) != len(uses):
        raise InputError("a claim uses the same counter twice", code="record_field_invalid")
    return tuple(sorted(uses, key=lambda use: use.name))


def find(tx: Connection, tenant_id: str, name: str) -> CounterRecord:
    """The counter; at 0 and version 0 when nothing was counted on it yet."""
    query = select(COUNTERS).where(COUNTERS.c.tenant_id == tenant_id, COUNTERS.c.name == name)
    row = tx.execute(query).mappings().one_or_none()
    value, version = (0, 0) if row is None else (row["value"], row["version"])
    return CounterRecord(tenant_id=tenant_id, name=name, value=value, version=version)


def spend(tx: Connection, key: EffectKey, attempt: int, uses: tuple[CounterUse, ...], now: int) -> dict[str, Any]:
    """Counts every use or none; what the event says about it.

    Raises `ConflictError`: `counter_changed` when the value is not the one the decision read,
    `counter_exceeded` when the limit would be passed.
    """
    for use in uses:
        row = _locked(tx, key.tenant_id, use.name, now)
        if row["value"] != use.read:
            raise checks.conflict("counter_changed", f"the counter `{use.name}` was changed after the decision")
        if row["value"] + use.amount > use.limit:
            raise checks.conflict("counter_exceeded", f"the limit of `{use.name}` would be passed", "ask for less")
        _add(tx, key.tenant_id, use.name, use.amount, now)
        tx.execute(
            insert(COUNTER_USES).values(
                tenant_id=key.tenant_id,
                principal_id=key.principal_id,
                capability=key.capability,
                business_key=key.business_key,
                attempt=attempt,
                name=use.name,
                status="held",
                amount=use.amount,
                counted_at_ms=now,
            )
        )
    return _said("counters", [(use.name, use.amount) for use in uses])


def give_back(tx: Connection, key: EffectKey, attempt: int, now: int) -> dict[str, Any]:
    """Gives back what this attempt still holds, once; what the event says about it."""
    returned = tx.execute(
        update(COUNTER_USES)
        .where(
            COUNTER_USES.c.tenant_id == key.tenant_id,
            COUNTER_USES.c.principal_id == key.principal_id,
            COUNTER_USES.c.capability == key.capability,
            COUNTER_USES.c.business_key == key.business_key,
            COUNTER_USES.c.attempt == attempt,
            COUNTER_USES.c.status == "held",
        )
        .values(status="returned")
        .returning(COUNTER_USES.c.name, COUNTER_USES.c.amount)
    )
    # By name, as they were locked when they were counted.
    uses = sorted((str(name), int(amount)) for name, amount in returned)
    for name, amount in uses:
        _add(tx, key.tenant_id, name, -amount, now)
    return _said("counters_returned", uses)


def _locked(tx: Connection, tenant_id: str, name: str, now: int) -> RowMapping:
    query = select(COUNTERS).where(COUNTERS.c.tenant_id == tenant_id, COUNTERS.c.name == name).with_for_update()
    row = tx.execute(query).mappings().one_or_none()
    if row is None:
        new = {"tenant_id": tenant_id, "name": name, "value": 0, "version": 1, "updated_at_ms": now}
        row = _INSERT(tx, new) or tx.execute(query).mappings().one_or_none()
    if row is None:
        raise checks.contended()
    return row


def _add(tx: Connection, tenant_id: str, name: str, amount: int, now: int) -> None:
    tx.execute(
        update(COUNTERS)
        .where(COUNTERS.c.tenant_id == tenant_id, COUNTERS.c.name == name)
        .values(value=COUNTERS.c.value + amount, version=COUNTERS.c.version + 1, updated_at_ms=now)
    )


def _said(field: str, uses: list[tuple[str, int]]) -> dict[str, Any]:
    # An amount is an argument of the call, and events hold none: only the digest.
    named = [{"name": name, "use_digest": canonical.digest({"name": name, "amount": n})} for name, n in uses]
    return {field: named} if named else {}
