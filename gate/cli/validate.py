"""`gate validate`: every problem of a bundle and of its golden cases at once. Writes nothing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from gate.cli.options import PATH, output_option
from gate.cli.rendering import cell, emit_json
from gate.compiler import compile_bundle
from gate.compiler.link_cases import link_cases
from gate.documents import load_bundle, load_cases
from gate.errors import EXIT_BUNDLE_INVALID, BundleError, Problem

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@click.command()
@click.argument("bundle", type=PATH)
@output_option("github", "sarif")
def validate(bundle: Path, output: str) -> None:
    """Check BUNDLE and its golden cases; name every problem with file, line and column.

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
    if bundle.is_dir():
        try:
            cases = load_cases(bundle)
            found.update(link_cases(load_bundle(bundle), cases))
        except BundleError as exc:
            found.update(exc.problems)
    return tuple(sorted(found))


def _github(problem: Problem) -> str:
    """A workflow command, with the characters escaped that end one."""
    message = problem.message + (f" ({problem.hint})" if problem.hint else "")
    text = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    where = {"file": problem.file, "line": problem.line, "col": problem.column, "title": problem.code}
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in where.items())
    return f"::error {properties}::{text}"


def _property(value: str) -> str:
    for char, escape in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), (":", "%3A"), (",", "%2C")):
        value = value.replace(char, escape)
    return value


def _sarif(problems: tuple[Problem, ...]) -> dict[str, Any]:
    return {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gate",
                        "rules": [{"id": code} for code in sorted({problem.code for problem in problems})],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(problem) for problem in problems],
            }
        ],
    }


def _sarif_result(problem: Problem) -> dict[str, Any]:
    path = Path(problem.file)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {
        "ruleId": problem.code,
        "level": "error",
        "message": {"text": problem.message + (f" ({problem.hint})" if problem.hint else "")},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": problem.line, "startColumn": problem.column},
                }
            }
        ],
    }
