"""Walks the hash chains of runs, and compares what the log says with what the tables say.

Changes nothing. Without a signed head (`gate.records.heads`) a chain shows an edit, not an editor who recomputed
every later hash and the head, nor a tail that was cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, literal, select, tuple_, union

from gate import canonical
from gate.errors import InputError, StoreError
from gate.records import marks, runs
from gate.records.statuses import EffectStatus
from gate.records.tables import APPROVALS, COUNTER_USES, COUNTERS, EFFECTS, EVENTS, RUNS

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainState:
    """What the walk of one run's chain found."""

    tenant_id: str
    run_id: str
    events: int
    """How many events hold, from the first one on."""
    broken_at: int | None = None
    """Number of the first event that does not hold; None when all do."""
    differs: tuple[str, ...] = ()
    """Records that are not what the last event about them says: `effect CAPABILITY STATUS`, `approval ID STATUS`."""

    @property
    def sound(self) -> bool:
        """True when the chain holds and the records agree with it."""
        return self.broken_at is None and not self.differs


def verify(tx: Connection, tenant_id: str, run_id: str) -> int:
    """The number of events of a run whose chain holds from the first event to the recorded head.

    Raises `StoreError`: `event_chain_broken` naming the first seq that does not hold, `run_unknown`.
    """
    state = inspect(tx, tenant_id, run_id)
    if state.broken_at is not None:
        raise runs.broken(run_id, state.broken_at)
    return state.events


def inspect(tx: Connection, tenant_id: str, run_id: str) -> ChainState:
    """What a walk of the run's chain finds. Raises `StoreError` `run_unknown`."""
    head = runs.head(tx, tenant_id, run_id)
    length = 0 if head is None else int(head["head_seq"])
    count, broken_at, prev_hash = 0, None, runs.GENESIS
    said: dict[tuple[str, ...], str] = {}
    for seq, row in enumerate(runs.event_rows(tx, tenant_id, run_id), start=1):
        payload = None if seq > length else _payload(row, seq, prev_hash)
        if payload is None:
            broken_at = seq
            break
        count, prev_hash = seq, row["hash"]
        _note(said, row["event_type"], payload)
    if head is None and count == 0 and broken_at is None:
        raise StoreError(f"there is no run `{run_id}`", code="run_unknown", hint="check the run and tenant ids")
    if broken_at is None and count != length:
        broken_at = count + 1
    elif broken_at is None and head is not None and head["head_hash"] != prev_hash:
        broken_at = max(length, 1)
    differs = () if broken_at is not None else tuple(_differences(tx, tenant_id, run_id, said))
    return ChainState(tenant_id=tenant_id, run_id=run_id, events=count, broken_at=broken_at, differs=differs)


def holds(tx: Connection, tenant_id: str, run_id: str) -> bool:
    """Whether the chain holds from the first event to the recorded head; False without a run.

    Walks from the last mark that vouches for everything before it, else the whole chain, as `lineage` does.
    """
    head = runs.head(tx, tenant_id, run_id)
    if head is None:
        return False
    vouched = marks.vouched(tx, tenant_id, run_id, first_seq=1, last_seq=head["head_seq"])
    start, found = vouched or (1, marks.GENESIS)
    seq = start - 1
    for held in marks.walk(tx, tenant_id, run_id, first_seq=start, prev_hash=found):
        seq, found = held
    return (seq, found) == (head["head_seq"], head["head_hash"])


def lineage(
    tx: Connection, tenant_id: str, run_id: str, *, first_seq: int, last_seq: int, head_hash: str
) -> tuple[bool, tuple[dict[str, object], ...]]:
    """Whether the chain still links events `first_seq` to `last_seq` and all that came after them, and what came after.

    Walks from the last mark that vouches for what is before it, so it costs the same over any range; over the whole
    range when there is none, or when the database noted that an event of it was changed. The payloads are those of the
    events past `last_seq`, each with its `event_type`; empty when the chain does not hold.
    """
    head = runs.head(tx, tenant_id, run_id)
    before = marks.GENESIS if first_seq == 1 else hash_at(tx, tenant_id, run_id, first_seq - 1)
    if head is None or before is None:
        return False, ()
    vouched = marks.vouched(tx, tenant_id, run_id, first_seq=first_seq, last_seq=last_seq)
    start, followed = vouched or (first_seq, before)
    seq, found = start - 1, followed
    for held in marks.walk(tx, tenant_id, run_id, first_seq=start, prev_hash=followed):
        seq, found = held
        if seq == last_seq and found != head_hash:
            return False, ()
    if seq < last_seq or (seq, found) != (head["head_seq"], head["head_hash"]):
        return False, ()
    rows = runs.event_rows(tx, tenant_id, run_id, from_seq=last_seq + 1)
    return True, tuple({**canonical.parse(row["payload"]), "event_type": row["event_type"]} for row in rows)


def tail_holds(tx: Connection, tenant_id: str, run_id: str, *, length: int = 8) -> bool:
    """Whether the last `length` events hold and end in the recorded head; reads no more than those."""
    head = runs.head(tx, tenant_id, run_id)
    if head is None:
        return False
    first = max(1, int(head["head_seq"]) - length + 1)
    before = runs.GENESIS if first == 1 else hash_at(tx, tenant_id, run_id, first - 1)
    seq, prev_hash = first, before
    for row in runs.event_rows(tx, tenant_id, run_id, from_seq=first):
        if prev_hash is None or _payload(row, seq, prev_hash) is None:
            return False
        seq, prev_hash = seq + 1, row["hash"]
    return bool(seq - 1 == head["head_seq"] and prev_hash == head["head_hash"])


def hash_at(tx: Connection, tenant_id: str, run_id: str, seq: int) -> str | None:
    """The stored hash of one event, or None when there is none of that number."""
    query = select(EVENTS.c.hash).where(EVENTS.c.tenant_id == tenant_id, EVENTS.c.run_id == run_id, EVENTS.c.seq == seq)
    found = tx.execute(query).scalar_one_or_none()
    return None if found is None else str(found)


def each(tx: Connection, tenant_id: str | None, *, after: tuple[str, str] = ("", "")) -> list[tuple[str, str]]:
    """The next page of (tenant, run) after `after` in order, of one tenant or of all; lost runs with events too."""
    known = []
    for table in (RUNS, EVENTS):
        query = select(table.c.tenant_id, table.c.run_id).distinct().order_by(table.c.tenant_id, table.c.run_id)
        query = query.where(tuple_(table.c.tenant_id, table.c.run_id) > tuple_(literal(after[0]), literal(after[1])))
        if tenant_id is not None:
            query = query.where(table.c.tenant_id == tenant_id)
        known.append(query.limit(_PAGE).subquery())
    both = union(*(select(part.c.tenant_id, part.c.run_id) for part in known)).subquery()
    page = select(both.c.tenant_id, both.c.run_id).order_by(both.c.tenant_id, both.c.run_id).limit(_PAGE)
    return [(tenant, run) for tenant, run in tx.execute(page)]


def wrong_counters(tx: Connection, tenant_id: str | None) -> list[tuple[str, str]]:
    """(tenant, name) of every counter whose value is not the sum of what effects hold of it."""
    held = (
        select(func.coalesce(func.sum(COUNTER_USES.c.amount), 0))
        .where(
            COUNTER_USES.c.tenant_id == COUNTERS.c.tenant_id,
            COUNTER_USES.c.name == COUNTERS.c.name,
            COUNTER_USES.c.status == "held",
        )
        .scalar_subquery()
    )
    query = select(COUNTERS.c.tenant_id, COUNTERS.c.name).where(COUNTERS.c.value != held)
    if tenant_id is not None:
        query = query.where(COUNTERS.c.tenant_id == tenant_id)
    return [(tenant, name) for tenant, name in tx.execute(query.order_by(COUNTERS.c.tenant_id, COUNTERS.c.name))]


def payload_of(row: Mapping[Any, Any]) -> dict[str, object] | None:
    """The payload of one event, when its hash is that of its own fields; whether it is linked is not looked at."""
    return _payload(row, row["seq"], row["prev_hash"])


def _payload(row: Mapping[Any, Any], seq: int, prev_hash: str) -> dict[str, object] | None:
    if row["seq"] != seq or row["prev_hash"] != prev_hash:
        return None
    try:
        payload = canonical.parse(row["payload"])
        if type(payload) is not dict or canonical.canonical_bytes(payload).decode("utf-8") != row["payload"]:
            return None
        link = {k: row[k] for k in ("tenant_id", "run_id", "seq", "prev_hash", "event_type", "at_ms")}
        return payload if canonical.digest({**link, "payload": payload}) == row["hash"] else None
    except (InputError, AttributeError):
        return None


def _note(said: dict[tuple[str, ...], str], event_type: str, payload: dict[str, object]) -> None:
    """Remembers the last status that the log gives to each effect and approval."""
    if event_type.startswith("effect_") and "business_key_digest" in payload:
        key: tuple[str, ...] = (
            "effect",
            *(str(payload.get(k)) for k in ("principal_id", "capability", "business_key_digest")),
        )
        said[key] = str(payload.get("status"))
    elif event_type.startswith("approval_") and "approval_id" in payload:
        said["approval", str(payload["approval_id"])] = str(payload.get("to", payload.get("status")))


def _differences(tx: Connection, tenant_id: str, run_id: str, said: dict[tuple[str, ...], str]) -> Iterator[str]:
    effects = select(EFFECTS.c.principal_id, EFFECTS.c.capability, EFFECTS.c.business_key, EFFECTS.c.status).where(
        EFFECTS.c.tenant_id == tenant_id, EFFECTS.c.run_id == run_id
    )
    unseen = {key for key in said if key[0] == "effect"}
    for principal, capability, business_key, status in tx.execute(effects):
        found = ("effect", principal, capability, canonical.digest(business_key))
        unseen.discard(found)
        if said.get(found) != status:
            yield f"effect {capability} {status}"
    for key in sorted(unseen - _elsewhere(tx, tenant_id, unseen)):
        yield f"effect {key[2]} {EffectStatus.NOT_STARTED}"
    approvals = select(APPROVALS.c.approval_id, APPROVALS.c.status).where(
        APPROVALS.c.tenant_id == tenant_id, APPROVALS.c.run_id == run_id
    )
    unasked = {key for key in said if key[0] == "approval"}
    for approval_id, status in tx.execute(approvals):
        unasked.discard(("approval", approval_id))
        if said.get(("approval", approval_id)) != status:
            yield f"approval {approval_id} {status}"
    for _, approval_id in sorted(unasked):
        yield f"approval {approval_id} lost"


def _elsewhere(tx: Connection, tenant_id: str, keys: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Those of the effects that a later run has claimed; a row that is simply gone could be claimed again."""
    found: set[tuple[str, ...]] = set()
    for principal, capability in {(key[1], key[2]) for key in keys}:
        query = select(EFFECTS.c.business_key).where(
            EFFECTS.c.tenant_id == tenant_id, EFFECTS.c.principal_id == principal, EFFECTS.c.capability == capability
        )
        rows = tx.execute(query, execution_options={"yield_per": 1000}).scalars()
        found |= {("effect", principal, capability, canonical.digest(business_key)) for business_key in rows} & keys
    return found
