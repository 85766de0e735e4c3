"""`gate compile`: the checked-in Rego, written or compared. Never writes with `--check`."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from gate.cli.options import PATH, option, output_option
from gate.cli.rendering import cell, emit_json
from gate.compiler import Compiled, compile_bundle, differences, write
from gate.compiler.link_cases import linked_cases, refers_to_cases
from gate.documents import visible
from gate.errors import EXIT_BUNDLE_INVALID
from gate.release import require_checked_in


@click.command("compile")
@click.argument("bundle", type=PATH)
@option("--check", is_flag=True, help="Write nothing; exit 5 with a diff when the checked-in Rego is not current.")
@output_option()
def compile_command(bundle: Path, check: bool, output: str) -> None:
    """Compile BUNDLE into BUNDLE/rego, to be reviewed and checked in."""
    compiled = compile_bundle(bundle)
    if refers_to_cases(compiled.bundle):
        linked_cases(compiled.bundle)
    if check:
        _check(compiled, output)
        return
    changed = write(compiled)
    if output == "json":
        emit_json({"package": compiled.package, "changed": changed, "files": sorted(compiled.files)})
        return
    for name in changed:
        click.echo(cell(str(bundle / "rego" / name)))
    if not changed:
        click.echo(f"{cell(str(bundle / 'rego'))} is current")


def _check(compiled: Compiled, output: str) -> None:
    stale = differences(compiled)
    diffs = {name: _diff(compiled, name) for name in stale}
    if output == "json":
        emit_json({"current": not stale, "stale": [{"file": name, "diff": "\n".join(diffs[name])} for name in stale]})
        if stale:
            raise click.exceptions.Exit(EXIT_BUNDLE_INVALID)
        return
    for lines in diffs.values():
        for line in lines:
            # Rego is indented with tabs; everything else a terminal would act on is escaped.
            click.echo("\t".join(visible(part) for part in line.split("\t")))
    require_checked_in([compiled])
    click.echo(f"{cell(str(compiled.bundle.folder / 'rego'))} is current")


def _diff(compiled: Compiled, name: str) -> list[str]:
    """Unified diff from what is checked in to what the YAML compiles to."""
    path = compiled.bundle.folder / "rego" / name
    try:
        before = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        before = ""
    after = compiled.files.get(name, "")
    lines = difflib.unified_diff(
        before.split("\n"),
        after.split("\n"),
        fromfile=str(path) if path.exists() else "/dev/null",
        tofile=str(path) if name in compiled.files else "/dev/null",
        lineterm="",
    )
    # A leftover folder, or a file that differs in its bytes alone, still has to be named.
    return list(lines) or [f"--- {path}", f"+++ {path if name in compiled.files else '/dev/null'}"]
