"""`gate lab refund-story`: the refund whose review five compactions forget, on a throw-away copy."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from gate.cli.options import output_option, story_options
from gate.errors import EXIT_DENIED
from gate.lab.refund_story import Step
from gate.lab.refund_story import stage as refund_stage


@click.command("refund-story")
@story_options("bundles/refund-desk", bundle_help="Bundle the story is played on; a copy of it is used.")
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
