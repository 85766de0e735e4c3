"""The life of an OPA sidecar as a local process: configured, started, found ready, stopped.

Serves one built bundle and lets nobody without the token ask anything but the gate's two questions. Never
restarts OPA by itself, and never reads what it prints.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from gate.errors import PdpError, ToolchainError
from gate.pdp.endpoint import MAX_SOCKET_PATH_BYTES
from gate.pdp.manifest import manifest_revision
from gate.pdp.process import OpaProcess
from gate.pdp.sidecar_client import SidecarDecisionPoint

_STARTUP_TIMEOUT_S = 15.0
_POLL_S = 0.02

# Lives outside the bundle, whose roots are `gate` alone: what is served cannot widen who may ask. The token
# itself is in no file. Everything not named here, such as replacing a policy or reading all data, is
# denied.
_AUTHZ = """package system.authz

default allow := false

allow if {{
	crypto.sha256(input.identity) == "{token_sha256}"
	_asked
}}

_asked if {{
	input.method == "POST"
	input.path in {{["v1", "data", "gate", "decision"], ["v1", "data", "gate", "facts", "document"]}}
}}

_asked if {{
	input.method == "GET"
	input.path == ["health"]
}}
"""


class Sidecar:
    """A running OPA that serves one bundle. A context manager; made by `start`."""

    def __init__(self, *, url: str, token: str, revision: str, process: OpaProcess, log_file: Path) -> None:
        self.url = url
        """For `SidecarDecisionPoint`: `http://127.0.0.1:PORT` or `unix:///path`."""
        self.revision = revision
        """What the tarball's manifest says, and what OPA was seen to serve."""
        self.token = token
        """The bearer token; a secret."""
        self.log_file = log_file
        """Where OPA's own output goes: readable by its owner only, never the user's terminal."""
        self._process = process

    @classmethod
    def start(
        cls,
        *,
        tarball: Path | str,
        opa: Path,
        listen: Literal["tcp"] | Path,
        work_dir: Path,
        token: str | None = None,
        port: int = 0,
        startup_timeout_s: float = _STARTUP_TIMEOUT_S,
    ) -> Sidecar:
        """Starts OPA on `tarball` and returns when it answers at the tarball's revision.

        `listen`: `"tcp"` for 127.0.0.1 at `port` (0: a free one), or the path of a unix socket in a
        directory that is ours alone. `work_dir`: private directory for configuration and log. `token`:
        generated when None. The bundle is loaded once: a tarball that changes later is served by the next
        start. Raises `ToolchainError` when OPA exits early, does not become ready in `startup_timeout_s`
        seconds, or serves another revision.
        """
        source = Path(tarball).absolute()
        revision = manifest_revision(source)
        folder = _private_folder(work_dir.absolute())
        secret = secrets.token_urlsafe(32) if token is None else token
        if isinstance(listen, Path):
            url = f"unix://{_socket_path(listen.absolute())}"
            address = url
        else:
            address = f"127.0.0.1:{port or _free_port()}"
            url = f"http://{address}"
        command = [str(opa), *_arguments(folder, source, secret, address)]
        sidecar = cls(
            url=url,
            token=secret,
            revision=revision,
            process=OpaProcess(command, folder=folder, log_file=folder / "opa.log"),
            log_file=folder / "opa.log",
        )
        try:
            sidecar._wait_until_ready(startup_timeout_s)
        except BaseException:
            sidecar.stop()
            raise
        return sidecar

    @property
    def pid(self) -> int:
        """Process id of OPA."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """False once OPA has ended, for whatever reason."""
        return not self._process.ended.is_set()

    def client(self, **settings: Any) -> SidecarDecisionPoint:
        """A decision point that asks this sidecar and accepts its revision only; `settings` are passed on."""
        return SidecarDecisionPoint(
            **{"url": self.url, "token": self.token, "expected_revisions": (self.revision,), **settings}
        )

    def wait(self, timeout_s: float | None = None) -> bool:
        """True when OPA has ended, at most `timeout_s` seconds from now."""
        return self._process.ended.wait(timeout_s)

    def stop(self) -> None:
        """Ends OPA: SIGTERM, then SIGKILL after three seconds. Harmless when it has ended already."""
        self._process.stop()

    def __enter__(self) -> Sidecar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _wait_until_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        client = self.client()
        try:
            while not client.ready():
                if self._process.ended.wait(_POLL_S):
                    raise ToolchainError(
                        f"opa ended with exit code {self._process.exit_code} before it was ready",
                        code="sidecar_not_started",
                        hint=f"see `{self.log_file}`",
                    )
                if time.monotonic() > deadline:
                    raise ToolchainError(
                        f"opa was not ready with the bundle after {timeout_s:g} s: {_why_not(client)}",
                        code="sidecar_not_ready",
                        hint=f"see `{self.log_file}`",
                    )
        finally:
            client.close()


def _arguments(folder: Path, tarball: Path, token: str, address: str) -> list[str]:
    """Writes OPA's configuration into `folder` and returns the arguments that use it."""
    config = {
        "bundles": {"gate": {"resource": tarball.as_uri(), "persist": False}},
        "labels": {"app": "agent-policy-gate"},
    }
    authz = _AUTHZ.format(token_sha256=hashlib.sha256(token.encode("utf-8")).hexdigest())
    _write_private(folder / "config.json", json.dumps(config, indent=2))
    _write_private(folder / "authz.rego", authz)
    _write_private(folder / "opa.log", "")
    return [
        *("run", "--server", "--addr", address, "--unix-socket-perm", "0600"),
        *("--authentication", "token", "--authorization", "basic"),
        *("--config-file", str(folder / "config.json")),
        *("--log-level", "error", "--skip-version-check", "--shutdown-grace-period", "2"),
        str(folder / "authz.rego"),
    ]


def _write_private(path: Path, text: str) -> None:
    try:
        path.unlink(missing_ok=True)  # a link or a file somebody else holds open is replaced, not written through
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as exc:
        raise ToolchainError(f"`{path}` cannot be written") from exc


def _private_folder(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stat = folder.stat()
    except OSError as exc:
        raise ToolchainError(f"`{folder}` cannot be made") from exc
    if stat.st_uid != os.geteuid() or stat.st_mode & 0o077:
        raise ToolchainError(f"`{folder}` is open to other users", hint=f"chmod 700 '{folder}'")
    return folder


def _socket_path(path: Path) -> Path:
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
        raise ToolchainError(f"the socket path is over {MAX_SOCKET_PATH_BYTES} bytes", hint="use a shorter directory")
    # OPA makes the socket and narrows its mode afterwards: only the directory closes that moment.
    _private_folder(path.parent)
    return path


def _free_port() -> int:
    # Another process can take it before OPA does; then OPA ends, and so does start().
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _why_not(client: SidecarDecisionPoint) -> str:
    try:
        client.revision()
    except PdpError as exc:
        return exc.code
    return "its bundles are not active"
