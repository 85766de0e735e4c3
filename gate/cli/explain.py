"""`gate explain`: one decision and why it is what it is. Renders what `gate.release.explain` found; finds nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gate.cli.options import PATH, engine_option, input_option, output_option
from gate.cli.rendering import cell, emit_fields, emit_json, note
from gate.cli.sources import input_document, local_point
from gate.compiler import compile_bundle
from gate.documents import visible
from gate.release.explain import Explanation, ReasonExplained
from gate.release.explain import explain as explained


@click.command()
@click.argument("bundle", type=PATH)
@input_option
@engine_option
@output_option()
def explain(bundle: Path, source: str, engine: str | None, output: str) -> None:
    """Decide as `gate eval` does, and say for each reason where its rule is and what it looked at.

    Exits by the verdict, as `gate eval` does. Of what the model asked for, types are shown, never values.
    """
    compiled = compile_bundle(bundle)
    document = input_document(source)
    with local_point(compiled, engine) as (_, point):
        explanation = explained(compiled, document, point)
    if explanation.note:
        note(explanation.note)
    if output == "json":
        emit_json(_document(explanation))
    else:
        _render(explanation)
    raise click.exceptions.Exit(explanation.decision.exit_code)


def _document(explanation: Explanation) -> dict[str, Any]:
    return {
        "decision": explanation.decision.as_dict(),
        "revision": explanation.decision.revision,
        "reasons": [
            {
                "code": one.reason.code,
                "verdict": str(one.reason.verdict),
                "rule": one.reason.rule,
                "source": one.reason.source,
                "position": one.position,
                "looked_at": [{"path": path, "state": state} for path, state in one.looked_at],
                "change": one.change,
            }
            for one in explanation.reasons
        ],
    }


def _render(explanation: Explanation) -> None:
    decision = explanation.decision
    emit_fields([("verdict", str(decision.verdict)), ("revision", cell(decision.revision))])
    for one in explanation.reasons:
        click.echo("")
        _render_reason(one)


def _render_reason(one: ReasonExplained) -> None:
    reason = one.reason
    click.echo(visible(f"{reason.code} ({reason.verdict})"))
    fields = (("rule", reason.rule), ("at", one.position), ("source", reason.source), ("to change it", one.change))
    emit_fields([(name, visible(text)) for name, text in fields if text], indent="  ")
    if one.looked_at:
        click.echo("  looked at")
        emit_fields([(visible(path), visible(state)) for path, state in one.looked_at], indent="    ")
