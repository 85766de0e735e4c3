"""Reviewers' keys that are known to be compromised, inside a transaction that the caller holds.

Opens no transaction and decides nothing: what a vote under such a key is worth is decided in Rego. A key that was
denied is never allowed again; a reviewer gets a new one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from gate.records import checks
from gate.records.clock import now_ms
from gate.records.model import DeniedKey, StoredVote
from gate.records.statements import InsertNew
from gate.records.tables import DENIED_KEYS
from gate.records.votes import peek_key_id, verify

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


def signed_any(tx: Connection, tenant_id: str, votes: Iterable[StoredVote]) -> bool:
    """True when a denied key signed one of `votes`: under the key's own id, or as the very key under any other.

    Which key signed is found by trying the denied ones, so that no list of keys has to be at hand, or believed.
    """
    return any(signed(vote, key) for key in all_of(tx, tenant_id) for vote in votes)


def signed(vote: StoredVote, key: DeniedKey) -> bool:
    """True when the vote claims the key's id, or its signature holds under the very key."""
    if peek_key_id(vote) == key.key_id:
        return True
    return key.public_key is not None and verify(vote, key.public_key) is not None
