"""`gate build`: the OPA bundle of one or several governed bundles, with its provenance. Serves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from gate import opa, release
from gate.cli.options import PATH, option, output_option, signing_options
from gate.cli.rendering import cell, emit_fields, emit_json, note
from gate.compiler import Compiled, compile_bundle
from gate.errors import BundleError, Problem, ToolchainError
from gate.pdp.watching import publish
from gate.release.provenance import attest
from gate.release.signing import SigningKey


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
@signing_options
@option("--publish", "published", type=PATH, help="Folder that `gate serve --watch` follows: hand the tarball over.")
@output_option()
def build(
    bundles: tuple[Path, ...], out: Path, signing_key: SigningKey | None, published: Path | None, output: str
) -> None:
    """Build BUNDLE... into one reproducible OPA bundle with its provenance.

    Refuses Rego that is not what the YAML compiles to, content that changed after its version was released, and an
    agent that two bundles govern.
    """
    compiled = compiled_bundles(bundles)
    built = release.build(compiled, out, binary=opa_binary(), signing_key=signing_key)
    provenance = attest(built, compiled, signing_key=signing_key)
    if published is not None:
        publish(built.path, published)
    fields = {
        "path": str(built.path),
        "revision": built.revision,
        "digest": built.digest,
        "provenance": str(provenance),
        "signed_by": None if signing_key is None else signing_key.public.key_id,
    }
    if output == "json":
        emit_json(fields)
    else:
        emit_fields((name, cell(value)) for name, value in fields.items())


def compiled_bundles(folders: Sequence[Path]) -> list[Compiled]:
    """Every bundle compiled; raises `BundleError` with the problems of all of them."""
    problems: list[Problem] = []
    compiled = []
    for folder in folders:
        try:
            compiled.append(compile_bundle(folder))
        except BundleError as exc:
            problems += exc.problems
    if problems:
        raise BundleError(problems)
    return compiled


def opa_binary() -> Path:
    """The pinned OPA, fetched when it is not here, saying how."""
    try:
        return opa.find().path
    except ToolchainError as exc:
        note(f"{exc.message}; downloading or building it, which can take minutes")
    found = opa.ensure()
    note(f"opa {found.version}: {found.how}")
    return found.path
