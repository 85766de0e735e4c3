"""`gate release`: a version of a bundle into its ledger and its tarball into a folder. Publishes nothing."""

from __future__ import annotations

import time
from pathlib import Path

import click

from gate.cli.build import opa_binary
from gate.cli.options import PATH, option, output_option, signing_options
from gate.cli.progress import progress_bar
from gate.cli.rendering import cell, emit_fields, emit_json, note, timestamp
from gate.compiler import compile_bundle
from gate.release.diff import decision_diff
from gate.release.diff_side import Side
from gate.release.shipping import release_bundle
from gate.release.signing import SigningKey


@click.command()
@click.argument("bundle", type=PATH)
@option("--version", "version", help="The version that bundle.yaml must say.")
@option("--change-id", help="Change that this release carries out; needed when decisions were loosened.")
@option("--approver", help="Who approved the release; needed when decisions were loosened.")
@option(
    "--against",
    help="The last release, for the decision diff: a tarball, a folder or REV:path. "
    "Default: its tarball in --out, else the commit that recorded it.",
)
@option("-o", "--out", type=PATH, default=Path("dist"), show_default=True, help="Folder the tarball is written to.")
@signing_options
@output_option()
def release(
    bundle: Path,
    version: str | None,
    change_id: str | None,
    approver: str | None,
    against: str | None,
    out: Path,
    signing_key: SigningKey | None,
    output: str,
) -> None:
    """Release BUNDLE at the version its bundle.yaml says: check, build, and append to releases.yaml.

    Refuses Rego that is not what the YAML compiles to, a golden case that fails, a version that is not above the last,
    content that changed under a released version, and decisions that were loosened without a change id and an approver.
    """
    binary = opa_binary()

    def differ(old: Side, new: Side) -> str:
        note("comparing decisions with the last release, which can take a minute")
        with progress_bar("decisions") as told:
            return decision_diff(old, new, binary=binary, told=told).label

    shipped = release_bundle(
        compile_bundle(bundle),
        out,
        binary=binary,
        released_at=timestamp(time.time_ns() // 1_000_000),
        differ=differ,
        version=version,
        against=against,
        change_id=change_id,
        approver=approver,
        signing_key=signing_key,
    )
    fields = {
        "version": shipped.release.version,
        "revision": shipped.release.revision,
        "decision_diff": shipped.release.decision_diff,
        "path": str(shipped.built.path),
        "digest": shipped.built.digest,
        "provenance": str(shipped.provenance),
        "signed_by": None if signing_key is None else signing_key.public.key_id,
        "cases": shipped.cases,
    }
    if output == "json":
        emit_json(fields)
    else:
        emit_fields((name, cell(None if value is None else str(value))) for name, value in fields.items())
