"""Reviewers' keys that are known to be compromised, inside a transaction that the caller holds.

Opens no transaction and decides nothing: what a vote under such a key is worth is decided in Rego. A key that was
denied is never allowed again; a reviewer gets a new one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, or_, select

from gate.records import checks
from gate.records.clock import now_ms
from gate.records.model import DeniedKey
from gate.records.statements import InsertNew
from gate.records.tables import DENIED_KEYS

_INSERT = InsertNew(DENIED_KEYS)


def deny(
    tx: Connection, tenant_id: str, key_id: str, *, public_key: str | None, reason: str, denied_by: str
) -> DeniedKey:
    """Puts the key on the denylist; the first entry stands when it is there already."""
    row: dict[str, Any] = {
        "tenant_id": checks.name("tenant_id", tenant_id),
        "key_id": checks.name("key_id", key_id),
        "public_key": checks.optional_name("public_key", public_key),
        "reason": checks.name("reason", reason),
        "denied_by": checks.name("denied_by", denied_by),
        "denied_at_ms": now_ms(tx),
    }
    _INSERT(tx, row)
    return next(key for key in all_of(tx, tenant_id) if key.key_id == key_id)


def all_of(tx: Connection, tenant_id: str) -> list[DeniedKey]:
    """The tenant's denied keys by id."""
    query = select(DENIED_KEYS).where(DENIED_KEYS.c.tenant_id == tenant_id).order_by(DENIED_KEYS.c.key_id)
    return [DeniedKey(**row) for row in tx.execute(query).mappings()]


def among(tx: Connection, tenant_id: str, key_ids: Iterable[str], public_keys: Iterable[str]) -> list[DeniedKey]:
    """Those denied keys whose id or whose very key is among the given ones."""
    query = select(DENIED_KEYS).where(
        DENIED_KEYS.c.tenant_id == tenant_id,
        or_(DENIED_KEYS.c.key_id.in_(sorted(set(key_ids))), DENIED_KEYS.c.public_key.in_(sorted(set(public_keys)))),
    )
    return [DeniedKey(**row) for row in tx.execute(query).mappings()]
