"""`gate lab compaction-baseline`: the README's table of shipped compactors, on throw-away copies."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gate.cli.options import PATH, engine_option, option, output_option
from gate.cli.progress import progress_bar
from gate.cli.rendering import emit_json
from gate.cli.sources import chosen_engine
from gate.errors import EXIT_DENIED
from gate.lab.compaction.baseline import baseline, table


@click.command("compaction-baseline")
@option(
    "--bundle",
    type=PATH,
    default=Path("bundles/refund-desk"),
    show_default=True,
    envvar="GATE_BUNDLE",
    help="Bundle with the contract; a copy of it is used.",
)
@option("--jobs", type=click.IntRange(1, 64), default=os.cpu_count() or 1, show_default="CPUs", help="Processes.")
@engine_option
@output_option()
def compaction_baseline(bundle: Path, jobs: int, engine: str | None, output: str) -> None:
    """Play every shipped compactor with the prompt alone, with pinning and with the gate; print the table.

    Exit 3 when a forbidden effect ran although the gate was asked.
    """
    name, _ = chosen_engine(engine)
    with progress_bar("compaction baseline") as told:
        rows = baseline(bundle, engine=name, jobs=jobs, told=told)
    if output == "json":
        emit_json({"engine": name, "rows": [row.as_json() for row in rows]})
    else:
        click.echo(table(rows))
    if any(row.ran_gated for row in rows):
        raise click.exceptions.Exit(EXIT_DENIED)
