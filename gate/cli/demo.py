"""`gate demo`: the whole story in one minute."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from gate.cli.options import PATH, option, output_option, story_options
from gate.cli.rendering import note
from gate.lab.demo import RECORDS, TENANT, TRACE, TRACE_FILE, Step, stage


@click.command()
@story_options("bundles/support-triage", bundle_help="Bundle the story is played on; a copy of it is used.")
@option("--keep", type=PATH, envvar="GATE_KEEP", help="New folder to leave records, trace and the bundle's copy in.")
@output_option()
def demo(bundle: Path, engine: str, keep: Path | None, output: str) -> None:
    """Play the support-triage story and show each verdict with its reason codes."""
    with stage(bundle, engine, keep=keep) as story:
        steps = list(story.play())
    if keep is not None:
        note(f"follow it: {_follow(keep.resolve(), bundle.resolve().name)}")
    if output == "json":
        rows = [{"title": s.title, "verdict": s.verdict, "reasons": list(s.reasons), "ran": s.ran} for s in steps]
        click.echo(json.dumps({"engine": engine, "steps": rows, "tickets": len(story.service.tickets)}))
        return
    _render(steps, engine, len(story.service.tickets))


def _follow(kept: Path, bundle: str) -> str:
    told = f"--trace {kept / TRACE_FILE} --store sqlite:///{kept / RECORDS} --tenant {TENANT}"
    return f"gate trace {TRACE} --bundle {kept / bundle} {told}"


def _render(steps: list[Step], engine: str, tickets: int) -> None:
    label = "embedded engine, not for production" if engine == "embedded" else "OPA sidecar"
    table = Table(title=f"support triage on the {label}", title_justify="left")
    table.add_column("#", justify="right")
    for name in ("what happens", "verdict", "reasons"):
        table.add_column(name, overflow="fold")
    table.add_column("tool ran")
    for number, step in enumerate(steps, start=1):
        table.add_row(str(number), step.title, step.verdict, "\n".join(step.reasons), "yes" if step.ran else "")
    console = Console()
    # Piped, rich would fold at 80 columns; the table needs about 110.
    Console(width=None if console.is_terminal else 120).print(table)
    click.echo(f"{tickets} requests reached the ticket service; each of the others was stopped before it.")
