"""`gate lab`: experiments on throw-away copies; each reports what it saw."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shlex
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from gate.cli.options import PATH, option, output_option
from gate.errors import EXIT_DENIED, InputError, ToolchainError
from gate.lab.longtask import figure
from gate.lab.longtask.beside import measure
from gate.lab.longtask.run import run
from gate.lab.longtask.trajectory import load
from gate.lab.refund_story import Step
from gate.lab.refund_story import stage as refund_stage
from gate.longtask.compactor import DEADLINE_MS, CommandCompactor


@click.group()
def lab() -> None:
    """Run an experiment: a story, a soak, or a measurement. Nothing of yours is changed."""


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


@lab.command("context-continuity")
@option("--events", type=PATH, envvar="GATE_EVENTS", help="Thirty events as JSON lines; default: the repository's own.")
@option("--report", "folder", type=PATH, required=True, envvar="GATE_REPORT", help="Folder the report is written to.")
@option("--figure/--no-figure", "drawn", default=True, show_default=True, help="Draw PNG and SVG too (extra `lab`).")
@option("--compactor", metavar="COMMAND", help="Measure this program too: request on stdin, reply on stdout, as JSON.")
@option(
    "--compactor-deadline-ms", type=click.IntRange(min=1), default=DEADLINE_MS, show_default=True, help="For each run."
)
@output_option()
@click.pass_context
def context_continuity(
    ctx: click.Context,
    events: Path | None,
    folder: Path,
    drawn: bool,
    compactor: str | None,
    compactor_deadline_ms: int,
    output: str,
) -> None:
    """Measure what five ways of bounding a context keep of a long task, and write the report, byte for byte the same.

    Exits 3 when a frozen row or an expectation did not come out.
    """
    trajectory = load(events)
    own = None if compactor is None else _command(compactor, compactor_deadline_ms)
    report, supplement = run(trajectory), measure(trajectory, own)
    paths = [*report.write(folder), *supplement.write(folder)]
    if drawn:
        try:
            paths += figure.draw(report, folder)
        except ToolchainError as exc:
            click.echo(f"no figure: {exc.message}; {exc.hint}", err=True)
    if output == "json":
        document = {
            "trajectory": "published" if trajectory.published else "other",
            "cases": len(report.cases),
            "run_status": report.run_status,
            "unmet_expectations": list(supplement.unmet),
            "files": [{"path": str(path), "sha256": _sha256(path)} for path in paths],
        }
        click.echo(json.dumps(document))
    else:
        for path in paths:
            click.echo(str(path))
    for statement in supplement.unmet:
        click.echo(f"not borne out: {statement}", err=True)
    if report.run_status != "passed" or supplement.unmet:
        click.echo(f"run status: {report.run_status}; unmet expectations: {len(supplement.unmet)}", err=True)
        ctx.exit(EXIT_DENIED)


def _command(line: str, deadline_ms: int) -> CommandCompactor:
    try:
        words = tuple(shlex.split(line))
    except ValueError as exc:
        raise click.BadParameter(str(exc), param_hint="--compactor") from exc
    if not words:
        raise click.BadParameter("a command is needed", param_hint="--compactor")
    return CommandCompactor(name="own", version="command", command=words, deadline_ms=deadline_ms)


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as exc:
        raise InputError("the report cannot be read back", code="report_unwritable") from exc


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
