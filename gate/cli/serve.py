"""`gate serve`: an OPA sidecar in the foreground, from a built tarball or from where bundles are published.

Never restarts OPA, and never prints the token: that goes into a file of its owner alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource

from gate import opa
from gate.cli.options import PATH, minimum_option, option, output_option, verification_options
from gate.cli.rendering import cell, emit_fields, emit_json, note
from gate.cli.serving import followed, listening, prepared, static, tls_of
from gate.cli.sources import read_token
from gate.errors import GateError, InputError, PdpError, ToolchainError
from gate.pdp import Sidecar, VerificationKey

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_S = 1.0


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
    callback=listening,
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
    help="Bearer token to use; made, with mode 0600, when it is not there (it must be, with --prepare). "
    "Default: WORK_DIR/token.",
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
    _require_used("inside", prepare is not None, "--inside needs --prepare")
    _require_used("poll", watch is not None, "--poll needs --watch")
    tls = tls_of(tls_cert, tls_key, tls_ca)
    if prepare is not None:
        if docker or tls is not None or work_dir is not None:
            raise click.UsageError("--prepare starts nothing: it takes no --docker, no --tls-... and no --work-dir")
        prepared(prepare, inside, tarball, key, minimum, listen, diagnostics_port, token_file, output)
        return
    binary = opa.find().path
    folder = work_dir if work_dir is not None else Path(tempfile.mkdtemp(prefix="gate-serve-"))
    where = token_file if token_file is not None else folder / "token"
    ready = False
    try:
        with _interruptible(), contextlib.ExitStack() as stack:
            token = read_token(where) if os.path.lexists(where) else None
            source = (
                static(tarball, key)
                if tarball is not None
                else stack.enter_context(followed(str(watch), watch_token_file, poll, key, minimum))
            )
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


def _require_used(name: str, used: bool, otherwise: str) -> None:
    """Raises `click.UsageError` for an option that was given and would change nothing."""
    if not used and click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE:
        raise click.UsageError(otherwise)


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
