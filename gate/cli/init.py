"""`gate init`: a new bundle to start from. Writes all of it or nothing, and no private key that was not asked for."""

from __future__ import annotations

import time
from pathlib import Path

import click

from gate.cli.options import PATH, option, output_option
from gate.cli.rendering import cell, emit_json, note
from gate.release.scaffold import scaffold


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@option("--name", help="Name of the bundle. Default: the name of DIR.")
@option(
    "--reviewer-key",
    type=PATH,
    help="New file, mode 0600, for the first reviewer's private key. Without it nobody has that key.",
)
@output_option()
def init(folder: Path, name: str | None, reviewer_key: Path | None, output: str) -> None:
    """Write a new bundle into DIR, new or empty, that validates, compiles and passes its own cases."""
    made = scaffold(folder, name=name, key_file=reviewer_key, now_ms=time.time_ns() // 1_000_000)
    if output == "json":
        emit_json(
            {
                "folder": str(made.folder),
                "name": made.name,
                "agent_id": made.agent_id,
                "files": list(made.files),
                "reviewer_key": None if reviewer_key is None else str(reviewer_key),
            }
        )
        return
    for file in made.files:
        click.echo(cell(str(made.folder / file)))
    if reviewer_key is None:
        note("nobody has the private half of the key in reviewers.yaml: make one with `gate approvals keygen`")
    note(f"next: gate test {folder}")
