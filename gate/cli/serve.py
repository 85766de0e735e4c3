"""`gate serve`: an OPA sidecar in the foreground, from a built tarball until it is told to stop.

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
from typing import Literal

import click

from gate import opa
from gate.cli.options import PATH, option, output_option
from gate.cli.rendering import cell, emit_fields, emit_json
from gate.cli.sources import read_token
from gate.errors import GateError, InputError, ToolchainError
from gate.pdp import Sidecar

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _listen(_: click.Context, __: click.Parameter, value: str) -> tuple[Literal["tcp"] | Path, int]:
    """The sidecar's `listen` and `port` for `tcp:PORT` or `unix:PATH`."""
    kind, _colon, rest = value.partition(":")
    if kind == "tcp" and rest.isascii() and rest.isdigit() and len(rest) <= 5 and int(rest) <= 65535:
        return "tcp", int(rest)
    if kind == "unix" and rest:
        return Path(rest), 0
    raise click.BadParameter("use tcp:PORT, with 0 for a free port, or unix:PATH")


@click.command()
@click.argument("tarball", type=PATH)
@option(
    "--listen",
    callback=_listen,
    default="tcp:0",
    show_default=True,
    metavar="tcp:PORT|unix:PATH",
    help="Where OPA listens: a port of 127.0.0.1, or a socket in a folder of yours alone.",
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
    tarball: Path,
    listen: tuple[Literal["tcp"] | Path, int],
    work_dir: Path | None,
    token_file: Path | None,
    output: str,
) -> None:
    """Serve TARBALL, built by `gate build`, on a local OPA until SIGINT or SIGTERM; exit 1 when OPA dies."""
    binary = opa.find().path
    address, port = listen
    folder = work_dir if work_dir is not None else Path(tempfile.mkdtemp(prefix="gate-serve-"))
    where = token_file if token_file is not None else folder / "token"
    ready = False
    try:
        with _interruptible():
            token = read_token(where) if where.exists() else None
            sidecar = Sidecar.start(
                tarball=tarball, opa=binary, listen=address, port=port, work_dir=folder, token=token
            )
            try:
                if token is None:
                    _write_token(where, sidecar.token)
                _announce(sidecar, where, output)
                ready = True
                sidecar.wait()
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
    if output == "json":
        emit_json(
            {
                "url": sidecar.url,
                "revision": sidecar.revision,
                "pid": sidecar.pid,
                "token_file": str(token_file.absolute()),
            }
        )
        return
    emit_fields(
        [
            ("url", cell(sidecar.url)),
            ("revision", cell(sidecar.revision)),
            ("pid", str(sidecar.pid)),
            ("token_file", cell(str(token_file.absolute()))),
        ]
    )
