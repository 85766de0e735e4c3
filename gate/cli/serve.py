"""`gate serve`: an OPA sidecar in the foreground, from a built tarball or from where bundles are published.

Never restarts OPA, and never prints the token: that goes into a file of its owner alone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from gate import opa
from gate.cli.options import PATH, minimum_option, option, output_option, verification_options
from gate.cli.rendering import cell, emit_fields, emit_json, note
from gate.cli.sources import read_token
from gate.errors import GateError, InputError, PdpError, ToolchainError
from gate.pdp import Polling, Sidecar, Tls, VerificationKey, manifest_revision, verify_bundle
from gate.pdp.sidecar import checked_revision
from gate.pdp.sidecar_files import Serving, token_path
from gate.pdp.sidecar_files import prepare as prepare_files
from gate.pdp.watching import PUBLISHED, BundleServer, fetch
from gate.release.provenance import check_provenance, provenance_path

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_S = 1.0


def _listen(_: click.Context, __: click.Parameter, value: str) -> tuple[Literal["tcp"] | Path, int]:
    """The sidecar's `listen` and `port` for `tcp:PORT` or `unix:PATH`."""
    kind, _colon, rest = value.partition(":")
    if kind == "tcp" and rest.isascii() and rest.isdigit() and len(rest) <= 5 and int(rest) <= 65535:
        return "tcp", int(rest)
    if kind == "unix" and rest:
        return Path(rest), 0
    raise click.BadParameter("use tcp:PORT, with 0 for a free port, or unix:PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What `Sidecar.start` is told to serve."""

    tarball: Path | None = None
    polling: Polling | None = None
    revisions: tuple[str, ...] = ()


@click.command()
@click.argument("tarball", type=PATH, required=False)
@option(
    "--watch",
    metavar="URL|DIR",
    help="Follow new bundles, signed with --verification-key: the URL of a bundle, or a folder that "
    "`gate build --publish` fills.",
)
@option("--watch-token-file", type=PATH, help="Bearer token for the URL that is followed, readable by its owner only.")
@option(
    "--poll",
    type=click.IntRange(1, 3600),
    default=5,
    show_default=True,
    help="Seconds between two looks for a new bundle.",
)
@verification_options
@minimum_option
@option(
    "--listen",
    callback=_listen,
    default="tcp:0",
    show_default=True,
    metavar="tcp:PORT|unix:PATH",
    help="Where OPA listens: a port of 127.0.0.1, or a socket in a folder of yours alone.",
)
@option("--tls-cert", type=PATH, help="Certificate that OPA shows on its port; needs --tls-key and --tls-ca.")
@option("--tls-key", type=PATH, help="Private key of the certificate.")
@option("--tls-ca", type=PATH, help="CA file that clients pin.")
@option(
    "--diagnostics-port",
    type=click.IntRange(0, 65535),
    help="Port of 127.0.0.1 for health and metrics, which then need no token; 0 for a free one. Default: none.",
)
@option("--docker", is_flag=True, help="Run OPA in a container, through the Docker engine.")
@option(
    "--prepare",
    type=PATH,
    metavar="DIR",
    help="Start nothing: write what an OPA started elsewhere needs into DIR and print its arguments.",
)
@option(
    "--inside",
    type=PATH,
    default=Path("/sidecar"),
    show_default=True,
    help="Where that OPA sees DIR of --prepare, such as the path of a volume.",
)
@option("--work-dir", type=PATH, help="Private folder for OPA's configuration and log. Default: one that goes away.")
@option(
    "--token-file",
    type=PATH,
    envvar="GATE_TOKEN_FILE",
    help="Bearer token to use; made, with mode 0600, when it is not there. Default: WORK_DIR/token.",
)
@output_option()
def serve(
    tarball: Path | None,
    watch: str | None,
    watch_token_file: Path | None,
    poll: int,
    key: VerificationKey | None,
    minimum: dict[str, str],
    listen: tuple[Literal["tcp"] | Path, int],
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
    diagnostics_port: int | None,
    docker: bool,
    prepare: Path | None,
    inside: Path,
    work_dir: Path | None,
    token_file: Path | None,
    output: str,
) -> None:
    """Serve TARBALL, or what --watch follows, on a local OPA until SIGINT or SIGTERM; exit 1 when OPA dies."""
    if (tarball is None) == (watch is None):
        raise click.UsageError("say what to serve: either TARBALL or --watch")
    if watch is not None and key is None:
        raise click.UsageError("--watch needs --verification-key: whoever can publish could otherwise decide")
    if watch_token_file is not None and (watch is None or "://" not in watch):
        raise click.UsageError("--watch-token-file needs --watch with a URL")
    tls = _tls(tls_cert, tls_key, tls_ca)
    if prepare is not None:
        _prepare(prepare, inside, tarball, key, minimum, listen, output)
        return
    binary = opa.find().path
    folder = work_dir if work_dir is not None else Path(tempfile.mkdtemp(prefix="gate-serve-"))
    where = token_file if token_file is not None else folder / "token"
    ready = False
    try:
        with _interruptible(), contextlib.ExitStack() as stack:
            token = read_token(where) if where.exists() else None
            if watch is None:
                source = _static(tarball, key)
            else:
                source = stack.enter_context(_followed(watch, watch_token_file, poll))
            address, port = listen
            sidecar = Sidecar.start(
                tarball=source.tarball,
                polling=source.polling,
                revisions=source.revisions,
                opa=binary,
                listen=address,
                port=port,
                work_dir=folder,
                token=token,
                key=key,
                minimum=minimum,
                tls=tls,
                diagnostics_port=diagnostics_port,
                docker=docker,
            )
            try:
                if token is None:
                    _write_token(where, sidecar.token)
                _announce(sidecar, where, output)
                ready = True
                _wait(sidecar, follow=watch is not None)
            finally:
                _ignore_signals()
                sidecar.stop()
    except KeyboardInterrupt:
        if work_dir is None:
            shutil.rmtree(folder, ignore_errors=True)
        if not ready:
            raise
        return
    except GateError:
        if work_dir is None:
            with contextlib.suppress(OSError):
                folder.rmdir()  # only when nothing was written: otherwise its log says what happened
        raise
    # Its log is kept: it says why.
    raise ToolchainError("opa ended while it was serving", code="sidecar_ended", hint=f"see `{sidecar.log_file}`")


def _prepare(
    folder: Path,
    inside: Path,
    tarball: Path | None,
    key: VerificationKey | None,
    minimum: dict[str, str],
    listen: tuple[Literal["tcp"] | Path, int],
    output: str,
) -> None:
    if tarball is None:
        raise click.UsageError("--prepare needs a TARBALL")
    address, port = listen
    if not isinstance(address, Path) and not port:
        raise click.UsageError("--prepare needs --listen with a port or a socket")
    _static(tarball, key)
    revision = checked_revision(tarball, key, minimum)
    serving = Serving(tarball=tarball, revisions=(revision,), key=key, minimum=minimum)
    where = f"unix://{address}" if isinstance(address, Path) else f"127.0.0.1:{port}"
    command = prepare_files(folder, serving, token=secrets.token_urlsafe(32), inside=inside, address=where)
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


def _tls(cert: Path | None, key: Path | None, ca: Path | None) -> Tls | None:
    if cert is not None and key is not None and ca is not None:
        return Tls(cert_file=cert, key_file=key, ca_file=ca)
    if cert is None and key is None and ca is None:
        return None
    raise click.UsageError("--tls-cert, --tls-key and --tls-ca go together")


def _static(tarball: Path | None, key: VerificationKey | None) -> _Source:
    assert tarball is not None  # noqa: S101 - checked with --watch
    if key is not None:
        verify_bundle(tarball, key)
    revision = manifest_revision(tarball)
    # A build without a key may be served without its provenance, never beside somebody else's.
    if key is not None or provenance_path(tarball).exists():
        check_provenance(tarball, revision=revision, key=key)
    return _Source(tarball=tarball)


@contextlib.contextmanager
def _followed(watch: str, token_file: Path | None, poll: int) -> Iterator[_Source]:
    """Where OPA polls, and the revision that is there now; the sidecar verifies its signature before it is ready."""
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
            manifest_revision(first)
            polling = Polling(url=stack.enter_context(BundleServer(Path(watch))).url, **delays)
        yield _Source(polling=polling, revisions=(manifest_revision(first),))


def _wait(sidecar: Sidecar, *, follow: bool) -> None:
    """Until OPA has ended; says on stderr which bundle it came to serve meanwhile, and why not the next."""
    seen: tuple[str | None, str | None] = (sidecar.revision, None)
    while not sidecar.wait(_LOOK_S if follow else None):
        try:
            status = sidecar.status()
        except PdpError:
            continue  # looked at again in a moment; who asks for decisions hears of it at once
        if (status.revision, status.error) != seen:
            seen = (status.revision, status.error)
            note(f"serving {status.revision}" if status.error is None else f"refused the next bundle: {status.error}")


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Inside, both signals raise `KeyboardInterrupt`, so that whatever was started is stopped on the way out."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore_signals() -> None:
    # A second Ctrl-C must not leave OPA behind.
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _write_token(path: Path, token: str) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(token + "\n")
    except OSError as exc:
        raise InputError(
            f"`{path}` cannot be written",
            code="token_file_unwritable",
            hint="check that its folder exists and is yours",
        ) from exc


def _announce(sidecar: Sidecar, token_file: Path, output: str) -> None:
    fields: dict[str, Any] = {
        "url": sidecar.url,
        "revision": sidecar.revision,
        "pid": sidecar.pid,
        "token_file": str(token_file.absolute()),
    }
    if sidecar.diagnostics_url is not None:
        fields["diagnostics"] = sidecar.diagnostics_url
    if output == "json":
        emit_json(fields)
    else:
        emit_fields((name, cell(str(value))) for name, value in fields.items())
