"""What users forbade or tied to an approval: records with a compiled predicate, in the caller's transaction.

Opens no transaction, compiles nothing and decides nothing. A row whose text and digest do not agree is handed on as
not intact; what follows from that is for the policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, insert, select, update

from gate import canonical
from gate.errors import InputError
from gate.records import checks, runs
from gate.records.clock import now_ms
from gate.records.tables import CONSTRAINT_VERSIONS, USER_CONSTRAINTS

MAX_ACTIVE = 64
"""How many constraints of one principal hold at once: each is read at every call."""

MAX_BYTES = 32_768
"""Size limit of one compiled predicate in bytes."""

_SEALED = (
    *("tenant_id", "constraint_id", "principal_id", "run_id", "source_event"),
    *("action", "applies_to", "predicate", "dnf", "words", "valid_until_ms"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewConstraint:
    """A constraint as the host states it for its user."""

    constraint_id: str
    source_event: str
    """The user's message it came from, as the host names it."""
    words: str
    """What the user said; kept here and shown in a rebuilt context, read by no rule."""
    applies_to: tuple[str, ...]
    """Capabilities, or `*`."""
    action: str
    """deny or require_approval."""
    predicate: str
    dnf: Any
    """The compiled predicate, as JSON."""
    valid_until_ms: int | None = None
    """From this millisecond on it holds no longer; None until it is withdrawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintRecord:
    """One recorded constraint."""

    tenant_id: str
    constraint_id: str
    principal_id: str
    run_id: str
    """The run in which it was stated; it holds in every run of the principal."""
    source_event: str
    status: str
    """active or withdrawn."""
    action: str
    applies_to: Any
    """The JSON of the row, None when it is unreadable."""
    predicate: str
    dnf: Any
    """The JSON of the row, None when it is unreadable."""
    words: str
    digest: str
    valid_until_ms: int | None
    version: int
    intact: bool
    """The row is what was recorded, by its own digest."""


def record(tx: Connection, tenant_id: str, run_id: str, new: NewConstraint) -> ConstraintRecord:
    """Records a constraint for the principal of the run.

    Raises `ConflictError`: `run_unknown`, `run_closed`, `constraint_exists`; `InputError`: `constraints_too_many`,
    `constraint_too_large`, `record_field_invalid`.
    """
    row = _row(new)
    run = runs.locked(tx, tenant_id, run_id)
    run.require_open()
    row |= {"tenant_id": tenant_id, "run_id": run_id, "principal_id": run.row["principal_id"]}
    if find(tx, tenant_id, row["constraint_id"]) is not None:
        raise checks.conflict("constraint_exists", f"there is a constraint `{row['constraint_id']}` already")
    if len(active(tx, tenant_id, row["principal_id"])) >= MAX_ACTIVE:
        raise InputError(f"a principal has at most {MAX_ACTIVE} constraints", code="constraints_too_many")
    row |= {"digest": _digest(row), "status": "active", "version": 1, "recorded_at_ms": now_ms(tx)}
    inserted = tx.execute(insert(USER_CONSTRAINTS).values(row).returning(*USER_CONSTRAINTS.c)).mappings().one()
    _grow(tx, tenant_id, row["principal_id"])
    run.append("constraint_recorded", _event_fields(inserted), at_ms=row["recorded_at_ms"])
    return _record(inserted)


def withdraw(tx: Connection, tenant_id: str, constraint_id: str, *, withdrawn_by: str) -> ConstraintRecord:
    """Ends a constraint. Raises `ConflictError`: `constraint_unknown`, `constraint_withdrawn`."""
    found = find(tx, tenant_id, constraint_id)
    if found is None:
        raise checks.conflict("constraint_unknown", f"there is no constraint `{constraint_id}`", "check its id")
    run = runs.locked(tx, tenant_id, found.run_id)
    moved = (
        tx.execute(
            update(USER_CONSTRAINTS)
            .where(
                USER_CONSTRAINTS.c.tenant_id == tenant_id,
                USER_CONSTRAINTS.c.constraint_id == constraint_id,
                USER_CONSTRAINTS.c.status == "active",
            )
            .values(status="withdrawn", withdrawn_by=withdrawn_by, version=USER_CONSTRAINTS.c.version + 1)
            .returning(*USER_CONSTRAINTS.c)
        )
        .mappings()
        .one_or_none()
    )
    if moved is None:
        raise checks.conflict("constraint_withdrawn", f"the constraint `{constraint_id}` is withdrawn already", "")
    _grow(tx, tenant_id, found.principal_id)
    run.append("constraint_withdrawn", {**_event_fields(moved), "withdrawn_by": withdrawn_by})
    return _record(moved)


def find(tx: Connection, tenant_id: str, constraint_id: str) -> ConstraintRecord | None:
    """The constraint, withdrawn or not; None when this tenant has none of that id."""
    query = select(USER_CONSTRAINTS).where(
        USER_CONSTRAINTS.c.tenant_id == tenant_id, USER_CONSTRAINTS.c.constraint_id == constraint_id
    )
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else _record(row)


def active(tx: Connection, tenant_id: str, principal_id: str) -> tuple[ConstraintRecord, ...]:
    """The constraints of the principal that are not withdrawn, expired ones included, by id."""
    query = select(USER_CONSTRAINTS).where(
        USER_CONSTRAINTS.c.tenant_id == tenant_id,
        USER_CONSTRAINTS.c.principal_id == principal_id,
        USER_CONSTRAINTS.c.status == "active",
    )
    rows = tx.execute(query.order_by(USER_CONSTRAINTS.c.constraint_id)).mappings()
    return tuple(_record(row) for row in rows)


def version(tx: Connection, tenant_id: str, principal_id: str, *, locked: bool = False) -> int:
    """How often anything was recorded or withdrawn for the principal; 0 for one that nothing is known of.

    `locked`: nobody records for the principal until the transaction ends. The run is locked before.
    """
    query = select(CONSTRAINT_VERSIONS.c.version).where(*_of(tenant_id, principal_id))
    found = tx.execute(query.with_for_update(read=True) if locked else query).scalar_one_or_none()
    return 0 if found is None else int(found)


def _grow(tx: Connection, tenant_id: str, principal_id: str) -> None:
    """Makes every call stale that was decided, in whichever run of the principal, before the user spoke."""
    tx.execute(
        update(CONSTRAINT_VERSIONS)
        .where(*_of(tenant_id, principal_id))
        .values(version=CONSTRAINT_VERSIONS.c.version + 1)
    )


def _of(tenant_id: str, principal_id: str) -> tuple[ColumnElement[bool], ...]:
    return CONSTRAINT_VERSIONS.c.tenant_id == tenant_id, CONSTRAINT_VERSIONS.c.principal_id == principal_id


def _row(new: NewConstraint) -> dict[str, Any]:
    if new.action not in ("deny", "require_approval"):
        raise InputError("`action` is not one of deny, require_approval", code="record_field_invalid")
    if not new.applies_to:
        raise InputError("`applies_to` names no capability", code="record_field_invalid")
    dnf = checks.json_text(new.dnf) or "null"
    if len(dnf.encode("utf-8")) > MAX_BYTES:
        raise InputError(f"the predicate compiles to over {MAX_BYTES} bytes", code="constraint_too_large")
    until = new.valid_until_ms
    return {
        "constraint_id": checks.name("constraint_id", new.constraint_id),
        "source_event": checks.name("source_event", new.source_event),
        "words": checks.text("words", new.words),
        "action": new.action,
        "applies_to": checks.json_text([checks.name("applies_to", each) for each in new.applies_to]),
        "predicate": checks.text("predicate", new.predicate),
        "dnf": dnf,
        "valid_until_ms": 0 if until is None else checks.whole("valid_until_ms", until, low=1),
    }


def _digest(row: Mapping[Any, Any]) -> str:
    return canonical.digest({"domain": "gate-user-constraint/v1", **{field: row[field] for field in _SEALED}})


def _event_fields(row: Mapping[Any, Any]) -> dict[str, Any]:
    names = ("constraint_id", "principal_id", "source_event", "action", "digest", "status")
    return {name: row[name] for name in names}


def _record(row: RowMapping) -> ConstraintRecord:
    fields = {name: row[name] for name in ConstraintRecord.__dataclass_fields__ if name in row}
    return ConstraintRecord(
        **{
            **fields,
            "applies_to": _json(row["applies_to"]),
            "dnf": _json(row["dnf"]),
            "valid_until_ms": row["valid_until_ms"] or None,
            "intact": _intact(row),
        }
    )


def _intact(row: RowMapping) -> bool:
    try:
        return _digest(row) == str(row["digest"])
    except InputError:
        return False


def _json(text: str) -> Any:
    try:
        return canonical.parse(text)
    except (InputError, AttributeError):
        return None
