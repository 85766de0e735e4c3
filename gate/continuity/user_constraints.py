"""User constraints: recorded when a host hears its user state one, with a predicate that is enforced at every call.

Only a host records or withdraws one; nothing is ever read out of a model's text. Whether a call meets a constraint is
decided in Rego.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gate.compiler.constraint import compile_constraint
from gate.continuity.desk import Desk
from gate.errors import InputError
from gate.evidence import Run, require_text
from gate.records import ConstraintRecord, NewConstraint

ANY = ("*",)
"""Applies to every capability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConstraint:
    """What a user forbade or wants to approve, as the host understood it."""

    words: str
    """What the user said."""
    predicate: str
    """When it bites, in the predicate language of the bundle: `arguments.amount > 100`."""
    source_event: str
    """The user's message, as the host names it."""
    applies_to: Sequence[str] = ANY
    action: str = "deny"
    """deny or require_approval."""
    valid_until: datetime | None = None
    """With a time zone; None until it is withdrawn."""
    constraint_id: str | None = None
    """Chosen when None."""


def record(desk: Desk, run: Run, new: UserConstraint) -> ConstraintRecord:
    """Records `new` for the principal of the run; it holds in every run of that principal from the next decision on.

    Raises `GateError` for a predicate that does not compile, `InputError`: `field_invalid`, `constraint_time_invalid`;
    `ConflictError`: `run_unknown`, `run_closed`, `constraint_exists`; `PdpError` when nothing is served.
    """
    require_text("predicate", new.predicate)
    for name in new.applies_to:
        require_text("applies_to", name)
    facts = desk.evidence_facts(run.agent_id)
    compiled = compile_constraint(new.predicate, applies_to=tuple(new.applies_to), capabilities=facts.capabilities)
    return desk.store.record_constraint(
        desk.tenant(run),
        run.run_id,
        NewConstraint(
            constraint_id=new.constraint_id or f"user-constraint-{secrets.token_hex(8)}",
            source_event=new.source_event,
            words=new.words,
            applies_to=tuple(new.applies_to),
            action=new.action,
            predicate=new.predicate,
            dnf=compiled["dnf"],
            valid_until_ms=_until_ms(new.valid_until),
        ),
    )


def withdraw(desk: Desk, run: Run, constraint_id: str) -> ConstraintRecord:
    """Ends a constraint of the run's own principal, because its user said so to the host.

    Raises `InputError` (`constraint_foreign`) for one of another principal, `ConflictError`: `constraint_unknown`,
    `constraint_withdrawn`.
    """
    tenant, principal = desk.tenant(run), run.identity.principal_id or ""
    found = {record.constraint_id for record in desk.store.constraints(tenant, principal)} if principal else set()
    if constraint_id not in found:
        raise InputError(
            "this principal has no such constraint", code="constraint_foreign", hint="see what holds for the run"
        )
    return desk.store.withdraw_constraint(tenant, constraint_id, withdrawn_by=principal)


def _until_ms(until: datetime | None) -> int | None:
    if until is None:
        return None
    if until.utcoffset() is None:
        raise InputError("Continuity timestamp must include a timezone: valid_until", code="constraint_time_invalid")
    return int(until.timestamp() * 1000)
