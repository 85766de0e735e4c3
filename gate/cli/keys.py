"""`gate keys`: pairs of keys that bundles are signed with. Prints the public part only."""

from __future__ import annotations

from pathlib import Path

import click

from gate.cli.options import PATH, option, output_option
from gate.cli.rendering import cell, emit_fields, emit_json
from gate.release.signing import new_pair


@click.group()
def keys() -> None:
    """Keys that bundles are signed with."""


@keys.command()
@click.argument("file", type=PATH)
@option(
    "--type",
    "kind",
    type=click.Choice(["rsa", "ecdsa"]),
    default="rsa",
    show_default=True,
    help="rsa signs reproducibly; ecdsa (P-256) is shorter and gives another tarball each time.",
)
@output_option()
def new(file: Path, kind: str, output: str) -> None:
    """Write a new private key to FILE, readable by its owner only, and its public part beside it as .pub."""
    key = new_pair(file, kind=kind)
    fields = {
        "key_id": key.key_id,
        "algorithm": key.algorithm,
        "private_key": str(file),
        "public_key": str(file.with_suffix(".pub")),
    }
    if output == "json":
        emit_json(fields)
    else:
        emit_fields((name, cell(value)) for name, value in fields.items())
