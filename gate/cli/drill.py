"""`gate drill`: the four recovery drills on a copy of the records, with the runbook. The records are not changed."""

from __future__ import annotations

from pathlib import Path

import click

from gate.cli.options import PATH, StoreOptions, option, output_option
from gate.cli.rendering import cell, emit_json, emit_table
from gate.cli.sources import opened_store
from gate.errors import EXIT_DENIED
from gate.lab import drills

_BUSY_MS = 5000


@click.command()
@option("--store", "url", metavar="URL", envvar="GATE_STORE", help="Records to copy from. Default: an empty store.")
@option("--tenant", default="tenant-drill", show_default=True, envvar="GATE_TENANT", help="In whose name.")
@option("--report", "folder", type=PATH, envvar="GATE_REPORT", help="Folder for drills.json and drills.md.")
@option(
    "--engine",
    type=click.Choice(["embedded", "opa"]),
    default="embedded",
    show_default=True,
    envvar="GATE_ENGINE",
    help="What decides: inside this process, or an OPA of the drill's own.",
)
@output_option("markdown")
def drill(url: str | None, tenant: str, folder: Path | None, engine: str, output: str) -> None:
    """Crash before the checkpoint, lose an artifact, change the workspace, upgrade the schema: see what is refused.

    What --tenant has in --store, SQLite or PostgreSQL, is copied into a throw-away file, and everything happens there.
    Exits 3 when a drill came out otherwise than it must.
    """
    if url is None:
        report = drills.run(None, tenant=tenant, engine=engine)
    else:
        with opened_store(StoreOptions(url=url, tenant=tenant, busy_timeout_ms=_BUSY_MS)) as store:
            report = drills.run(store, tenant=tenant, engine=engine)
    if folder is not None:
        for path in report.write(folder):
            click.echo(f"wrote {path}", err=True)
    if output == "json":
        emit_json(report.as_dict())
    elif output == "markdown":
        click.echo(report.as_markdown(), nl=False)
    else:
        emit_table(
            ("drill", "expected", "observed", "back to", "result"),
            [
                (
                    one.name,
                    one.expected,
                    ", ".join(one.observed),
                    cell(one.recovery_point),
                    "passed" if one.passed else "FAILED",
                )
                for one in report.drills
            ],
        )
        for run, checkpoint, held in report.own_runs:
            click.echo(f"{cell(run)} {cell(checkpoint)}: {'recoverable' if held else 'NOT recoverable'}")
    if not report.passed:
        raise click.exceptions.Exit(EXIT_DENIED)
