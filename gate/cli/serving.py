"""What `gate serve` is asked to serve, and to whom: options into settings, each checked before OPA is started.

Starts nothing; a bundle is looked at, verified when there is a key, and handed on.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from gate.cli.rendering import cell, emit_fields, emit_json
from gate.cli.sources import read_token
from gate.errors import ToolchainError
from gate.pdp import Polling, Tls, VerificationKey, manifest_revision, verify_bundle
from gate.pdp.sidecar import checked_revision
from gate.pdp.sidecar_files import Serving, prepare, token_path
from gate.pdp.watching import PUBLISHED, BundleServer, fetch
from gate.release.provenance import check_provenance, provenance_path


def listening(_: click.Context, __: click.Parameter, value: str) -> tuple[Literal["tcp"] | Path, int]:
    """The sidecar's `listen` and `port` for `tcp:PORT` or `unix:PATH`."""
    kind, _colon, rest = value.partition(":")
    if kind == "tcp" and rest.isascii() and rest.isdigit() and len(rest) <= 5 and int(rest) <= 65535:
        return "tcp", int(rest)
    if kind == "unix" and rest:
        return Path(rest), 0
    raise click.BadParameter("use tcp:PORT, with 0 for a free port, or unix:PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What `Sidecar.start` is told to serve."""

    tarball: Path | None = None
    polling: Polling | None = None
    revisions: tuple[str, ...] = ()


def prepared(
    folder: Path,
    inside: Path,
    tarball: Path | None,
    key: VerificationKey | None,
    minimum: dict[str, str],
    listen: tuple[Literal["tcp"] | Path, int],
    diagnostics_port: int | None,
    token_file: Path | None,
    output: str,
) -> None:
    """Writes what an OPA started elsewhere needs into `folder`, and prints how to start it.

    The token is the one in `token_file`, which then has to be there, or a new one.
    """
    if tarball is None:
        raise click.UsageError("--prepare needs a TARBALL")
    address, port = listen
    if not isinstance(address, Path) and not port:
        raise click.UsageError("--prepare needs --listen with a port or a socket")
    if diagnostics_port == 0:
        raise click.UsageError("--prepare needs a --diagnostics-port of its own")
    token = secrets.token_urlsafe(32) if token_file is None else read_token(token_file)
    static(tarball, key)
    revision = checked_revision(tarball, key, minimum)
    probed = diagnostics_port is not None
    serving = Serving(tarball=tarball, revisions=(revision,), key=key, minimum=minimum, diagnostics=probed)
    where = f"unix://{address}" if isinstance(address, Path) else f"127.0.0.1:{port}"
    diagnostics = f"127.0.0.1:{diagnostics_port}" if probed else None
    command = prepare(folder, serving, token=token, inside=inside, address=where, diagnostics=diagnostics)
    if output == "json":
        emit_json({"revision": revision, "command": command, "token_file": str(token_path(folder).absolute())})
    else:
        emit_fields(
            [
                ("revision", cell(revision)),
                ("token_file", cell(str(token_path(folder).absolute()))),
                ("command", " ".join(command)),
            ]
        )


def tls_of(cert: Path | None, key: Path | None, ca: Path | None) -> Tls | None:
    """The three files as one setting; None when none is named. Raises `click.UsageError` for some of them."""
    if cert is not None and key is not None and ca is not None:
        return Tls(cert_file=cert, key_file=key, ca_file=ca)
    if cert is None and key is None and ca is None:
        return None
    raise click.UsageError("--tls-cert, --tls-key and --tls-ca go together")


def static(tarball: Path, key: VerificationKey | None) -> Source:
    """`tarball`, once its signature and the provenance beside it were checked; raises `ToolchainError`."""
    if key is not None:
        verify_bundle(tarball, key)
    revision = manifest_revision(tarball)
    # A build without a key may be served without its provenance, never beside somebody else's.
    if key is not None or os.path.lexists(provenance_path(tarball)):
        check_provenance(tarball, revision=revision, key=key)
    return Source(tarball=tarball)


@contextlib.contextmanager
def followed(
    watch: str, token_file: Path | None, poll: int, key: VerificationKey | None, minimum: dict[str, str]
) -> Iterator[Source]:
    """Where OPA polls, and the revision that is there now, which passed every check; raises `ToolchainError`."""
    delays: dict[str, Any] = {"min_delay_s": poll, "max_delay_s": poll}
    with contextlib.ExitStack() as stack:
        if "://" in watch:
            if token_file is not None:
                read_token(token_file)
            polling = Polling(url=watch, token_file=token_file, **delays)
            first = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gate-watch-"))) / PUBLISHED
            fetch(polling, first)
        else:
            first = Path(watch) / PUBLISHED
            if not os.path.isfile(first):
                raise ToolchainError(
                    f"`{watch}` holds no published bundle",
                    code="bundle_unreadable",
                    hint="publish one first: `gate build BUNDLE --signing-key FILE --publish DIR`",
                )
            polling = Polling(url=stack.enter_context(BundleServer(Path(watch))).url, **delays)
        yield Source(polling=polling, revisions=(checked_revision(first, key, minimum),))
