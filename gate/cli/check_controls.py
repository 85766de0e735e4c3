"""`gate check-controls`: whether the required controls around a bundle's agent hold. Assesses; changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gate.cli.options import PATH, engine_option, option, output_option
from gate.cli.rendering import cell, emit_fields, emit_json, note
from gate.cli.sources import chosen_engine, local_point
from gate.compiler import assemble
from gate.errors import EXIT_DENIED
from gate.release.controls import assess, assessable, gather, self_observed, unnamed
from gate.release.signals import all_signals


@click.command("check-controls")
@click.argument("bundle", type=PATH)
@option("--signals", type=PATH, envvar="GATE_SIGNALS", help="File with one mapping of signal names to true or false.")
@option(
    "--signal",
    "given",
    multiple=True,
    metavar="KEY=VALUE",
    envvar="GATE_SIGNAL",
    help="One signal; wins over the file. Repeatable.",
)
@engine_option
@output_option()
def check_controls(bundle: Path, signals: Path | None, given: tuple[str, ...], engine: str | None, output: str) -> None:
    """Assess the controls of BUNDLE; exit 3 when they are not healthy, 5 when the bundle is invalid.

    A signal that is not given counts as false. What the gate observes itself no signal can stand for.
    """
    said = all_signals(signals, given)
    subject = assessable(bundle)
    for name in self_observed(subject.compiled.bundle, said):
        note(f"`{name}` is observed by the gate itself; the signal does not count")
    for name in unnamed(subject.compiled.bundle, said):
        note(f"signal `{name}` is not named in controls.yaml")
    name, binary = chosen_engine(engine)
    with local_point(subject.compiled, name) as (_, point):
        evidence = gather(subject, point, said)
    report = assess(assemble([subject.compiled]), evidence, binary=binary)
    if output == "json":
        emit_json(report)
    else:
        _render(report)
    if not report["healthy"]:
        raise click.exceptions.Exit(EXIT_DENIED)


def _render(report: dict[str, Any]) -> None:
    drift = {f"inventory_drift.{key}": value for key, value in report["inventory_drift"].items()}
    flat = {key: value for key, value in report.items() if key != "inventory_drift"} | drift
    emit_fields((key, _shown(value)) for key, value in flat.items())


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(cell(word) for word in value) or "-"
