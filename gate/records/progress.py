"""How far a run has come, as its host records it: objective, checkpoint, snapshot, budget, open work, obligations.

Inside a transaction that the caller holds. Decides nothing, and takes nothing from a summary: a host states it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from gate import canonical
from gate.errors import InputError
from gate.records import checks, runs
from gate.records.clock import now_ms
from gate.records.tables import OBLIGATIONS, RUN_PROGRESS

MAX_NAMES = 256
"""How many pieces of open work, references or open obligations one run may have."""


@dataclass(frozen=True, slots=True, order=True)
class OpenWork:
    """Something begun and not ended that a boundary may not cut in two."""

    kind: str
    """Such as multi_step_write, confirmation, access_change, correction, incident; what follows is for the policies."""
    ref: str
    """Which one, as the host names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands. Every field is what the host recorded last; None and empty when it recorded nothing."""

    objective: str = ""
    """In the host's words; kept here, and known elsewhere by its digest only."""
    checkpoint_ref: str | None = None
    sandbox_snapshot_ref: str | None = None
    budget_remaining: int | None = None
    """Whole units of whatever the host counts."""
    open_work: tuple[OpenWork, ...] = ()
    evidence_refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligations:
    """What a run still has to do, and what it has done, by name."""

    open: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


def record(tx: Connection, tenant_id: str, run_id: str, new: Progress) -> None:
    """Replaces what is recorded and says so in the event log. Raises `ConflictError` `run_unknown`, `InputError`."""
    row = _row(new)
    run = runs.locked(tx, tenant_id, run_id)
    where = (RUN_PROGRESS.c.tenant_id == tenant_id, RUN_PROGRESS.c.run_id == run_id)
    found = tx.execute(select(RUN_PROGRESS.c.version).where(*where)).scalar_one_or_none()
    row |= {"recorded_at_ms": now_ms(tx), "version": 1 if found is None else found + 1}
    if found is None:
        tx.execute(insert(RUN_PROGRESS).values(tenant_id=tenant_id, run_id=run_id, **row))
    else:
        tx.execute(update(RUN_PROGRESS).where(*where).values(**row))
    run.append(
        "progress_recorded",
        {
            "objective_sha256": canonical.digest_bytes(new.objective.encode("utf-8")),
            "checkpoint_ref": new.checkpoint_ref,
            "sandbox_snapshot_ref": new.sandbox_snapshot_ref,
            "budget_remaining": new.budget_remaining,
            "open_work": [{"kind": work.kind, "ref": work.ref} for work in new.open_work],
        },
        at_ms=row["recorded_at_ms"],
    )


def find(tx: Connection, tenant_id: str, run_id: str) -> Progress:
    """What is recorded. Raises `InputError` for a row that is not in its form."""
    query = select(RUN_PROGRESS).where(RUN_PROGRESS.c.tenant_id == tenant_id, RUN_PROGRESS.c.run_id == run_id)
    row = tx.execute(query).mappings().one_or_none()
    if row is None:
        return Progress()
    budget = row["budget_remaining"]
    return Progress(
        objective=row["objective"],
        checkpoint_ref=row["checkpoint_ref"],
        sandbox_snapshot_ref=row["sandbox_snapshot_ref"],
        budget_remaining=None if budget is None else canonical.parse(budget),
        open_work=tuple(OpenWork(**work) for work in canonical.parse(row["open_work"])),
        evidence_refs=tuple(canonical.parse(row["evidence_refs"])),
    )


def open_obligation(tx: Connection, tenant_id: str, run_id: str, obligation: str) -> None:
    """Adds an obligation, or opens it again; harmless when it is open. Raises as `record` does."""
    run = runs.locked(tx, tenant_id, run_id)
    have = obligations(tx, tenant_id, run_id)
    if obligation in have.open:
        return
    if len(have.open) >= MAX_NAMES:
        raise InputError(f"a run has at most {MAX_NAMES} open obligations", code="obligations_too_many")
    if obligation in have.closed:
        _set(tx, tenant_id, run_id, obligation, status="open", evidence_ref=None)
    else:
        row = {"tenant_id": tenant_id, "run_id": run_id, "obligation": obligation, "status": "open", "version": 1}
        tx.execute(insert(OBLIGATIONS).values(**row, opened_at_ms=now_ms(tx), evidence_ref=None))
    run.append("obligation_opened", {"obligation": obligation})


def close_obligation(tx: Connection, tenant_id: str, run_id: str, obligation: str, *, evidence_ref: str) -> None:
    """Closes an open obligation with evidence. Raises `ConflictError`: `run_unknown`, `obligation_unknown`."""
    run = runs.locked(tx, tenant_id, run_id)
    if obligation not in obligations(tx, tenant_id, run_id).open:
        raise checks.conflict("obligation_unknown", "no such obligation of the run is open", "see its obligations")
    _set(tx, tenant_id, run_id, obligation, status="closed", evidence_ref=evidence_ref)
    run.append("obligation_closed", {"obligation": obligation, "evidence_digest": canonical.digest(evidence_ref)})


def obligations(tx: Connection, tenant_id: str, run_id: str) -> Obligations:
    """The obligations the host recorded, in the order of their names."""
    query = select(OBLIGATIONS.c.obligation, OBLIGATIONS.c.status).where(
        OBLIGATIONS.c.tenant_id == tenant_id, OBLIGATIONS.c.run_id == run_id
    )
    rows = sorted((str(name), str(status)) for name, status in tx.execute(query))
    return Obligations(
        open=tuple(name for name, status in rows if status == "open"),
        closed=tuple(name for name, status in rows if status == "closed"),
    )


def _set(
    tx: Connection, tenant_id: str, run_id: str, obligation: str, *, status: str, evidence_ref: str | None
) -> None:
    tx.execute(
        update(OBLIGATIONS)
        .where(
            OBLIGATIONS.c.tenant_id == tenant_id,
            OBLIGATIONS.c.run_id == run_id,
            OBLIGATIONS.c.obligation == obligation,
        )
        .values(status=status, evidence_ref=evidence_ref, version=OBLIGATIONS.c.version + 1)
    )


def _row(new: Progress) -> dict[str, Any]:
    budget = new.budget_remaining
    return {
        "objective": checks.text("objective", new.objective),
        "checkpoint_ref": checks.optional_name("checkpoint_ref", new.checkpoint_ref),
        "sandbox_snapshot_ref": checks.optional_name("sandbox_snapshot_ref", new.sandbox_snapshot_ref),
        "budget_remaining": None if budget is None else str(checks.whole("budget_remaining", budget)),
        "open_work": checks.json_text(_open_work(new.open_work)),
        "evidence_refs": checks.json_text(_names("evidence_refs", new.evidence_refs)),
    }


def _open_work(values: Iterable[OpenWork]) -> list[dict[str, str]]:
    found = [{"kind": checks.name("kind", work.kind), "ref": checks.name("ref", work.ref)} for work in values]
    if len(found) > MAX_NAMES:
        raise InputError(f"a run has at most {MAX_NAMES} pieces of open work", code="record_field_invalid")
    return found


def _names(field: str, values: Iterable[object]) -> list[str]:
    found = [checks.name(field, value) for value in values]
    if len(found) > MAX_NAMES:
        raise InputError(f"`{field}` has more than {MAX_NAMES} names", code="record_field_invalid")
    return found
