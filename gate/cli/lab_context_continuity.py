"""`gate lab context-continuity`: what ways of bounding a context keep of a long task, as a report."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path

import click

from gate.cli.options import PATH, option, output_option
from gate.errors import EXIT_DENIED, InputError, ToolchainError
from gate.lab.longtask import figure
from gate.lab.longtask.beside import measure
from gate.lab.longtask.decided import FILE, decided
from gate.lab.longtask.own_compactor import OWN
from gate.lab.longtask.run import run
from gate.lab.longtask.trajectory import load
from gate.longtask.compactor import DEADLINE_MS, CommandCompactor


@click.command("context-continuity")
@option("--events", type=PATH, envvar="GATE_EVENTS", help="Thirty events as JSON lines; default: the repository's own.")
@option("--report", "folder", type=PATH, required=True, envvar="GATE_REPORT", help="Folder the report is written to.")
@option("--figure/--no-figure", "drawn", default=True, show_default=True, help="Draw PNG and SVG too (extra `lab`).")
@option("--compactor", metavar="COMMAND", help="Measure this program too: request on stdin, reply on stdout, as JSON.")
@option(
    "--compactor-deadline-ms", type=click.IntRange(min=1), default=DEADLINE_MS, show_default=True, help="For each run."
)
@option(
    "--engine",
    type=click.Choice(["embedded", "opa"]),
    envvar="GATE_ENGINE",
    help="Commit and resume the hand-overs through the gate too: decided in this process, or by an OPA of its own.",
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
    engine: str | None,
    output: str,
) -> None:
    """Measure what five ways of bounding a context keep of a long task, and write the report, byte for byte the same.

    Exits 3 when a frozen row or an expectation did not come out.
    """
    trajectory = load(events)
    own = None if compactor is None else _command(compactor, compactor_deadline_ms)
    report, supplement = run(trajectory), measure(trajectory, own)
    paths, unmet = [*report.write(folder), *supplement.write(folder)], list(supplement.unmet)
    if engine is not None:
        through_gate = decided(trajectory, engine)
        paths += through_gate.write(folder, FILE)
        unmet += through_gate.unmet
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
            "unmet_expectations": unmet,
            "files": [{"path": str(path), "sha256": _sha256(path)} for path in paths],
        }
        click.echo(json.dumps(document))
    else:
        for path in paths:
            click.echo(str(path))
    for row in (row for one in supplement.sections if one.name == OWN for row in one.rows):
        if row["refused"] is not None:
            click.echo(f"the compactor was refused in run {row['run']}: {row['refused']}", err=True)
    for statement in unmet:
        click.echo(f"not borne out: {statement}", err=True)
    if report.run_status != "passed" or unmet:
        click.echo(f"run status: {report.run_status}; unmet expectations: {len(unmet)}", err=True)
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
