"""`gate taint ARTIFACT`: an artifact turned out bad; stop what it touched and say what that was."""

from __future__ import annotations

import dataclasses

import click

from gate.cli.options import StoreOptions, option, output_option, store_options
from gate.cli.rendering import cell, emit_fields, emit_json, emit_table
from gate.cli.sources import opened_store


@click.command()
@click.argument("artifact")
@option("--reason", required=True, envvar="GATE_REASON", help="What was found; no secret and no content.")
@store_options
@output_option()
def taint(artifact: str, reason: str, records: StoreOptions, output: str) -> None:
    """Taint ARTIFACT and all that was made of it, stop the runs and their forks, and list what was touched.

    Nothing is resumed from a tainted artifact again. Effects that happened are not undone: look at each, and reconcile.
    """
    with opened_store(records) as store:
        found = store.taint_artifact(records.tenant, artifact, reason=reason)
    if output == "json":
        emit_json(dataclasses.asdict(found))
        return
    emit_fields(
        [
            ("tainted", ", ".join(map(cell, found.artifacts))),
            ("stopped runs", ", ".join(map(cell, found.runs)) or "none"),
            ("packets", ", ".join(found.packets) or "none"),
        ]
    )
    if found.effects:
        emit_table(("run", "capability", "status"), [tuple(map(cell, row)) for row in found.effects])
