"""`gate lab soak`: claims, kills and faults under load, on stores of its own, and what was lost."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gate.cli.options import option, output_option, story_options
from gate.errors import EXIT_DENIED

if TYPE_CHECKING:
    from gate.lab.soak import Part

_DATABASES = ("sqlite", "postgresql")


@click.command("soak")
@option("--store", metavar="URL", envvar="GATE_SOAK_STORE", help="An empty store; without it, stores of its own.")
@option(
    "--database",
    "databases",
    type=click.Choice(_DATABASES),
    multiple=True,
    default=_DATABASES,
    show_default=True,
    envvar="GATE_SOAK_DATABASES",
    help="Which databases, when no store is named; PostgreSQL is started in a temporary folder.",
)
@option(
    "--rounds",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    envvar="GATE_SOAK_ROUNDS",
    help="Rounds in which 4 processes of 20 threads claim one approval.",
)
@option(
    "--kills",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    envvar="GATE_SOAK_KILLS",
    help="Tool calls whose process is killed at a random step.",
)
@story_options("bundles/refund-desk", engine="opa", bundle_help="Bundle of the killed calls.")
@output_option()
@click.pass_context
def soak(
    ctx: click.Context,
    store: str | None,
    databases: tuple[str, ...],
    rounds: int,
    kills: int,
    bundle: Path,
    engine: str,
    output: str,
) -> None:
    """Claim, kill and break under load, and count what was lost: nothing, or exit 3."""
    # Here, because it needs what only POSIX has, and no other command does.
    from gate.lab.soak import soak as soak_parts

    parts = []
    for part in soak_parts(bundle=bundle, engine=engine, databases=databases, url=store, rounds=rounds, kills=kills):
        parts.append(part)
        if output != "json":
            _tell(part)
    lost = sum(part.lost for part in parts)
    if output == "json":
        click.echo(json.dumps({"parts": [dataclasses.asdict(part) for part in parts], "lost": lost}))
    else:
        click.echo(f"lost: {lost}")
    if lost:
        ctx.exit(EXIT_DENIED)


def _tell(part: Part) -> None:
    click.echo(f"{part.database}: {part.what}: lost {part.lost}")
    for name, value in part.figures.items():
        shown = f"{value:.1f}" if isinstance(value, float) else json.dumps(value)
        click.echo(f"  {name}: {shown}")
