"""`gate status`: whether a sidecar is ready with the revision that is expected. Changes nothing."""

from __future__ import annotations

from pathlib import Path

import click

from gate.cli.options import PATH, option, output_option, sidecar_options
from gate.cli.rendering import cell, emit_fields, emit_json
from gate.cli.sources import read_token
from gate.errors import EXIT_UNDECIDED, PdpError
from gate.pdp import SidecarDecisionPoint, manifest_revision

_TIMEOUT_MS = 3000


@click.command()
@sidecar_options(required=True)
@option("--tarball", type=PATH, help="Built bundle to read the expected revision from, in place of --revision.")
@output_option()
def status(opa_url: str, token_file: Path, revision: str | None, tarball: Path | None, output: str) -> None:
    """Ask the OPA sidecar whether it is ready with the expected revision; exit 1 when it is not."""
    if (revision is None) == (tarball is None):
        raise click.UsageError("say which revision to expect: either --revision or --tarball")
    expected = revision if tarball is None else manifest_revision(tarball)
    client = SidecarDecisionPoint(
        url=opa_url, token=read_token(token_file), expected_revisions=(expected or "",), timeout_ms=_TIMEOUT_MS
    )
    served, problem, hint = None, "", ""
    try:
        served = client.revision()
        if not client.ready():
            problem, hint = "pdp_not_ready", "its bundles are not active yet"
    except PdpError as exc:
        problem, hint = exc.code, exc.hint or exc.message
    finally:
        client.close()
    if output == "json":
        emit_json(
            {"ready": not problem, "expected": expected, "revision": served, "code": problem or None, "hint": hint}
        )
    else:
        fields = [("ready", "no" if problem else "yes"), ("expected", cell(expected)), ("revision", cell(served))]
        emit_fields([*fields, *([("code", problem), ("hint", cell(hint))] if problem else [])])
    if problem:
        raise click.exceptions.Exit(EXIT_UNDECIDED)
