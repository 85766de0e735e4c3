"""`gate validate`: every problem of a bundle, of its golden cases and of its ledger at once. Writes nothing."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gate.cli.annotations import sarif_log, sarif_result, workflow_command
from gate.cli.options import PATH, output_option
from gate.cli.rendering import cell, emit_json
from gate.compiler import compile_bundle
from gate.compiler.link_cases import link_cases
from gate.documents import load_bundle, load_cases
from gate.documents.releases import load_ledger
from gate.errors import EXIT_BUNDLE_INVALID, BundleError, Problem


@click.command()
@click.argument("bundle", type=PATH)
@output_option("github", "sarif")
def validate(bundle: Path, output: str) -> None:
    """Check BUNDLE, its golden cases and its ledger; name every problem with file, line and column.

    Exits 5 when there is a problem. As text the problems go to stderr; the other forms are a result, on stdout.
    """
    problems = _problems(bundle)
    if output == "text":
        if problems:
            raise BundleError(problems)
        click.echo(f"{cell(str(bundle))} is valid")
        return
    if output == "json":
        emit_json({"valid": not problems, "problems": [asdict(problem) for problem in problems]})
    elif output == "sarif":
        emit_json(_sarif(problems))
    else:
        for problem in problems:
            click.echo(_github(problem))
    if problems:
        raise click.exceptions.Exit(EXIT_BUNDLE_INVALID)


def _problems(bundle: Path) -> tuple[Problem, ...]:
    found: set[Problem] = set()
    try:
        compile_bundle(bundle)
    except BundleError as exc:
        found.update(exc.problems)
    if os.path.isdir(bundle):
        try:
            load_ledger(bundle)
        except BundleError as exc:
            found.update(exc.problems)
        try:
            cases = load_cases(bundle)
            found.update(link_cases(load_bundle(bundle), cases))
        except BundleError as exc:
            found.update(exc.problems)
    return tuple(sorted(found))


def _message(problem: Problem) -> str:
    return problem.message + (f" ({problem.hint})" if problem.hint else "")


def _github(problem: Problem) -> str:
    return workflow_command(
        "error",
        _message(problem),
        title=problem.code,
        file=problem.file,
        line=problem.line,
        column=problem.column,
    )


def _sarif(problems: tuple[Problem, ...]) -> dict[str, Any]:
    return sarif_log(sarif_result(p.code, "error", _message(p), [(p.file, p.line, p.column)]) for p in problems)
