"""`gate forget SESSION`: erase what was derived in a session, while its event chains still verify."""

from __future__ import annotations

import dataclasses
import json

import click

from gate.cli.options import StoreOptions, default_person, option, output_option, store_options
from gate.cli.rendering import cell, emit_fields, emit_json, timestamp
from gate.cli.sources import opened_store
from gate.records import DeletionReceipt


@click.command()
@click.argument("session")
@option("--by", "person", envvar="GATE_BY", help="Who asks for it. Default: the user running the command.")
@option("--reason", default="asked by the user", show_default=True, envvar="GATE_REASON", help="Why.")
@option("--freeze-only", is_flag=True, help="Only stop all derivation; erase with a second call.")
@store_options
@output_option()
def forget(
    session: str, person: str | None, reason: str, freeze_only: bool, records: StoreOptions, output: str
) -> None:
    """Freeze derivation in SESSION, erase its events, artifacts, checkpoints and packets, and print the receipt.

    Ids and digests stay, so that every chain still verifies and no id is ever used again; the runs of the session, and
    those forked from them in other sessions, are stopped. What was backed up before is not reached: apply the receipt
    to each backup that is restored.
    """
    with opened_store(records) as store:
        by = person or default_person()
        receipt = store.freeze_session(records.tenant, session, requested_by=by, reason=reason)
        if not freeze_only:
            receipt = store.erase_session(records.tenant, session)
    if output == "json":
        emit_json({**dataclasses.asdict(receipt), "counts": json.loads(receipt.counts)})
    else:
        emit_fields(_fields(receipt))


def _fields(receipt: DeletionReceipt) -> list[tuple[str, str]]:
    fields = [("receipt", receipt.receipt_id), ("session", cell(receipt.session_id)), ("status", receipt.status)]
    fields.append(("frozen", timestamp(receipt.frozen_at_ms)))
    if receipt.erased_at_ms is not None:
        fields += [("erased", timestamp(receipt.erased_at_ms)), ("digest", cell(receipt.digest))]
    return fields + [(f"erased {kind}", str(number)) for kind, number in sorted(json.loads(receipt.counts).items())]
