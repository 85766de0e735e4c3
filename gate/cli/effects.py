"""`gate effects`: what the ledger says happened, and what a person found out about an unknown effect.

Which outcome may follow is decided in Rego; nothing here retries anything.
"""

from __future__ import annotations

from typing import Any

import click

from gate.canonical import digest
from gate.cli.options import (
    PointOptions,
    StoreOptions,
    default_person,
    environment_option,
    option,
    output_option,
    point_options,
    store_options,
)
from gate.cli.rendering import cell, emit_fields, emit_json, emit_table, quoted, timestamp
from gate.cli.sources import decision_point, opened_store
from gate.cli.watching import shown, watch_options
from gate.enforcement import Gate
from gate.errors import InputError
from gate.records import EffectRecord, EffectStatus, ReconcileOutcome, Store

_STORED = [str(status) for status in EffectStatus if status is not EffectStatus.NOT_STARTED]


@click.group()
def effects() -> None:
    """See side effects and reconcile those whose outcome is unknown."""


@effects.command("list")
@option("--status", type=click.Choice(_STORED), help="Only these, as stored.")
@watch_options
@store_options
@output_option()
def list_effects(status: str | None, watch: bool, interval: float, records: StoreOptions, output: str) -> None:
    """List the tenant's side effects, last changed first."""
    wanted = None if status is None else EffectStatus(status)
    with opened_store(records) as store:

        def read() -> list[tuple[EffectRecord, EffectStatus]]:
            now_ms = store.now_ms()
            return [(effect, _reads_as(effect, now_ms)) for effect in store.effects(records.tenant, status=wanted)]

        shown(read, lambda found: _list(found, output), watch=watch, interval=interval)


def _list(found: list[tuple[EffectRecord, EffectStatus]], output: str) -> None:
    if output == "json":
        emit_json({"effects": [_described(effect, reads_as) for effect, reads_as in found]})
        return
    emit_table(
        ("idempotency key", "capability", "principal", "status", "lease until", "business key"),
        [
            (
                cell(effect.idempotency_key),
                cell(effect.capability),
                cell(effect.principal_id),
                str(reads_as),
                timestamp(effect.lease_expires_at_ms),
                cell(effect.business_key),
            )
            for effect, reads_as in found
        ],
    )


@effects.command()
@click.argument("key")
@option("--capability", help="Chooses among effects with the same KEY.")
@option("--principal", help="Chooses among effects with the same KEY.")
@watch_options
@store_options
@output_option()
def show(
    key: str,
    capability: str | None,
    principal: str | None,
    watch: bool,
    interval: float,
    records: StoreOptions,
    output: str,
) -> None:
    """Show the side effect under idempotency key or business key KEY, with its receipt's digest."""

    def draw(found: dict[str, Any]) -> None:
        if output == "json":
            emit_json(found)
        else:
            emit_fields([(name.replace("_", " "), quoted(value)) for name, value in found.items()])

    with opened_store(records) as store:

        def read() -> dict[str, Any]:
            effect = _effect(store, records.tenant, key, capability=capability, principal=principal)
            return {**_document(effect, store.now_ms()), "fencing": effect.fencing, **_receipts(effect)}

        shown(read, draw, watch=watch, interval=interval)


def _receipts(effect: EffectRecord) -> dict[str, Any]:
    """A receipt can hold what nobody else should read: its digest tells two apart."""
    receipts = {"receipt": effect.receipt, "late_receipt": effect.late_receipt}
    return {name: None if value is None else digest(value) for name, value in receipts.items()}


@effects.command()
@click.argument("key")
@option(
    "--outcome",
    required=True,
    type=click.Choice([str(outcome) for outcome in ReconcileOutcome]),
    help="What became of the effect.",
)
@option("--evidence", required=True, metavar="REF", help="Where the evidence can be read: an id or an address.")
@option("--owner-fenced", is_flag=True, help="The worker is known to be dead or fenced; not_committed needs it.")
@option("--by", default=default_person, show_default="the user running this", help="Who found it out.")
@option("--capability", help="Chooses among effects with the same KEY.")
@option("--principal", help="Chooses among effects with the same KEY.")
@environment_option
@point_options
@store_options
@output_option()
def reconcile(
    key: str,
    outcome: str,
    evidence: str,
    owner_fenced: bool,
    by: str,
    capability: str | None,
    principal: str | None,
    environment: str,
    point: PointOptions,
    records: StoreOptions,
    output: str,
) -> None:
    """Settle the unknown effect under idempotency key or business key KEY; exit 3 when the policies refuse."""
    with opened_store(records) as store:
        effect = _effect(store, records.tenant, key, capability=capability, principal=principal)
        with decision_point(point) as asked:
            moved = Gate(asked, store, environment=environment).reviews.reconcile(
                effect, outcome=outcome, evidence_ref=evidence, reconciled_by=by, owner_fenced=owner_fenced
            )
        now_ms = store.now_ms()
    if output == "json":
        emit_json(_document(moved, now_ms))
    else:
        click.echo(f"{cell(moved.idempotency_key)}  {moved.status}")


def _effect(store: Store, tenant: str, key: str, *, capability: str | None, principal: str | None) -> EffectRecord:
    found = [
        effect
        for effect in store.effects(tenant)
        if key in (effect.idempotency_key, effect.business_key)
        and capability in (None, effect.capability)
        and principal in (None, effect.principal_id)
    ]
    if not found:
        raise InputError(
            f"no effect of this tenant has the key `{key}`", code="effect_unknown", hint="see `gate effects list`"
        )
    if len(found) > 1:
        candidates = "; ".join(
            f"--capability {cell(effect.capability)} --principal {cell(effect.principal_id)}"
            + (f" (business key {effect.business_key})" if effect.business_key != key else "")
            for effect in found
        )
        raise InputError(
            f"{len(found)} effects have the key `{key}`", code="effect_ambiguous", hint=f"choose one: {candidates}"
        )
    return found[0]


def _reads_as(effect: EffectRecord, now_ms: int) -> EffectStatus:
    """An effect in flight whose lease ran out is unknown, whatever the row says."""
    if effect.status is EffectStatus.IN_FLIGHT and now_ms >= effect.lease_expires_at_ms:
        return EffectStatus.UNKNOWN
    return effect.status


def _document(effect: EffectRecord, now_ms: int) -> dict[str, Any]:
    return _described(effect, _reads_as(effect, now_ms))


def _described(effect: EffectRecord, reads_as: EffectStatus) -> dict[str, Any]:
    names = (
        *("tenant_id", "principal_id", "capability", "business_key", "idempotency_key"),
        *("action_digest", "run_id", "evidence_ref"),
    )
    return {
        **{name: getattr(effect, name) for name in names},
        "status": str(effect.status),
        "reads_as": str(reads_as),
        "attempt": effect.attempt,
        "lease_expires_at": timestamp(effect.lease_expires_at_ms),
        "version": effect.version,
    }
