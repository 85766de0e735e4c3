"""`gate lab`: experiments on throw-away copies; each reports what it saw."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from gate.cli.options import option, output_option
from gate.errors import EXIT_DENIED
from gate.lab.refund_story import Step
from gate.lab.refund_story import stage as refund_stage

if TYPE_CHECKING:
    from gate.lab.soak import Part

_DATABASES = ("sqlite", "postgresql")


@click.group()
def lab() -> None:
    """Run an experiment: a story, or a soak. Nothing of yours is changed."""


@lab.command("refund-story")
@option(
    "--bundle",
    type=click.Path(path_type=Path),
    default=Path("bundles/refund-desk"),
    show_default=True,
    envvar="GATE_BUNDLE",
    help="Bundle the story is played on; a copy of it is used.",
)
@option(
    "--engine",
    type=click.Choice(["embedded", "opa"]),
    default="embedded",
    show_default=True,
    envvar="GATE_ENGINE",
    help="embedded: in this process, not for production. opa: a real sidecar.",
)
@output_option()
@click.pass_context
def refund_story(ctx: click.Context, bundle: Path, engine: str, output: str) -> None:
    """Play the refund whose review five compactions forget, and show what is answered, paid and recorded.

    Exits 3 when anything was paid without the review that its amount wants.
    """
    with refund_stage(bundle, engine) as story:
        steps = list(story.play())
        payments, unreviewed = len(story.service.payments), story.unreviewed()
    if output == "json":
        rows = [dataclasses.asdict(step) for step in steps]
        click.echo(json.dumps({"engine": engine, "steps": rows, "payments": payments, "unreviewed": unreviewed}))
    else:
        _render(steps, engine, payments)
    if unreviewed:
        ctx.exit(EXIT_DENIED)


def _render(steps: list[Step], engine: str, payments: int) -> None:
    label = "embedded engine, not for production" if engine == "embedded" else "OPA sidecar"
    table = Table(title=f"refund desk on the {label}", title_justify="left")
    table.add_column("#", justify="right")
    for name in ("what happens", "verdict", "reasons"):
        table.add_column(name, overflow="fold")
    for name in ("paid", "ledger"):
        table.add_column(name)
    for number, step in enumerate(steps, start=1):
        table.add_row(
            str(number),
            step.title,
            step.verdict,
            "\n".join(step.reasons),
            "yes" if step.paid else "",
            "unchanged" if step.ledger_unchanged else "changed",
        )
    console = Console()
    # Piped, rich would fold at 80 columns; the table needs about 120.
    Console(width=None if console.is_terminal else 130).print(table)
    click.echo(f"{payments} refunds were paid.")


@lab.command()
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
@option(
    "--bundle",
    type=click.Path(path_type=Path),
    default=Path("bundles/refund-desk"),
    show_default=True,
    envvar="GATE_BUNDLE",
    help="Bundle of the killed calls.",
)
@option(
    "--engine",
    type=click.Choice(["embedded", "opa"]),
    default="opa",
    show_default=True,
    envvar="GATE_ENGINE",
    help="What decides the killed calls.",
)
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
