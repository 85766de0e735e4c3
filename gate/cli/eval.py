"""`gate eval`: one input document, one decision. Carries nothing out and records nothing."""

from __future__ import annotations

from pathlib import Path

import click

from gate.cli.options import PATH, engine_option, input_option, output_option
from gate.cli.rendering import cell, emit_fields, emit_json
from gate.cli.sources import input_document, local_point
from gate.compiler import compile_bundle
from gate.decision import Decision
from gate.documents import visible


@click.command("eval")
@click.argument("bundle", type=PATH)
@input_option
@engine_option
@output_option()
def evaluate(bundle: Path, source: str, engine: str | None, output: str) -> None:
    """Decide about one input document as BUNDLE says, and exit by the verdict.

    0 allow, 3 deny or blocked, 4 approval needed, 1 when no decision could be reached.
    """
    compiled = compile_bundle(bundle)
    document = input_document(source)
    with local_point(compiled, engine) as (_, point):
        decision = point.decide(document).decision
    if output == "json":
        emit_json(decision.as_dict())
    else:
        _render(decision)
    raise click.exceptions.Exit(decision.exit_code)


def _render(decision: Decision) -> None:
    emit_fields([("verdict", str(decision.verdict)), ("revision", cell(decision.revision))])
    for reason in decision.reasons:
        click.echo("")
        click.echo(visible(f"{reason.code} ({reason.verdict})"))
        emit_fields(
            [
                (name, visible(text))
                for name, text in (
                    ("rule", reason.rule),
                    ("source", reason.source),
                    ("remedy", reason.remedy),
                )
                if text
            ],
            indent="  ",
        )
