"""`gate releases`: which version was in force, and when. Reads the ledger and changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gate.cli.options import PATH, option, output_option
from gate.cli.rendering import cell, emit_fields, emit_json, emit_table
from gate.documents.bundle import ENVELOPE
from gate.documents.files import entries
from gate.documents.releases import LEDGER, Release, load_ledger
from gate.documents.timestamps import parse_rfc3339_ms
from gate.errors import EXIT_DENIED, BundleError, Problem


@click.command()
@click.argument("bundle", type=PATH)
@option("--at", metavar="TIME", envvar="GATE_AT", help="Only the release in force at this time, RFC 3339.")
@output_option()
def releases(bundle: Path, at: str | None, output: str) -> None:
    """List the releases of BUNDLE, oldest first; with --at, the one in force then.

    Exits 3 when none was in force. A release is in force from its time until the next one.
    """
    at_ms = None if at is None else parse_rfc3339_ms(at)
    if not {ENVELOPE, LEDGER} & set(entries(bundle, code="bundle_not_a_folder")):
        raise BundleError(
            [Problem(str(bundle), 1, 1, "bundle_absent", f"there is neither {ENVELOPE} nor {LEDGER} here")]
        )
    ledger = load_ledger(bundle)
    if at_ms is None:
        if output == "json":
            emit_json({"bundle": str(bundle), "releases": [_document(one) for one in ledger.releases]})
            return
        emit_table(
            ("version", "released at", "release identity", "decisions", "change", "approver", "revision"),
            [
                (
                    cell(one.version),
                    cell(one.released_at),
                    cell(one.release_identity),
                    one.decision_diff,
                    cell(one.change_id),
                    cell(one.approver),
                    cell(one.revision),
                )
                for one in ledger.releases
            ],
        )
        return
    found = ledger.at(at_ms)
    if output == "json":
        emit_json({"bundle": str(bundle), "at": at, "release": None if found is None else _document(found)})
    elif found is None:
        click.echo(f"no release of {cell(str(bundle))} was in force at {cell(at)}")
    else:
        emit_fields([(name.replace("_", " "), cell(value)) for name, value in _document(found).items()])
    if found is None:
        raise click.exceptions.Exit(EXIT_DENIED)


def _document(release: Release) -> dict[str, Any]:
    return {
        "version": release.version,
        "release_identity": release.release_identity,
        "revision": release.revision,
        "released_at": release.released_at,
        "decision_diff": release.decision_diff,
        "change_id": release.change_id,
        "approver": release.approver,
        "content_digest": release.content_digest,
        "entry_digest": release.digest,
    }
