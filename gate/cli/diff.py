"""`gate diff`: what changes between two versions of a bundle. Renders what `gate.release.diff` found; finds nothing."""

from __future__ import annotations

from pathlib import Path

import click

from gate.cli.diff_output import as_github, as_markdown, as_sarif, as_text
from gate.cli.options import PATH, option, output_option
from gate.cli.progress import progress_bar
from gate.cli.rendering import emit_json, note
from gate.errors import EXIT_DENIED
from gate.release.diff import LIMIT, DecisionDiff, decision_diff
from gate.release.diff_report import diff_report

_FAILURES = ("loosens", "tightens", "any", "unknown")


@click.command()
@click.argument("old")
@click.argument("new")
@option(
    "--decisions",
    type=PATH,
    multiple=True,
    envvar="GATE_DECISIONS",
    help="Recorded decisions to compare on: OPA's decision log or the gate's trace, one JSON document a line.",
)
@option(
    "--inputs",
    type=click.IntRange(0, 1_000_000),
    default=LIMIT,
    show_default=True,
    envvar="GATE_DIFF_INPUTS",
    help="Generated inputs at most.",
)
@option(
    "--fail-on",
    type=click.Choice(_FAILURES),
    multiple=True,
    envvar="GATE_FAIL_ON",
    help="Exit 3 when decisions loosen, tighten, differ at all, or cannot be told. May be given more than once.",
)
@output_option("markdown", "github", "sarif")
def diff(old: str, new: str, decisions: tuple[Path, ...], inputs: int, fail_on: tuple[str, ...], output: str) -> None:
    """Compare two versions of a bundle: compiled Rego rule by rule, and the decisions they come to.

    OLD and NEW are each a bundle's folder, a tarball of `gate build`, or REV:path in git. Every difference has a
    witness that was decided by OPA on both sides. Exits 0 whatever differs, unless --fail-on says otherwise.
    """
    with progress_bar("decisions") as told:
        found = decision_diff(old, new, decisions=decisions, limit=inputs, told=told)
    failing = _failing(found, fail_on)
    for remark in found.notes:
        note(remark)
    match output:
        case "json":
            emit_json(diff_report(found))
        case "markdown":
            click.echo(as_markdown(found))
        case "github":
            for line in as_github(found, failing=failing):
                click.echo(line)
        case "sarif":
            emit_json(as_sarif(found, failing=failing))
        case _:
            for line in as_text(found):
                click.echo(line)
    if failing:
        raise click.exceptions.Exit(EXIT_DENIED)


def _failing(found: DecisionDiff, fail_on: tuple[str, ...]) -> bool:
    met = {
        "loosens": found.label in {"loosens", "mixed"},
        "tightens": found.label in {"tightens", "mixed"},
        "any": bool(found.changes),
        "unknown": bool(found.unknown),
    }
    return any(met[name] for name in fail_on)
