"""`gate build`: the OPA bundle of one or several governed bundles. Serves nothing."""

from __future__ import annotations

from pathlib import Path

import click

from gate import opa, release
from gate.cli.options import PATH, option, output_option
from gate.cli.rendering import cell, emit_fields, emit_json, note
from gate.compiler import compile_bundle
from gate.errors import BundleError, Problem, ToolchainError


@click.command()
@click.argument("bundles", metavar="BUNDLE...", type=PATH, nargs=-1, required=True)
@option(
    "-o",
    "--out",
    type=PATH,
    default=Path("dist"),
    show_default=True,
    help="Folder the tarball is written to.",
)
@output_option()
def build(bundles: tuple[Path, ...], out: Path, output: str) -> None:
    """Build BUNDLE... into one reproducible OPA bundle; refuse Rego that is not what the YAML compiles to."""
    problems: list[Problem] = []
    compiled = []
    for folder in bundles:
        try:
            compiled.append(compile_bundle(folder))
        except BundleError as exc:
            problems += exc.problems
    if problems:
        raise BundleError(problems)
    built = release.build(compiled, out, binary=_opa())
    fields = {"path": str(built.path), "revision": built.revision, "digest": built.digest}
    if output == "json":
        emit_json(fields)
    else:
        emit_fields((name, cell(value)) for name, value in fields.items())


def _opa() -> Path:
    try:
        return opa.find().path
    except ToolchainError as exc:
        note(f"{exc.message}; downloading or building it, which can take minutes")
    found = opa.ensure()
    note(f"opa {found.version}: {found.how}")
    return found.path
